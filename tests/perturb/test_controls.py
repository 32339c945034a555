"""Clusters and their controls: formulas in mpmath's precision, places, distinctness."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ropeaudit.errors import UsageError
from ropeaudit.perturb.measure import measure
from ropeaudit.perturb.variant import make
from ropeaudit.records import replace
from ropeaudit.schedule.core import Axis, Schedule
from ropeaudit.schedule.float32 import f32, ulp_distance
from ropeaudit.schedule.geometry import max_cluster
from tests.schedules import plain, proportional, raw

SMOLLM = plain(1e5, 64, trained=8192)
"""The table of SmolLM2-135M."""
GAP = 2 * math.log(1e5) / 64
"""Log distance of its neighbouring channels."""


def run(schedule: Schedule, recipe: str) -> tuple[Schedule, dict[str, Any]]:
    variant = make([schedule], recipe)
    found = variant.found[-1]
    return variant.schedules[0], dict(found[0]) if found else {}


def moved(base: Schedule, made: Schedule) -> list[int]:
    pairs = enumerate(zip(base.inv_freq, made.inv_freq, strict=True))
    return [k for k, (a, b) in pairs if a != b]


@given(st.integers(0, 20), st.integers(2, 5), st.integers(1, 3))
@settings(max_examples=40)
def test_a_cluster_stands_at_its_geometric_mean(at: int, codim: int, gap: int) -> None:
    assume(at + (codim - 1) * gap < 32)
    made, found = run(SMOLLM, f"cluster:at={at},codim={codim},gap={gap},to=gm")
    place = [at + n * gap for n in range(codim)]
    with mpmath.workdps(40):
        exact = mpmath.fprod(mpmath.mpf(SMOLLM.inv_freq[k]) for k in place) ** (
            mpmath.mpf(1) / codim
        )
    assert found["channels"] == place
    assert {made.inv_freq[k] for k in place} == {found["target"]}
    assert (ulp_distance(found["target"], float(exact)) or 0) == 0
    on = found.get("landed_on", [])
    middle = at + (codim - 1) * gap / 2
    assert on == ([int(middle)] if middle.is_integer() and int(middle) not in place else [])
    assert codim <= max_cluster(made) <= codim + len(on)
    assert set(moved(SMOLLM, made)) <= set(place)


def test_other_targets_of_a_cluster() -> None:
    values = SMOLLM.inv_freq
    for to, value in (("first", values[4]), ("last", values[10]), ("0.3", f32(0.3)), ("0", 0.0)):
        made, _ = run(SMOLLM, f"cluster:at=4,codim=3,gap=3,to={to}")
        assert [made.inv_freq[k] for k in (4, 7, 10)] == [value] * 3


def test_measured_numbers_of_the_pair_experiments() -> None:
    """Merged and apart move the same in log, not in radians: -0.59 against +1.46 at channel 0."""
    merged, _ = run(SMOLLM, "cluster:at=0,codim=2,gap=5,to=gm")
    apart, _ = run(SMOLLM, "apart:at=0,gap=5")
    assert merged.inv_freq[0] - 1 == pytest.approx(-0.59, abs=0.005)
    assert apart.inv_freq[0] - 1 == pytest.approx(1.46, abs=0.005)
    a, b = measure(SMOLLM, merged), measure(SMOLLM, apart)
    assert a.max_abs_dlog == pytest.approx(b.max_abs_dlog, rel=1e-6)
    assert a.max_abs_dlog == pytest.approx(2.5 * GAP, rel=1e-6)
    assert a.max_cluster == 2
    assert a.smallest_log_gap == 0
    for gap, smallest in ((1, 0.18), (3, 0.18), (5, 0.18)):
        made, found = run(SMOLLM, f"apart:at=0,gap={gap}")
        assert found["nudged"] == []
        assert measure(SMOLLM, made).smallest_log_gap == pytest.approx(smallest, abs=0.001)
    swapped, _ = run(SMOLLM, "swap:at=0,gap=3")
    assert measure(SMOLLM, swapped).smallest_log_gap == pytest.approx(0.36, abs=0.001)
    assert measure(SMOLLM, swapped).max_abs_dlog == pytest.approx(3 * GAP, rel=1e-6)


@given(st.integers(0, 24), st.integers(1, 7), st.sampled_from(["log", "phase"]))
@settings(max_examples=60)
def test_apart_mirrors_the_merge(at: int, gap: int, match: str) -> None:
    assume(match == "log" or gap < 4)
    merged, _ = run(SMOLLM, f"cluster:at={at},codim=2,gap={gap},to=gm")
    made, found = run(SMOLLM, f"apart:at={at},gap={gap},match={match}")
    nudged = {n["channel"]: n["moved_dlog"] for n in found["nudged"]}
    for k in (at, at + gap):
        before, joined, parted = (s.inv_freq[k] for s in (SMOLLM, merged, made))
        parted *= math.exp(-nudged.get(k, 0.0))
        if match == "log":
            assert math.log(parted / before) == pytest.approx(-math.log(joined / before), rel=1e-4)
        else:
            assert parted - before == pytest.approx(before - joined, rel=1e-4)
    assert_distinct(made)


@given(st.integers(0, 24), st.integers(1, 7), st.sampled_from(["up", "down"]))
@settings(max_examples=60)
def test_shift_moves_both_the_same_way(at: int, gap: int, way: str) -> None:
    made, found = run(SMOLLM, f"shift:at={at},gap={gap},dir={way}")
    nudged = {n["channel"]: n["moved_dlog"] for n in found["nudged"]}
    for k in (at, at + gap):
        step = math.log(made.inv_freq[k] / SMOLLM.inv_freq[k]) - nudged.get(k, 0.0)
        assert step == pytest.approx(gap * GAP / 2 * (1 if way == "up" else -1), rel=1e-5)
    assert_distinct(made)


def assert_distinct(made: Schedule) -> None:
    logs = sorted(math.log(v) for v in made.inv_freq)
    assert min(b - a for a, b in pairwise(logs)) > 4e-4
    assert max_cluster(made) == 1


def test_even_gaps_land_on_others_and_are_moved_on() -> None:
    _, found = run(SMOLLM, "shift:at=8,gap=4,dir=up")
    assert found["nudged"] == [
        {"channel": 8, "moved_dlog": 0.001},
        {"channel": 12, "moved_dlog": 0.001},
    ]
    _, found = run(SMOLLM, "apart:at=8,gap=2")
    assert found["nudged"] == [
        {"channel": 8, "moved_dlog": 0.001},
        {"channel": 10, "moved_dlog": -0.001},
    ]
    _, found = run(SMOLLM, "apart:at=8,gap=3")
    assert found["nudged"] == []


def test_phase_cannot_be_matched_beyond_two_ln_two() -> None:
    assert 3 * GAP < 2 * math.log(2) < 4 * GAP
    run(SMOLLM, "apart:at=0,gap=3,match=phase")
    with pytest.raises(UsageError, match="channel 4 would not turn forwards"):
        run(SMOLLM, "apart:at=0,gap=4,match=phase")


def test_swap_keeps_the_set() -> None:
    made, _ = run(SMOLLM, "swap:at=3,gap=4")
    assert sorted(made.inv_freq) == sorted(SMOLLM.inv_freq)
    assert moved(SMOLLM, made) == [3, 7]
    again = make([made], "swap:at=3,gap=4").schedules[0]
    assert again.inv_freq == SMOLLM.inv_freq


def test_places_in_the_spectrum() -> None:
    for at, first in (("high", 0), ("low", 32 - 7), ("mid", 12)):
        _, found = run(SMOLLM, f"cluster:at={at},codim=3,gap=3,to=gm")
        assert found["channels"] == [first, first + 3, first + 6]
    wide = proportional()  # 64 of 256 turn
    _, found = run(wide, "swap:at=low,gap=1")
    assert found["channels"] == [62, 63]
    with pytest.raises(UsageError, match="zero by design of 'proportional'"):
        run(wide, "swap:at=63,gap=1")


def test_a_log_distance_finds_the_nearest_gap() -> None:
    for dlog, gap in ((GAP, 1), (3.4 * GAP, 3), (3.6 * GAP, 4), (0.7 * GAP, 1), (20 * GAP, 15)):
        _, found = run(SMOLLM, f"cluster:at=0,codim=3,dlog={dlog!r},to=gm")
        assert found["channels"] == [0, gap, 2 * gap]


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ("cluster:at=31,codim=2,gap=1", "no channel 32"),
        ("cluster:at=0,codim=33,gap=1", "no channel 32"),
        ("cluster:at=mid,codim=33,gap=1", "33 channels in a row"),
        ("cluster:at=40,codim=2,dlog=1", "no 2 channels"),
        ("cluster:at=0,codim=3,dlog=0.1", r"nearest that the table has is 0.3598 \(gap=1\)"),
        ("swap:at=0,dlog=1e9", r"nearest that the table has is 11.15 \(gap=31\)"),
        ("cluster:at=0,codim=2,gap=1,to=1e39", "outside what float32 holds"),
        ("cluster:at=0,codim=2,gap=1,to=1e-60", "outside what float32 holds"),
        ("apart:at=0,gap=40", "no channel 40"),
        ("zero:from=3,to=32", "no channel 32"),
        ("jitter:eps=-0.1", "negative"),
        ("jitter:eps=1e38", "beyond what float32 holds"),
        ("apart:at=0,gap=1@head=2", "one table of frequencies for all heads"),
    ],
)
def test_what_cannot_be_done_is_said(recipe: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        run(SMOLLM, recipe)
    assert str(caught.value).startswith("recipe ")


def test_frequencies_without_a_logarithm_are_refused() -> None:
    table = raw([1.0, 0.0, -0.5, 0.25])
    for recipe in ("cluster:at=0,codim=2,gap=1", "apart:at=0,gap=1", "shift:at=1,gap=1,dir=up"):
        with pytest.raises(UsageError, match="no place on a logarithmic scale"):
            run(table, recipe)
    made, _ = run(table, "cluster:at=0,codim=2,gap=1,to=0.5")
    assert made.inv_freq == (0.5, 0.5, -0.5, 0.25)


def test_jitter_splits_every_cluster() -> None:
    base, _ = run(SMOLLM, "int8:sym")
    made, _ = run(SMOLLM, "int8:sym+jitter:eps=1e-7")
    assert measure(SMOLLM, base).max_cluster == 16
    assert measure(SMOLLM, made).max_cluster == 1
    wanted = tuple(f32(v + k * 1e-7) for k, v in enumerate(base.inv_freq))
    assert made.inv_freq == wanted


def test_bands() -> None:
    made, _ = run(SMOLLM, "zero:from=3,to=5")
    assert [k for k, v in enumerate(made.inv_freq) if v == 0] == [3, 4, 5]
    made, _ = run(SMOLLM, "keep:from=3,to=5")
    assert [k for k, v in enumerate(made.inv_freq) if v != 0] == [3, 4, 5]
    assert measure(SMOLLM, made).zeroed == 29
    assert measure(SMOLLM, made).largest_dlog == -math.inf


def test_axes_apart_share_values_without_a_cluster() -> None:
    axes = (Axis("t", (0, 15)), Axis("h", (16, 31)))
    schedule = replace(SMOLLM, axes=axes)
    made, _ = run(schedule, "cluster:at=15,codim=2,gap=1,to=gm")
    assert measure(schedule, made).max_cluster == 1
    made, _ = run(schedule, "cluster:at=14,codim=2,gap=1,to=gm")
    assert measure(schedule, made).max_cluster == 2


def test_phase_drift_is_taken_within_the_window() -> None:
    context = replace(SMOLLM.context, window=512)
    schedule = replace(SMOLLM, context=context)
    made, _ = run(schedule, "jitter:eps=1e-6")
    found = measure(schedule, made)
    assert found.length == 512
    exact = max(abs(a - b) for a, b in zip(schedule.inv_freq, made.inv_freq, strict=True)) * 512
    assert found.max_phase_drift == exact
    assert measure(raw([1.0, 0.5]), raw([1.0, 0.25])).max_phase_drift is None
