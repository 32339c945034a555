"""RA203: the best plain schedule for a table, found again from its numbers alone."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks import not_geometric as check
from ropeaudit.findings import Severity, Status
from ropeaudit.schedule.fit.nearest import fit, ramp
from ropeaudit.schedule.float32 import f32s
from tests.schedules import (
    cast,
    llama3,
    only,
    outcomes,
    plain,
    proportional,
    quantised,
    raw,
    scaled,
    stored,
    with_values,
    yarn,
)

# Bases of real models, the odd ones included, with their rotary widths.
BASES = [
    (1e4, 128),
    (1e5, 64),
    (5e5, 128),
    (1e6, 128),
    (1e6, 256),
    (1e7, 64),
    (5e6, 64),
    (7.5e7, 128),
    (1e9, 128),
    (1e11, 128),
    (1000042, 256),
    (150000, 64),
    (1e4, 32),
    (1e4, 20),
    (160000, 64),
    (8e6, 128),
    (100, 32),
    (10, 32),
]


@pytest.mark.parametrize(("base", "dim"), BASES)
def test_base_and_width_are_read_back_exactly(base: float, dim: int) -> None:
    found = fit(plain(base, dim).inv_freq, "float32", None, 16)
    assert found is not None
    assert (found.base, found.dimension, found.factor) == (base, dim, 1.0)
    assert found.max_ulp == 0
    assert found.fits


@pytest.mark.parametrize("factor", [2.0, 4.0, 8.0, 40.0])
def test_a_linear_factor_is_read_back(factor: float) -> None:
    table = scaled("linear", 1e6, 256, scaling={"factor": factor}).inv_freq
    found = fit(table, "float32", None, 16)
    assert found is not None
    assert (found.base, found.factor, found.fits) == (1e6, factor, True)


def test_an_exponent_over_the_wrong_width_is_seen() -> None:
    """32 channels of a base 1e7 table of width 256: as width 64 the base would be 56.234."""
    found = fit(plain(1e7, 256).inv_freq[:32], "float32", None, 16)
    assert found is not None
    assert (found.base, found.dimension) == (1e7, 256)


@pytest.mark.parametrize("base", [1e4, 5e5, 1e6, 1e7])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_rounded_table_is_still_recognised(base: float, dtype: str) -> None:
    held = cast(plain(base, 128), dtype)
    for table in (held, raw(held.inv_freq)):  # the second says float32 and lies on the grid
        assert only(check, table).status is Status.PASS
    found = fit(held.inv_freq, "float32", None, 16)
    assert found is not None
    assert (found.base, found.grid) == (base, dtype)


def test_a_rounded_table_with_one_moved_channel_is_not() -> None:
    held = cast(plain(1e6), "bfloat16")
    moved = [v * 1.0625 if k == 9 else v for k, v in enumerate(held.inv_freq)]
    assert only(check, cast(with_values(held, moved), "bfloat16")).status is Status.FAIL


@pytest.mark.parametrize("schedule", [llama3(), yarn(), proportional(), plain(5e8, 512)])
def test_schedules_of_a_law_pass_built_and_stored(schedule: object) -> None:
    beside = outcomes(check, schedule, stored(schedule))  # type: ignore[arg-type]
    assert {o.status for o in beside} == {Status.PASS}


def test_bare_tables_of_plain_laws_pass() -> None:
    for law in (plain(1e6), scaled("linear", 1e6, 256, scaling={"factor": 8}), proportional()):
        assert only(check, raw(law.inv_freq)).status is Status.PASS


@pytest.mark.parametrize(("law", "base", "factor"), [(llama3(), 5e5, 8.0), (yarn(), 1e6, 4.0)])
def test_a_bare_ramp_is_read_as_one(law: object, base: float, factor: float) -> None:
    outcome = only(check, raw(law.inv_freq))  # type: ignore[attr-defined]
    assert (outcome.status, outcome.severity) == (Status.FAIL, Severity.INFO)
    assert (outcome.evidence["base"], outcome.evidence["factor"]) == (base, factor)
    assert outcome.evidence["dimension"] == 128


def test_a_step_is_no_ramp() -> None:
    table = plain(1e6).inv_freq
    assert ramp(table[:10] + table[11:]) is None
    assert ramp(table) is None
    assert ramp(table[::-1]) is None


def test_one_moved_channel_does_not_bend_the_fit() -> None:
    outcome = only(check, with_values(plain(1e6), lambda k, v: v * 1.05 if k == 10 else v))
    assert outcome.status is Status.FAIL
    assert (outcome.evidence["base"], outcome.evidence["dimension"]) == (1e6, 128)
    assert outcome.evidence["channels_within"] == 63
    assert outcome.evidence["max_relative"] == pytest.approx(0.05, rel=1e-4)


def test_quantised_tables_tell_what_they_came_from() -> None:
    for bits, mode in ((8, "sym"), (8, "log")):
        outcome = only(check, raw(quantised(plain(1e6), bits, mode).inv_freq))
        assert outcome.status is Status.FAIL
        assert outcome.evidence["base"] == pytest.approx(1e6, rel=0.2)


def test_learned_is_information() -> None:
    table = raw([1.0, 0.4, 0.25, 0.1], rope_type="learned")
    assert only(check, table).severity is Severity.INFO


def test_what_cannot_be_fitted() -> None:
    assert only(check, raw([0.0] * 8)).evidence["base"] is None
    assert only(check, raw([0.1, 0.2, 0.5, 0.9])).evidence["base"] is None
    assert only(check, raw([1.0, math.nan, 0.25, 0.1])).status is Status.UNKNOWN
    assert only(check, raw(plain(1e4, 32).inv_freq * 2)).status is Status.UNKNOWN
    assert only(check, raw([1.0, 0.5])).status is Status.PASS


def test_the_option_sets_the_tolerance() -> None:
    schedule = with_values(plain(1e6), lambda k, v: v * (1 + 40 * 2**-24) if k == 10 else v)
    assert only(check, schedule).status is Status.FAIL
    assert only(check, schedule, params=check.Params(ulp=64)).status is Status.PASS


@settings(max_examples=100, derandomize=True, deadline=None)
@given(
    st.integers(1, 99),
    st.integers(2, 9),
    st.sampled_from([16, 32, 64, 80, 96, 128, 192, 256, 512]),
)
def test_any_short_decimal_base_is_recovered(digits: int, power: int, dim: int) -> None:
    base = float(f"{digits}e{power}")
    found = fit(plain(base, dim).inv_freq, "float32", None, 16)
    assert found is not None
    assert (found.base, found.dimension, found.max_ulp) == (base, dim, 0)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.integers(1, 62), st.floats(1.001, 1.2))
def test_any_moved_channel_is_noticed(at: int, by: float) -> None:
    outcome = only(check, raw(f32s(
        v * by if k == at else v for k, v in enumerate(plain(5e5).inv_freq)
    )))  # fmt: skip
    assert outcome.status is Status.FAIL
    assert outcome.severity is None
    assert outcome.evidence["base"] == 5e5
