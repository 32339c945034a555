"""The interval that may be looked at after every window."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue
from ropeaudit.perplexity.statistics.sequence import LEAST, Sequential

small = st.floats(-2, 2)


def fed(
    differences: Sequence[float],
    *,
    weights: Sequence[float] | float = 100.0,
    precision: float | None = None,
    threshold: float | None = None,
    population: int | None = None,
) -> Sequential:
    """After windows of mean differences per target."""
    sequence = Sequential(precision, threshold, population=population)
    counts = [weights] * len(differences) if isinstance(weights, float) else weights
    for x, w in zip(differences, counts, strict=True):
        sequence.add(x * w, w)
    return sequence


def bayes_factor(values: Sequence[float], total: int | None, candidate: float) -> float:
    """By the definition, window by window: expected value, scaled deviation, regression."""
    scaled, regressor, seen = [], [], 0.0
    for t, x in enumerate(values, 1):
        if total is None:
            scaled.append(x - candidate)
            regressor.append(1.0)
            continue
        left = total - t + 1
        expected = (total * candidate - seen) / left
        scaled.append((x - expected) * math.sqrt(left / (left - 1)))
        regressor.append(total / left * math.sqrt(left / (left - 1)))
        seen += x
    z, a = np.array(scaled), np.array(regressor)
    prior = np.eye(len(z)) + np.outer(a, a)
    inner = float(z @ np.linalg.solve(prior, z))
    return float(np.linalg.det(prior)) ** -0.5 * (float(z @ z) / inner) ** (len(z) / 2)


@pytest.mark.parametrize("total", [None, 9, 12, 400])
def test_the_ends_are_where_the_bayes_factor_reaches_its_bound(total: int | None) -> None:
    values = [0.3, -0.1, 0.25, 0.9, 0.05, 0.4, 0.2, 0.33]
    found = fed(values, population=total).interval()
    assert found is not None
    for end in np.log(found):
        assert bayes_factor(values, total, float(end)) == pytest.approx(100, rel=1e-6)
    assert bayes_factor(values, total, float(np.mean(values))) < 1


def test_no_interval_while_the_bayes_factor_cannot_reach_its_bound() -> None:
    values = [0.3, 0.31, 0.29, 0.3, 0.3]
    assert fed(values, population=100).interval() is None
    assert bayes_factor(values, 100, 50.0) < 100
    assert fed([*values, 0.3], population=100).interval() is not None


@settings(max_examples=40)
@given(st.lists(small, min_size=2, max_size=30))
def test_after_the_last_window_it_is_the_figure_itself(values: list[float]) -> None:
    sequence = fed(values, population=len(values))
    assert sequence.done
    found = sequence.interval()
    assert found is not None
    assert found[0] == found[1] == pytest.approx(math.exp(math.fsum(values) / len(values)))


@settings(max_examples=40)
@given(st.lists(st.tuples(small, st.integers(1, 4096)), min_size=1, max_size=30))
def test_the_ratio_weighs_by_targets(rows: list[tuple[float, int]]) -> None:
    sequence = fed([x for x, _ in rows], weights=[float(w) for _, w in rows], population=50)
    expected = math.fsum(x * w for x, w in rows) / sum(w for _, w in rows)
    assert sequence.log_ratio == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40)
@given(st.lists(small, min_size=6, max_size=20), st.floats(-3, 3), st.floats(0.1, 10))
def test_moving_and_stretching_the_differences_does_the_same_to_the_interval(
    values: list[float], move: float, stretch: float
) -> None:
    plain = fed(values, population=60)
    moved = fed([move + stretch * x for x in values], population=60)
    assert moved.half_width == pytest.approx(stretch * plain.half_width, abs=1e-6)
    assert moved.log_ratio == pytest.approx(move + stretch * plain.log_ratio, abs=1e-6)


@settings(max_examples=40)
@given(st.lists(st.tuples(small, st.integers(50, 100)), min_size=6, max_size=25))
def test_unequal_windows_use_the_residuals_of_the_ratio(rows: list[tuple[float, int]]) -> None:
    sequence = fed([x for x, _ in rows], weights=[float(w) for _, w in rows], population=80)
    mean = sum(w for _, w in rows) / len(rows)
    residuals = [(x - sequence.log_ratio) * w / mean for x, w in rows]
    # The same deviations in equal windows, around the same mean, give the same width.
    equal = fed(residuals, population=80)
    assert sequence.half_width == pytest.approx(equal.half_width, abs=1e-7)


def test_more_windows_narrow_it_and_a_longer_text_widens_it() -> None:
    rng = random.Random(3)
    values = [rng.gauss(0.1, 0.05) for _ in range(60)]
    widths = [fed(values[:n], population=100).half_width for n in (6, 10, 20, 40, 60)]
    assert widths == sorted(widths, reverse=True)
    widths = [fed(values[:20], population=n).half_width for n in (21, 30, 100, 1000, None)]
    assert widths == sorted(widths)


def test_it_stops_when_precise_enough() -> None:
    rng = random.Random(5)
    sequence = Sequential(0.005, population=500)
    while not sequence.done:
        sequence.add(100 * rng.gauss(0.3, 0.01), 100)
    low, high = sequence.interval() or (0.0, 0.0)
    assert (high - low) / 2 <= 0.005 * math.exp(sequence.log_ratio)
    assert LEAST < sequence.n < 100
    estimate = sequence.estimate()
    assert (estimate.low, estimate.high, estimate.n) == (low, high, sequence.n)
    assert "all of this text" in estimate.method


@pytest.mark.parametrize("mean", [0.0, 1.5])
def test_it_stops_when_the_threshold_is_decided(mean: float) -> None:
    rng = random.Random(7)
    sequence = Sequential(None, 1.05, population=200)
    while not sequence.done:
        sequence.add(100 * rng.gauss(mean, 0.01 + mean / 10), 100)
    assert sequence.n <= 12
    low, high = sequence.interval() or (0.0, 0.0)
    assert (low > 1.05) == (mean > 0)
    assert (high < 1.05) == (mean == 0)


def test_a_difference_at_the_threshold_needs_the_whole_text() -> None:
    values = [math.log(1.05) + (0.02 if i % 2 else -0.02) for i in range(40)]
    random.Random(1).shuffle(values)
    sequence = Sequential(None, 1.05, population=40)
    for x in values:
        assert not sequence.done
        sequence.add(100 * x, 100)
    assert sequence.done


def test_windows_that_do_not_differ_stop_at_the_least_number() -> None:
    sequence = Sequential(0.001, population=50)
    while not sequence.done:
        sequence.add(0.0, 511)
    assert sequence.n == LEAST
    assert sequence.interval() == (1.0, 1.0)


def test_without_a_wish_it_goes_to_the_end() -> None:
    sequence = Sequential(None, population=9)
    for _ in range(9):
        assert not sequence.done
        sequence.add(0.1, 1)
    assert sequence.done


def test_bad_windows_are_refused() -> None:
    sequence = Sequential(None, population=1)
    with pytest.raises(InvalidValue, match="no window was scored"):
        _ = sequence.log_ratio
    with pytest.raises(InvalidValue, match="finite number"):
        sequence.add(math.nan, 10)
    with pytest.raises(InvalidValue, match="at least one"):
        sequence.add(1.0, 0)
    sequence.add(1.0, 10)
    with pytest.raises(InvalidValue, match="more than the 1 windows"):
        sequence.add(1.0, 10)


def test_a_huge_difference_is_no_overflow() -> None:
    sequence = fed([2000.0, -2000.0] * 4, population=100, precision=0.01)
    assert not sequence.done
    assert sequence.interval() == (0.0, math.inf)
