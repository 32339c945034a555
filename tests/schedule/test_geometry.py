"""Laws of clusters, gaps, turns and phases; figures from the literature."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.schedule import geometry
from ropeaudit.schedule.families.interface import geometric


@settings(max_examples=100)
@given(st.lists(st.sampled_from([0.0, -0.0, 0.5, 1.0, 2.0, math.nan]), max_size=20))
def test_clusters_are_the_equal_sets(values: list[float]) -> None:
    found = geometry.clusters(values, [range(len(values))])
    for members in found:
        assert len({values[k] + 0.0 for k in members}) == 1
    clustered = {k for m in found for k in m}
    for i, a in enumerate(values):
        twins = [j for j, b in enumerate(values) if a == b]
        assert (i in clustered) == (len(twins) > 1)


def test_equal_values_of_two_groups_are_no_cluster() -> None:
    assert geometry.clusters([1.0, 0.5, 1.0, 0.5], [[0, 1], [2, 3]]) == []
    assert geometry.clusters([1.0, 0.5, 1.0, 0.5], [[0, 1, 2, 3]]) == [[0, 2], [1, 3]]


@pytest.mark.parametrize(
    ("base", "dim", "length", "count"),
    [
        (1e4, 128, 4096, 18),
        (5e5, 128, 8192, 29),
        (1e6, 128, 32768, 24),
        (1e6, 128, 131072, 17),
        (1e6, 128, 2048, 37),
        (1e6, 128, 4096, 33),
        (1e6, 128, 8192, 30),
        (1e6, 128, 16384, 27),
    ],
)
def test_under_rotated_counts(base: float, dim: int, length: int, count: int) -> None:
    assert len(geometry.under_rotated(geometric(base, dim), length)) == count


def test_critical_dimension_of_llama_2_as_published() -> None:
    # Liu et al., 2310.05209: 92 for base 10000, head 128, trained on 4096.
    assert geometry.critical_dim(geometric(1e4, 128), 4096) == 92


@settings(max_examples=60)
@given(
    st.sampled_from([32, 64, 96, 128, 256]),
    st.floats(2e3, 1e8),
    st.integers(64, 1_000_000),
)
def test_critical_dimension_is_the_published_formula(dim: int, base: float, length: int) -> None:
    exact = dim / 2 * math.log(length / (2 * math.pi)) / math.log(base)
    if abs(exact - round(exact)) < 1e-4:
        return  # the formula's ceiling and float32 may fall on different sides
    formula = min(max(2 * math.ceil(exact), 0), dim)
    assert geometry.critical_dim(geometric(base, dim), length) == formula


def test_log_gaps_of_a_plain_table_are_all_equal() -> None:
    summary = geometry.summarise(geometry.log_gaps(geometric(1e4, 128)))
    assert summary is not None
    assert summary.mean == pytest.approx(2 * math.log(1e4) / 128, rel=1e-6)
    assert summary.cv < 1e-5
    assert geometry.summarise([]) is None


def test_phase_drift_is_capped_at_half_a_turn() -> None:
    assert geometry.phase_drift(1.0, 1.0, 1e9) == 0.0
    assert geometry.phase_drift(1.0, 1.0 + 1e-4, 1000) == pytest.approx(0.1)
    assert geometry.phase_drift(1.0, 0.5, 1e6) == math.pi
    assert geometry.phase_drift(1.0, math.nan, 10) == math.pi


def test_dlog_of_zero_is_infinite() -> None:
    assert geometry.dlog(1.0, 0.0) == -math.inf
    assert geometry.dlog(0.0, 1.0) == math.inf
    assert geometry.dlog(0.0, 0.0) == 0.0
    assert math.isnan(geometry.dlog(1.0, -1.0))
    assert geometry.dlog(1.0, math.e) == pytest.approx(1.0)
