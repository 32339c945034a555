"""RA702: planes of one head that coincide, and what is no coincidence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks.encodings import duplicate_plane as check
from ropeaudit.findings import Severity, Status
from ropeaudit.records import replace
from tests.checks.encodings import by_hand as make
from tests.encodings.vectors import VECTORS

INIT = np.array([VECTORS["rope_mixed_init"]["wx"], VECTORS["rope_mixed_init"]["wy"]]).T


def test_equal_norms_in_orthogonal_directions_are_no_cluster() -> None:
    assert make.only(check, make.mixed(INIT)).status is Status.PASS


def test_equal_and_opposite_vectors_are_one() -> None:
    found = make.only(check, make.mixed([INIT, [*INIT[:30], -INIT[4], INIT[4]]]))
    assert (found.status, found.severity) == (Status.FAIL, None)
    assert found.evidence["max_cluster"] == 3
    assert found.evidence["clusters"] == [[0, 1, [4, 30, 31]]]


def test_the_last_digits_of_float64_are_no_difference_and_those_of_float32_are() -> None:
    for gap, status in ((1e-15, Status.FAIL), (2.0**-23, Status.PASS)):
        near = [(0.5, 0.25), (0.5 * (1 + gap), 0.25)]
        assert make.only(check, make.mixed(near)).status is status


def test_one_sign_goes_with_all_axes() -> None:
    mirrored = [(0.5, 0.3), (0.5, -0.3)]
    assert make.only(check, make.mixed(mirrored)).status is Status.PASS


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.integers(0, 30), st.integers(0, 30), st.sampled_from([1.0, -1.0]))
def test_a_planted_copy_is_found_at_any_place(i: int, j: int, sign: float) -> None:
    vectors = INIT.copy()
    vectors[j] = sign * vectors[i]
    found = make.only(check, make.mixed(vectors))
    expected = [] if i == j else [[0, 0, sorted((i, j))]]
    assert found.evidence.get("clusters", []) == expected


def test_equal_values_in_different_heads_are_none() -> None:
    assert make.only(check, make.mixed([INIT, INIT])).status is Status.PASS


def test_frequencies_of_a_matrix_coincide_up_to_its_rounding() -> None:
    b = make.generator([1.0, 0.5, 0.5 + 1e-8, 0.1])
    found = make.only(check, make.ape(b))
    assert found.evidence["clusters"] == [[None, 0, [1, 2]]]
    assert found.severity is Severity.WARNING  # chance or the initialisation leaves pairs
    three = make.generator([1.0, 0.5, 0.5, 0.5, 0.1])
    assert make.only(check, make.ape(three)).severity is None
    apart = make.generator([1.0, 0.5, 0.5 + 1e-4, 0.1])
    assert make.only(check, make.ape(apart)).status is Status.PASS


def test_a_repeated_value_of_an_axis_that_commutes_with_nothing_is_information() -> None:
    raw = np.zeros((2, 1, 1, 4, 4))
    raw[0, 0, 0, 0, 1] = raw[0, 0, 0, 2, 3] = 1.5
    raw[1, 0, 0] = np.triu(np.arange(16.0).reshape(4, 4) / 10, 1)
    found = make.only(check, make.liere(raw))
    assert (found.severity, found.evidence["axes"]) == (Severity.INFO, ["y"])


def test_two_equal_blocks_are_derogatory_and_the_planes_of_one_are_not() -> None:
    assert make.only(check, make.jordan()).status is Status.PASS
    equal = make.jordan(w=(0.7, 0.7))
    assert "derogatory" in make.only(check, equal).message
    assert make.only(check, make.jordan(w=(0.7, 0.7), gamma=(0.05, 0.06))).status is Status.PASS


def test_a_tree_is_judged_branch_by_branch() -> None:
    plain = make.generator([0.7, 0.2], 1), make.generator([0.7, 0.2], 2)
    assert make.only(check, make.ape(*plain, branches=2)).status is Status.PASS
    twice = make.generator([0.7, 0.7, 0.1], 1), make.generator([0.5, 0.2, 0.1], 2)
    found = make.only(check, make.ape(*twice, branches=2))
    assert found.evidence["axes"] == ["branch 0"]


def test_what_never_turns_is_left_out() -> None:
    assert make.only(check, make.mixed([(0.0, 0.0), (0.0, 0.0), (1.0, 0.0)])).status is Status.PASS
    assert make.only(check, make.alibi()).status is Status.SKIP


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_option_moves_the_line(limit: int) -> None:
    twins = make.mixed([(1.0, 0.5), (1.0, 0.5), (0.1, 0.2), (0.3, 0.2)])
    found = make.only(check, twins, params=check.Params(max_cluster=limit))
    assert (found.status is Status.FAIL) == (limit < 2)


def test_long_lists_are_cut_and_counted() -> None:
    heads = np.repeat(np.array([[(1.0, 0.5), (1.0, 0.5)]]), 100, axis=0)
    found = make.only(check, replace(make.mixed(heads), heads=100))
    assert len(found.evidence["clusters"]) == 32
    assert found.evidence["cluster_count"] == 100


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "float8_e4m3"])
@pytest.mark.parametrize("seed", [None, 3])
def test_the_slow_end_of_a_geometric_table_is_apart(dtype: str, seed: int | None) -> None:
    """RoPE with base 1e6 as APE: its slowest planes lie below the rounding of its fastest."""
    generator = make.generator(list(1e6 ** (-np.arange(64) / 64)), seed)
    encoding = replace(make.ape(generator), dtype=dtype)
    assert make.only(check, encoding).status is Status.PASS
