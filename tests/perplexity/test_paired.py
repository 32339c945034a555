"""Inflation and its paired interval."""

from __future__ import annotations

import math
import random

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue
from ropeaudit.perplexity.records import WindowScore
from ropeaudit.perplexity.statistics import _groups
from ropeaudit.perplexity.statistics._student import quantile, two_sided
from ropeaudit.perplexity.statistics.paired import inflation
from tests.perplexity.scores import log_ratio, measured, scores

nats = st.floats(0.5, 8.0)
windows = st.lists(st.tuples(nats, nats, st.integers(1, 4096)), min_size=2, max_size=40)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 7, 15, 16, 40])
def test_students_quantile_is_that_of_mpmath(df: int) -> None:
    def tail(t: mpmath.mpf) -> mpmath.mpf:
        x = df / (df + t * t)
        return mpmath.betainc(mpmath.mpf(df) / 2, 0.5, 0, x, regularized=True)

    with mpmath.workdps(30):
        assert float(tail(quantile(df))) == pytest.approx(0.05, rel=1e-12)
        assert float(tail(mpmath.mpf(0.7))) == pytest.approx(1 - two_sided(0.7, df), rel=1e-12)
        assert float(tail(quantile(df, 0.99))) == pytest.approx(0.01, rel=1e-11)


@settings(max_examples=40)
@given(windows)
def test_inflation_is_the_ratio_of_perplexities(rows: list[tuple[float, float, int]]) -> None:
    tokens = [n for *_, n in rows]
    base, variant = [b * n for b, _, n in rows], [v * n for _, v, n in rows]
    found = inflation(scores(base, tokens), scores(variant, tokens))
    assert math.log(found.ratio) == pytest.approx(log_ratio(base, variant, tokens), abs=1e-9)
    assert found.n == len(rows)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.ratio <= found.high
    back = inflation(scores(variant, tokens), scores(base, tokens))
    assert back.low is not None
    assert math.log(back.low) == pytest.approx(-math.log(found.high), abs=1e-9)


@settings(max_examples=40)
@given(st.lists(st.tuples(nats, nats), min_size=2, max_size=8))
def test_up_to_eight_windows_it_is_the_textbook_interval(rows: list[tuple[float, float]]) -> None:
    found = inflation(scores([100 * b for b, _ in rows]), scores([100 * v for _, v in rows]))
    difference = np.array([v - b for b, v in rows])
    error = difference.std(ddof=1) / math.sqrt(len(rows))
    half = quantile(len(rows) - 1) * error
    assert found.ci95 is not None
    expected = (difference.mean() - half, difference.mean() + half)
    assert np.log(found.ci95) == pytest.approx(expected, abs=1e-9)


def test_more_windows_are_taken_in_eight_stretches_of_neighbours() -> None:
    stretches = [0.1, 0.4, 0.2, 0.3, 0.0, 0.5, 0.25, 0.15]
    base = [300.0] * 24
    variant = [300.0 + 100 * stretches[i // 3] for i in range(24)]
    found = inflation(scores(base), scores(variant))
    eight = inflation(scores([300.0] * 8), scores([300 + 100 * s for s in stretches]))
    assert found.ci95 == pytest.approx(eight.ci95)
    assert found.n == 24
    assert "8 groups" in found.method


def test_the_order_of_the_windows_does_not_matter() -> None:
    table = measured()
    base, variant = list(table["base"]), list(table["log4"])
    first = inflation(base, variant)
    random.Random(1).shuffle(base)
    random.Random(2).shuffle(variant)
    assert inflation(base, variant) == first


def test_one_window_leaves_no_interval() -> None:
    found = inflation(scores([200.0]), scores([210.0]))
    assert found.ratio == pytest.approx(math.exp(0.1))
    assert found.ci95 is None
    assert found.low is None
    assert found.high is None


def test_two_windows_leave_a_wide_one() -> None:
    found = inflation(scores([200.0, 200.0]), scores([210.0, 212.0]))
    assert found.ci95 is not None
    assert np.log(found.ci95) == pytest.approx((0.11 - 0.127062, 0.11 + 0.127062), abs=1e-6)


def test_a_variant_that_changes_nothing_is_exactly_one() -> None:
    base = scores([200.1, 301.7, 250.3])
    found = inflation(base, base)
    assert (found.ratio, found.low, found.high) == (1.0, 1.0, 1.0)


def test_only_windows_that_both_have_scored_count() -> None:
    base = scores([200.0, 300.0, 400.0, 500.0])
    part = (WindowScore(index=3, tokens=100, nll=510.0), WindowScore(index=1, tokens=100, nll=330))
    found = inflation(base, part)
    assert found.n == 2
    assert math.log(found.ratio) == pytest.approx(0.2)


def test_windows_of_unequal_length_weigh_by_their_targets() -> None:
    rng = np.random.default_rng(7)
    tokens = rng.integers(50, 150, size=8)
    difference = rng.normal(0.2, 0.05, size=8)
    found = inflation(
        scores([3.0 * n for n in tokens], list(tokens)),
        scores(list((3.0 + difference) * tokens), list(tokens)),
    )
    # The delta method written out: mean of the weighted differences and their residuals.
    ratio = (difference * tokens).sum() / tokens.sum()
    residuals = (difference - ratio) * tokens
    half = quantile(7) * math.sqrt(8 / 7 * (residuals**2).sum()) / tokens.sum()
    assert found.ci95 is not None
    assert np.log(found.ci95) == pytest.approx((ratio - half, ratio + half))


@pytest.mark.parametrize(
    ("base", "variant", "words"),
    [
        (scores([1.0]), scores([math.nan]), "expected a finite number"),
        (scores([1.0], 3), scores([1.0], 4), "3 and 4 targets"),
        (scores([1.0]) * 2, scores([1.0]), "scored twice"),
        (scores([]), scores([1.0]), "no window in common"),
        (scores([1.0], 0), scores([1.0], 0), "over at least one"),
    ],
)
def test_scores_that_cannot_be_compared(base: tuple, variant: tuple, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        inflation(base, variant)


def test_an_enormous_loss_does_not_overflow() -> None:
    found = inflation(scores([1.0, 1.0], 1), scores([2000.0, 3000.0], 1))
    assert found.ratio == math.inf
    assert found.low == 0.0


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.floats(-1, 3), st.floats(-1, 3), st.integers(1, 99)), min_size=2,
             max_size=8),
)  # fmt: skip
def test_the_ends_of_a_quotient_are_where_the_combined_mean_is_just_zero(
    rows: list[tuple[float, float, int]],
) -> None:
    a, b, tokens = (list(column) for column in zip(*rows, strict=True))
    found = _groups.quotient(a, b, tokens)
    if found is None:
        around = _groups.interval(b, tokens)
        assert around is not None
        assert around[0] <= 1e-9
        assert around[1] >= -1e-9
        return
    for rho in found:
        low, high = _groups.interval([x - rho * y for x, y in zip(a, b, strict=True)], tokens) or (
            math.nan, math.nan,
        )  # fmt: skip
        scale = max(1.0, abs(rho)) ** 2
        assert min(abs(low), abs(high)) <= 1e-6 * scale


def test_pairing_takes_out_what_is_hard_for_every_variant() -> None:
    table = measured()
    found = inflation(table["base"], table["noise:eps=0.01,seed=0"])
    assert found.ci95 is not None
    levels = np.array([s.nll / s.tokens for s in table["base"]])
    unpaired = 2 * quantile(len(levels) - 1) * levels.std(ddof=1) / math.sqrt(len(levels))
    assert np.diff(np.log(found.ci95)).item() < unpaired / 50
