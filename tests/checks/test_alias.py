"""RA103: frequencies that fold onto one another at whole positions."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ropeaudit.checks import alias as check
from ropeaudit.findings import Status
from ropeaudit.schedule.core import Axis
from ropeaudit.schedule.float32 import f32
from tests.schedules import llama3, only, plain, proportional, raw, yarn

TWO_PI = 2 * math.pi


@pytest.mark.parametrize("schedule", [plain(1e4, trained=4096), llama3(), yarn(), proportional()])
def test_no_text_law_can_alias(schedule: object) -> None:
    assert only(check, schedule).status is Status.PASS  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("other", "sign", "m"),
    [(TWO_PI + 0.7, 1, 1), (2 * TWO_PI + 0.7, 1, 2), (TWO_PI - 0.7, -1, 1), (-0.7, -1, 0)],
)
def test_each_kind_of_alias_is_found(other: float, sign: int, m: int) -> None:
    outcome = only(check, raw([f32(other), 1.0, f32(0.7), 0.3], trained=512))
    assert outcome.status is Status.FAIL
    assert outcome.evidence["clusters"] == [[0, 2]]
    (relation,) = outcome.evidence["relations"]
    assert (relation["i"], relation["j"], relation["sign"], relation["m"]) == (0, 2, sign, m)
    value = outcome.evidence["relations"][0]["phase"] / 512
    assert value == pytest.approx(abs(f32(other) - sign * f32(0.7) - TWO_PI * m), abs=1e-12)


def test_equality_and_slow_channels_are_no_alias() -> None:
    """Equal values are another rule's; two slow channels add up to almost 0, not to it."""
    assert only(check, raw([4.0, 4.0, 1e-7, 1.1e-7], trained=512)).status is Status.PASS


def test_the_length_decides() -> None:
    table = [TWO_PI + 0.7 + 1e-5, 0.7]
    assert only(check, raw(table, trained=64)).status is Status.FAIL  # 6e-4 rad
    assert only(check, raw(table, trained=4096)).status is Status.PASS  # 0.04 rad
    assert only(check, raw(table)).status is Status.UNKNOWN
    assert only(check, raw(table), lengths=(64,)).status is Status.FAIL
    wide = check.Params(phase=0.1)
    assert only(check, raw(table, trained=4096), params=wide).status is Status.FAIL


def test_without_a_length_only_what_the_format_cannot_separate_is_certain() -> None:
    outcome = only(check, raw([f32(TWO_PI + 0.7), f32(0.7)]))
    assert (outcome.status, outcome.evidence["length"]) == (Status.FAIL, None)


def test_rounding_of_the_table_does_not_hide_an_alias() -> None:
    """At 4,096 positions half a float32 step above 2 pi is already 1e-3 rad."""
    hits = [
        only(check, raw([f32(TWO_PI + x / 97), f32(x / 97)], trained=16384)).status
        for x in range(8, 90)
    ]
    assert set(hits) == {Status.FAIL}


@pytest.mark.parametrize(("value", "turns"), [(math.pi, 1), (TWO_PI, 2), (3 * math.pi, 3)])
def test_one_channel_at_a_multiple_of_pi(value: float, turns: int) -> None:
    outcome = only(check, raw([f32(value), 1.0, 0.5], trained=128))
    assert outcome.status is Status.FAIL
    assert outcome.evidence["relations"][0]["m"] == turns
    assert "carries no order" in outcome.message


def test_positions_that_are_no_integers_are_skipped() -> None:
    table = (TWO_PI + 0.7, 1.0, 0.7)
    vision = raw(table, component="vision", trained=512)
    assert only(check, vision).status is Status.SKIP
    grid = raw(table, component="vision", trained=512, parameters={"positions": "integer"})
    assert only(check, grid).status is Status.FAIL
    assert only(check, plain(100.0, 64, component="vision")).status is Status.PASS


def test_axes_are_judged_apart() -> None:
    axes = (Axis("h", (0, 0)), Axis("w", (1, 1)))
    assert only(check, raw([TWO_PI + 0.7, 0.7], trained=8, axes=axes)).status is Status.PASS


def test_nan_leaves_the_question_open() -> None:
    assert only(check, raw([1.0, math.nan, 0.5])).status is Status.UNKNOWN


def test_garbage_of_any_size_ends() -> None:
    assert only(check, raw([2.3e7, 1e30, math.inf, 0.5])).status is Status.UNKNOWN


def test_many_channels_on_one_phase_take_one_pass() -> None:
    """Comparing all pairs of 40,000 channels would take minutes."""
    table = [4.0] * 20000 + [f32(TWO_PI - 4.0)] * 20000
    outcome = only(check, raw(table, trained=512))
    assert outcome.evidence["max_cluster"] == 40000
    assert len(outcome.evidence["relations"]) == 1


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.floats(0.01, 3.1), st.integers(1, 20), st.sampled_from([1, -1]), st.integers(0, 5))
def test_a_folded_copy_is_always_found(theta: float, m: int, sign: int, at: int) -> None:
    theta = f32(theta)
    others = [0.013, 0.57, 1.234, 2.05, 2.777]
    assume(all(abs(o - theta) > 1e-3 and o > 0 for o in others))
    assume(abs(theta - math.pi) > 1e-2)
    table = others.copy()
    table.insert(at, f32(TWO_PI * m + sign * theta))
    table.append(theta)
    outcome = only(check, raw(table, trained=64))
    assert outcome.evidence["clusters"] == [sorted((at, len(table) - 1))]


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.floats(1e-7, 3.1), min_size=1, max_size=40), st.integers(1, 10**6))
def test_nothing_below_pi_ever_aliases(values: list[float], length: int) -> None:
    assert only(check, raw(values, trained=length)).status is Status.PASS
