"""Distinct channels: against brute force over factored exponents, and at every edge."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.exact.enclosure import enclose
from ropeaudit.exact.terms import ZERO, Cutoff, Power, Ramp, Term
from ropeaudit.proofs import _separation, distinct
from ropeaudit.proofs._shapes import shapes
from ropeaudit.proofs.interface import Exhibit, Status
from ropeaudit.schedule.core import Axis
from tests.proofs import forms
from tests.proofs.forms import exhibit, power

BASES: list[forms.Number] = [
    10_000, 500_000, 1_000_000, 8_000_000, 150_000, "20001/2", 2**31 - 1, 10**9 + 7, "1/10", "2/3",
]  # fmt: skip


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("dim", [64, 128])
def test_default_tables_are_distinct(base: forms.Number, dim: int) -> None:
    claim = distinct.prove(exhibit(forms.default(base, dim)))
    assert (claim.claim, claim.status) == ("distinct", Status.PROVED)
    assert claim.evidence == {"channels": dim // 2}
    assert claim.method.startswith("Strict monotonicity")


@pytest.mark.parametrize(
    "terms",
    [
        forms.ntk("12345678901234567/1000000000", "98765432109876543/10000000000000", 128),
        forms.ntk(10**6, 4, 128),
        forms.longrope(10_000, [1 + F(k, 37) for k in range(48)]),
        forms.llama3(),
        forms.llama3(factor=4),
        forms.yarn(),
        forms.yarn(base="20001/2", factor="1/2"),
    ],
)
def test_scaled_tables_are_distinct(terms: list[Term]) -> None:
    assert distinct.prove(exhibit(terms)).status is Status.PROVED


def test_base_one_makes_all_channels_equal() -> None:
    claim = distinct.prove(exhibit(forms.default(1, 8)))
    assert claim.status is Status.REFUTED
    one = {"coefficient": "1", "factors": []}
    assert claim.evidence == {"duplicates": [[0, 1, 2, 3]], "terms": [[one] * 4]}


def test_factors_that_undo_the_base_are_a_witness() -> None:
    terms = [power(), power((100, "-1/2"), scale="3/7"), power(scale="1/10"), power((10, -1))]
    claim = distinct.prove(exhibit([*terms, power((10**6, "-1/6")), power(scale=1)]))
    assert claim.status is Status.REFUTED
    assert claim.evidence["duplicates"] == [[2, 3, 4], [0, 5]]
    assert claim.evidence["terms"][0][1:] == [
        {"coefficient": "1", "factors": [["10", "-1"]]},
        {"coefficient": "1", "factors": [["1000000", "-1/6"]]},
    ]


def test_largest_set_of_duplicates_comes_first_then_the_first_channel() -> None:
    values = [5, 1, 2, 1, 2, 3, 3, 3]
    found = distinct.prove(exhibit([power(scale=v) for v in values])).evidence["duplicates"]
    assert found == [[5, 6, 7], [1, 3], [2, 4]]


def test_static_channels_take_no_part() -> None:
    terms = forms.proportional(10**6, 16, 48)
    assert distinct.prove(exhibit(terms, static=range(16, 64))).evidence == {"channels": 16}
    claim = distinct.prove(exhibit(terms))
    assert claim.evidence["duplicates"] == [list(range(16, 64))]


def test_equal_channels_on_different_axes_are_no_duplicates() -> None:
    ladder = forms.default(100, 8)
    axes = [Axis("h", (0, 3)), Axis("w", (4, 7))]
    assert distinct.prove(exhibit(ladder * 2, axes=axes)).evidence == {"channels": 8}
    claim = distinct.prove(exhibit(ladder * 2))
    assert claim.evidence["duplicates"] == [[k, k + 4] for k in range(4)]


radicands = st.sampled_from([F(4), F(8), F(10), F(100), F(3, 2), F(9, 4), F(1)])
scales = st.sampled_from([F(1), F(2), F(1, 3)])
terms = st.builds(
    lambda scale, pairs: Power(scale, tuple(pairs)),
    scales,
    st.lists(st.tuples(radicands, st.builds(F, st.integers(-3, 3), st.integers(1, 3))), max_size=2),
)


def _factored(term: Power) -> dict[int, F]:
    """Exponents of the primes."""
    found: dict[int, F] = {}
    for value, exponent in (*term.factors, (term.coefficient, F(1))):
        for part, sign in ((value.numerator, 1), (value.denominator, -1)):
            for prime, times in sympy.factorint(part).items():
                found[prime] = found.get(prime, F(0)) + sign * times * exponent
    return {prime: exponent for prime, exponent in found.items() if exponent}


@given(st.lists(terms, min_size=1, max_size=8))
def test_against_prime_factors(found: list[Power]) -> None:
    claim = distinct.prove(exhibit(found))
    factored = [_factored(term) for term in found]
    equal = [(i, j) for i, j in combinations(range(len(found)), 2) if factored[i] == factored[j]]
    if not equal:
        assert claim.status is Status.PROVED
        return
    assert claim.status is Status.REFUTED
    pairs = [p for members in claim.evidence["duplicates"] for p in combinations(members, 2)]
    assert sorted(pairs) == equal


def test_blends_are_compared_power_by_power_of_pi() -> None:
    claim = distinct.prove(exhibit(forms.llama3()))
    assert "transcendence of pi" in claim.method
    twice = distinct.prove(exhibit([*forms.llama3(), *forms.llama3()]))
    assert twice.evidence["duplicates"] == [[k, k + 64] for k in range(64)]


def test_ramps_with_one_closed_form_are_equal() -> None:
    claim = distinct.prove(exhibit([*forms.yarn(), *forms.yarn()]))
    assert claim.status is Status.REFUTED
    assert claim.evidence["duplicates"] == [[k, k + 64] for k in range(64)]
    assert claim.evidence["terms"][30][0]["low"] == {"dim": 128, "turns": "128", "base": "10000"}


def _nearly_equal(bits: int) -> Exhibit:
    """A ramp beside a rational that agrees with it to about 400 bits."""
    ramp = next(term for term in forms.yarn() if isinstance(term, Ramp))
    near = enclose(ramp, 400)[0]
    return exhibit([ramp, Power(near)], bits=bits)


def test_precision_is_raised_until_ramps_are_apart() -> None:
    assert distinct.prove(_nearly_equal(4096)).status is Status.PROVED
    claim = distinct.prove(_nearly_equal(256))
    assert claim.status is Status.UNDECIDED
    reason = "The enclosures are not narrow enough to decide."
    assert (claim.method, claim.evidence) == (reason, {"reason": reason, "bits": 256})


def test_equal_ramps_that_look_different_stay_undecided() -> None:
    """64 ln(x)/ln(10) = 128 ln(x)/ln(100), which no enclosure proves and none refutes."""
    theta = power((10, "-1/2"))
    a = Ramp(theta, 3, F(0), Cutoff(64, F(500), F(10)), F(4))
    b = Ramp(theta, 3, F(0), Cutoff(128, F(500), F(100)), F(4))
    assert distinct.prove(exhibit([a, b], bits=512)).evidence["bits"] == 512


def test_what_equals_a_ramp_behind_its_logarithms_stays_undecided() -> None:
    terms: list[Term] = [forms.disguised(power()), power(scale="7/4")]
    assert distinct.prove(exhibit(terms, bits=128)).status is Status.UNDECIDED
    assert distinct.prove(exhibit([terms[0], power(scale="7/5")])).status is Status.PROVED


def test_a_chain_of_overlaps_is_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What overlaps only the second of two overlapping enclosures is looked at again with them."""
    wide = {0: (0, 2), 1: (1, 4), 2: (3, 5)}
    narrow = {0: (0, 1), 1: (2, 4), 2: (3, 5)}
    found = shapes(exhibit([forms.disguised(power(scale=s)) for s in (1, 2, 3)]))
    assert found is not None
    channel = {id(term): k for k, term in found.terms.items()}

    def enclose_as_told(term: Term, bits: int) -> tuple[F, F]:
        lo, hi = (wide if bits == 64 else narrow)[channel[id(term)]]
        return F(lo), F(hi)

    monkeypatch.setattr(_separation, "enclose", enclose_as_told)
    assert not _separation.separated(found, (0, 1, 2), 128)


