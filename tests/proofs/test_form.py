"""The claim ``form``: distances in units of the dtype, certified to three decimals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.exact.terms import ZERO, ClosedForm, Cutoff, PiBlend, Power, Ramp, Term
from ropeaudit.proofs import form
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.records import replace
from ropeaudit.schedule.float32 import f32, round_to
from tests.exact_values import mp, number, value
from tests.schedules import plain

F = Fraction
SPACING = {
    "float64": (53, -1022), "float32": (24, -126), "bfloat16": (8, -126), "float16": (11, -14),
    "float8_e4m3": (4, -6), "float8_e5m2": (3, -14),
}  # fmt: skip
"""Significand bits and the exponent of the least normal number (IEEE 754, OCP 8-bit formats)."""

root = st.builds(
    lambda b, k: Power(F(1), ((F(b), F(-k, 64)),)), st.integers(2, 10**9), st.integers(0, 63)
)
ramp = st.builds(
    lambda k: Ramp(
        Power(F(1), ((F(10_000), F(-k, 64)),)), k,
        Cutoff(128, F(128), F(10_000)), Cutoff(128, F(4096), F(10_000)), F(40),
    ),
    st.integers(21, 44),
)  # fmt: skip
blend = st.builds(
    lambda k, c: PiBlend(Power(F(1), ((F(500_000), F(-k, 64)),)), F(c, 8), F(1344)),
    st.integers(29, 35),
    st.integers(0, 3),
)
terms = st.one_of(root, ramp, blend)


def exhibit(values: list[float], shapes: list[Term], dtype: str = "float32", **kw: Any) -> Exhibit:
    schedule = replace(plain(dim=2 * len(values) or 2), inv_freq=tuple(values), dtype=dtype)
    return Exhibit(
        schedule=schedule, form=ClosedForm(law="x", parameters={}, terms=tuple(shapes)), **kw
    )


def one(held: float, shape: Term, dtype: str = "float32", **kw: Any) -> Claim:
    return form.prove(exhibit([held], [shape], dtype, **kw))


def rounded(shape: Term, dtype: str) -> float:
    """The value to nearest; float64 first, which is exact enough to start from."""
    return round_to(float(value(shape)), dtype)


def spacing(exact: Any, dtype: str) -> Any:
    precision, lowest = SPACING[dtype]
    exponent = max(int(mp.floor(mp.log(exact, 2))), lowest) if exact else lowest
    return mp.mpf(2) ** (exponent - precision + 1)


@settings(max_examples=60)
@given(terms, st.sampled_from(sorted(SPACING)), st.integers(-12, 12))
def test_distances_are_those_of_mpmath(shape: Term, dtype: str, steps: int) -> None:
    exact = value(shape)
    unit = spacing(exact, dtype)
    held = rounded(shape, dtype) + steps * float(unit)
    claim = one(held, shape, dtype)
    distance = abs(number(held) - exact) / unit
    (found,) = claim.evidence["ulp"]
    assert abs(found - distance) <= mp.mpf("0.0005") * (1 + mp.mpf(10) ** -20)
    assert claim.evidence["max_ulp"] == found
    assert claim.status is (Status.PROVED if distance <= 8 else Status.REFUTED)
    assert claim.method == form.METHOD


@given(st.sampled_from(sorted(SPACING)), terms)
@settings(max_examples=40)
def test_a_correctly_rounded_value_is_half_a_unit_away_at_most(dtype: str, shape: Term) -> None:
    claim = one(rounded(shape, dtype), shape, dtype, ulp=1)
    assert claim.status is Status.PROVED
    assert claim.evidence["max_ulp"] <= 0.5


def test_the_unit_is_that_of_the_exact_value_and_not_of_the_stored_one() -> None:
    below = math.nextafter(1.0, 0.0)
    one_exactly = Power(F(1))
    assert one(1 - 2**-24, one_exactly).evidence["max_ulp"] == 0.5
    assert one(1 + 2**-23, one_exactly).evidence["max_ulp"] == 1.0
    assert one(below, one_exactly, "float64").evidence["max_ulp"] == 0.5
    # The same numbers by a radical that no float can tell from the next binade.
    hidden = Power(F(1), ((F(65536), F(-1, 2)),))
    assert one(2**-8 + 2**-31, hidden).evidence["ulp"] == [1.0]
    just_below = Power(F(1), ((F(2**64 + 1, 2**64), F(-1, 2)),))
    assert one(1.0, just_below).evidence["max_ulp"] == 0.0
    assert one(1 + 2**-23, just_below).evidence["max_ulp"] == 2.0


def test_ties_of_rational_values_are_rounded_half_up() -> None:
    unit = F(1, 2**23)
    for thousandths, shown in ((F(1, 2000), 0.001), (F(3, 2000), 0.002), (F(1, 2001), 0.0)):
        assert one(1.0, Power(1 + thousandths * unit)).evidence["max_ulp"] == shown


def test_the_tolerance_is_met_exactly_or_not() -> None:
    eight = Power(1 - F(8, 2**24))
    assert one(1.0, eight).status is Status.PROVED
    more = Power(1 - F(8, 2**24) - F(1, 2**80))
    claim = one(1.0, more)
    assert claim.status is Status.REFUTED
    assert claim.evidence["max_ulp"] == 8.0
    assert one(1.0, more, ulp=9).status is Status.PROVED


@pytest.mark.parametrize("held", [math.nan, math.inf, -math.inf])
def test_values_that_are_no_numbers_are_infinitely_far(held: float) -> None:
    claim = form.prove(exhibit([1.0, held, 0.5], [Power(F(1)), Power(F(3, 4)), Power(F(1, 2))]))
    assert claim.status is Status.REFUTED
    assert claim.evidence["ulp"] == [0.0, "inf", 0.0]
    assert claim.evidence["channel"] == 1
    assert claim.evidence["witness"] == {
        "channel": 1,
        "stored": {"nan": "nan", "inf": "inf", "-inf": "-inf"}[str(held)],
        "closed_form": {"coefficient": "3/4", "factors": []},
        "ulp": "inf",
    }


@pytest.mark.parametrize(("held", "units"), [(0.0, 2.0**23), (-0.0, 2.0**23), (-1.0, 2.0**24)])
def test_zero_and_negative_values_refute(held: float, units: float) -> None:
    claim = one(held, Power(F(1)))
    assert claim.status is Status.REFUTED
    assert claim.evidence["max_ulp"] == units


def test_channels_that_stand_still() -> None:
    assert one(0.0, ZERO).evidence["max_ulp"] == 0.0
    assert one(-0.0, ZERO).status is Status.PROVED
    assert one(2.0**-149, ZERO).evidence["max_ulp"] == 1.0
    assert one(1e-30, ZERO).status is Status.REFUTED


def test_subnormals_are_counted_in_the_smallest_spacing() -> None:
    tiny = Power(F(3, 2**149))
    assert one(2.0**-149, tiny).evidence["max_ulp"] == 2.0
    assert one(0.0, Power(F(1, 2**151))).evidence["max_ulp"] == 0.25
    assert one(2.0**-24, Power(F(3, 2**24)), "float16").evidence["max_ulp"] == 2.0


def test_the_first_of_the_furthest_channels_is_named() -> None:
    step = 2.0**-23
    held = [1.0, 1 + 20 * step, 1 + 20 * step, 1.0]
    claim = form.prove(exhibit(held, [Power(F(1))] * 4))
    assert claim.evidence["channel"] == claim.evidence["witness"]["channel"] == 1
    assert claim.evidence["witness"]["stored"] == "2097157/2097152"
    assert claim.evidence["ulp"] == [0.0, 20.0, 20.0, 0.0]


def test_distances_beyond_float64_are_infinite() -> None:
    claim = one(1e300, Power(F(1, 10**300)), "float64")
    assert claim.evidence["max_ulp"] == "inf"
    assert claim.status is Status.REFUTED


def test_without_a_form_nothing_is_decided() -> None:
    lone = Exhibit(schedule=plain(), form=None, why_not="A learned table.")
    claim = form.prove(lone)
    assert claim.status is Status.UNDECIDED
    assert claim.evidence == {"reason": "A learned table."}
    uneven = form.prove(exhibit([1.0, 0.5], [Power(F(1))]))
    assert uneven.status is Status.UNDECIDED
    assert "1 channel" in uneven.evidence["reason"]
    assert form.prove(exhibit([], [])).status is Status.UNDECIDED


def test_terms_without_a_value_decide_nothing() -> None:
    nowhere = Cutoff(128, F(0), F(10_000))
    claim = one(1.0, Ramp(Power(F(1)), 20, nowhere, F(40), F(4)))
    assert claim.status is Status.UNDECIDED
    assert claim.evidence["bits"] == 2048


def test_precision_is_raised_until_the_rounding_is_decided() -> None:
    """A radical 2**-200 beside a rational whose distance is a tie of the third decimal."""
    tie = 1 + F(1, 2000 * 2**23)
    near = Power(F(1), ((tie**2 + F(1, 2**200), F(1, 2)),))
    assert one(1.0, near).evidence["max_ulp"] == 0.001
    claim = one(1.0, near, bits=96)
    assert claim.status is Status.UNDECIDED
    assert claim.evidence["bits"] == 96


def test_a_whole_table_and_one_wrong_value() -> None:
    held = plain(1e6)
    shapes: list[Term] = [Power(F(1), ((F(10**6), F(-k, 64)),) if k else ()) for k in range(64)]
    claim = form.prove(exhibit(list(held.inv_freq), shapes))
    assert claim.status is Status.PROVED
    assert claim.schedule == "text"
    moved = [f32(v * (1 + 1e-5)) if k == 40 else v for k, v in enumerate(held.inv_freq)]
    wrong = form.prove(exhibit(moved, shapes))
    assert wrong.status is Status.REFUTED
    assert wrong.evidence["channel"] == 40
    assert wrong.evidence["ulp"][:40] == claim.evidence["ulp"][:40]
