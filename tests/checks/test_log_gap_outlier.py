"""RA202: gaps that stand out, and laws that explain them."""

from __future__ import annotations

import math
from statistics import mean, pstdev, quantiles

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks import log_gap_outlier as check
from ropeaudit.findings import Severity, Status
from ropeaudit.schedule.core import Axis
from tests.schedules import (
    cast,
    llama3,
    only,
    outcomes,
    plain,
    proportional,
    raw,
    stored,
    with_values,
    yarn,
)


@pytest.mark.parametrize("dim", [16, 128, 512])
@pytest.mark.parametrize("base", [1e4, 1e6, 5e8])
def test_plain_tables_pass_and_tell_their_distribution(base: float, dim: int) -> None:
    outcome = only(check, plain(base, dim))
    assert outcome.status is Status.PASS
    gap = 2 * math.log(base) / dim
    gaps = outcome.evidence["log_gaps"]
    assert set(gaps) == {"min", "q1", "median", "q3", "max", "mean", "cv"}
    assert gaps["min"] == pytest.approx(gap, rel=1e-4)
    assert gaps["max"] == pytest.approx(gap, rel=1e-4)
    assert gaps["cv"] < 1e-4


@pytest.mark.parametrize("dim", [64, 128, 512])
def test_rounding_to_bfloat16_passes(dim: int) -> None:
    assert only(check, cast(plain(1e4, dim), "bfloat16")).status is Status.PASS
    assert only(check, cast(plain(1e6, dim), "bfloat16")).status is Status.PASS


def test_zeros_by_design_take_no_part() -> None:
    assert only(check, proportional()).status is Status.PASS


@pytest.mark.parametrize("schedule", [llama3(), yarn()])
def test_ramps_are_by_design(schedule: object) -> None:
    outcome = only(check, schedule)  # type: ignore[arg-type]
    assert (outcome.status, outcome.severity) == (Status.FAIL, Severity.INFO)
    assert "by design" in outcome.message
    assert outcome.evidence["log_gaps"]["cv"] > 0.05


def test_a_ramp_is_by_design_when_stored_beside_its_config_or_bare() -> None:
    for law in (llama3(), yarn()):
        severities = [o.severity for o in outcomes(check, law, stored(law))]
        assert severities == [Severity.INFO, Severity.INFO]
        assert only(check, raw(law.inv_freq)).severity is Severity.INFO


def test_a_stored_table_that_left_its_law_is_not() -> None:
    law = llama3()
    moved = [v * 1.1 if k == 40 else v for k, v in enumerate(law.inv_freq)]
    _, outcome = outcomes(check, law, stored(law, moved))
    assert (outcome.status, outcome.severity) == (Status.FAIL, None)


@pytest.mark.parametrize("at", [0, 1, 30, 62, 63])
def test_a_moved_channel_is_found(at: int) -> None:
    outcome = only(check, with_values(plain(1e6), lambda k, v: v * 1.05 if k == at else v))
    assert (outcome.status, outcome.severity) == (Status.FAIL, None)
    touched = {k for o in outcome.evidence["outliers"] for k in o["channels"]}
    assert at in touched


def test_a_missing_channel_is_no_ramp() -> None:
    table = plain(1e6).inv_freq
    outcome = only(check, raw(table[:10] + table[11:]))
    assert (outcome.status, outcome.severity) == (Status.FAIL, None)
    assert outcome.evidence["outliers"][0]["channels"] == [9, 10]
    assert outcome.evidence["outliers"][0]["gap"] == pytest.approx(2 * 0.2158674, rel=1e-4)


def test_merged_channels_leave_wide_gaps() -> None:
    """Equal values count once: the gaps on both sides are one and a half times the others."""
    values = list(plain(1e6).inv_freq)
    values[20] = values[21] = math.sqrt(values[20] * values[21])
    outcome = only(check, with_values(plain(1e6), values))
    assert [o["gap"] for o in outcome.evidence["outliers"]] == pytest.approx(
        [1.5 * 0.2158674] * 2, rel=1e-3
    )


def test_ladders_of_axes_are_judged_apart() -> None:
    ladder = plain(1e4, 32).inv_freq
    axes = (Axis("h", (0, 15)), Axis("w", (16, 31)))
    both = plain(1e4, 64, inv_freq=ladder * 2, axes=axes, component="vision")
    assert only(check, both).status is Status.PASS
    sections = tuple(Axis("thw"[k % 3 if k < 60 else 0], (k, k)) for k in range(64))
    assert only(check, plain(1e6, axes=sections)).status is Status.PASS


def test_two_different_gaps_are_undecided() -> None:
    assert only(check, raw([1.0, 0.5, 0.1])).status is Status.UNKNOWN
    assert only(check, raw([1.0, 0.5, 0.25])).status is Status.PASS
    assert only(check, raw([1.0, 0.5])).status is Status.SKIP


def test_learned_gaps_are_information() -> None:
    outcome = only(check, raw([1.0, 0.5, 0.25, 0.01, 0.005], rope_type="learned"))
    assert outcome.severity is Severity.INFO


def test_nan_leaves_the_question_open() -> None:
    assert only(check, raw([1.0, math.nan, 0.25, 0.125])).status is Status.UNKNOWN


def test_the_options_move_the_fences() -> None:
    schedule = with_values(plain(1e6), lambda k, v: v * 1.01 if k == 7 else v)
    assert only(check, schedule).status is Status.PASS
    strict = check.Params(tolerance=0.01)
    assert only(check, schedule, params=strict).evidence["count"] == 2


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.lists(st.floats(0.05, 2.0), min_size=3, max_size=40),
    st.floats(1e-3, 1e3),
)
def test_the_distribution_is_what_statistics_says_and_scale_free(
    gaps: list[float], factor: float
) -> None:
    values, total = [1.0], 0.0
    for gap in gaps:
        total += gap
        values.append(math.exp(-total))
    for scale in (1.0, factor):
        outcome = only(check, raw(v * scale for v in values))
        found = outcome.evidence["log_gaps"]
        q1, median, q3 = quantiles(gaps, n=4, method="inclusive")
        expected = (min(gaps), q1, median, q3, max(gaps), mean(gaps), pstdev(gaps) / mean(gaps))
        assert list(found.values()) == pytest.approx(expected, rel=1e-6, abs=1e-9)