def test_ramps_that_are_rational_after_all() -> None:
    theta = power((16, "-1/2"))
    ramp = Ramp(theta, 3, F(2), F(4), F(4))
    still = Ramp(theta, 3, Cutoff(64, F(9), F(10)), Cutoff(64, F(90), F(10)), F(1))
    claim = distinct.prove(exhibit([ramp, power(scale="5/32"), still, power(scale="1/4")]))
    assert claim.evidence["duplicates"] == [[0, 1], [2, 3]]


def test_a_ramp_without_value_is_never_proved() -> None:
    end = Cutoff(64, F(10), F(1))
    claim = distinct.prove(exhibit([power(), Ramp(power(), 1, F(0), end, F(4))]))
    assert claim.status is Status.UNDECIDED


def test_one_channel_is_distinct_and_so_is_none_that_turns() -> None:
    assert distinct.prove(exhibit([power(scale=2)])).evidence == {"channels": 1}
    assert distinct.prove(exhibit([ZERO], static=[0])).evidence == {"channels": 0}


def test_order_does_not_matter() -> None:
    terms = forms.default(10**6, 32)
    assert distinct.prove(exhibit(terms[::-1])).status is Status.PROVED
    shuffled = terms[7:] + terms[:9]
    assert distinct.prove(exhibit(shuffled)).evidence["duplicates"] == [[0, 16], [1, 17]]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (forms.formless([1.0, 0.5]), "no law is known"),
        (forms.formless([1.0, math.nan]), "no law is known"),
        (forms.formless([]), "no law is known"),
        (exhibit([], table=[]), "The closed form states 0 channels and the table holds 0."),
        (
            exhibit(forms.default(10, 4), table=[1.0]),
            "The closed form states 2 channels and the table holds 1.",
        ),
        (
            exhibit([Power(F(1)), Power(F(1), ((F(-2), F(1)),))], table=[1.0, 0.5]),
            "The closed form has a radicand that is not positive.",
        ),
        (
            exhibit([Power(F(1)), Power(F(1), ((F(0), F(1)),))], table=[1.0, 0.5]),
            "The closed form has a radicand that is not positive.",
        ),
    ],
)
def test_without_a_closed_form_nothing_decides(found: Exhibit, reason: str) -> None:
    claim = distinct.prove(found)
    assert claim.status is Status.UNDECIDED
    assert claim.evidence == {"reason": reason}
    assert claim.method == "Nothing states a closed form."
