"""RA705: what whole positions cannot tell apart, with one sign for all axes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks.encodings import plane_alias as check
from ropeaudit.findings import Status
from tests.checks.encodings import by_hand as make
from tests.encodings.vectors import VECTORS

TWO = VECTORS["aliasing"]["2d_integer"]
ONE = VECTORS["aliasing"]["1d_integer"]


@pytest.mark.parametrize("other", ["equiv", "canonical"])
@pytest.mark.parametrize("grid", [None, (14, 14)])
def test_two_axes_share_one_sign(other: str, grid: tuple[int, int] | None) -> None:
    encoding = make.mixed([TWO["w"], TWO[other]], grid)
    assert make.only(check, encoding).evidence["clusters"] == [[0, 0, [0, 1]]]
    assert make.only(check, make.mixed([TWO["w"], TWO["NOT_equiv"]], grid)).status is Status.PASS


def test_one_axis_folds_and_mirrors() -> None:
    encoding = make.ape(make.generator([ONE["omega"], ONE["alias"], 0.3]), length=64)
    assert make.only(check, encoding).evidence["max_cluster"] == 2
    lags = np.arange(50)
    cosines = np.cos(np.outer([ONE["omega"], ONE["alias"]], lags))
    assert np.abs(cosines[0] - cosines[1]).max() < 1e-12


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.floats(-3, 3), st.floats(-3, 3), st.integers(-2, 2), st.integers(-2, 2),
    st.sampled_from([1, -1]),
)  # fmt: skip
def test_any_alias_scores_alike_and_is_found(x: float, y: float, m: int, n: int, sign: int) -> None:
    """What the check calls one gives the same cosine at every whole position."""
    one = np.array([x, y])
    other = sign * one + 2 * np.pi * np.array([m, n])
    if np.hypot(x, y) < 0.1 or (m == 0 and n == 0):
        return
    found = make.only(check, make.mixed([one, other], (14, 14)))
    same = min(np.linalg.norm(one - other), np.linalg.norm(one + other)) < 0.05
    assert same or found.evidence["clusters"] == [[0, 0, [0, 1]]]
    p = np.stack(np.meshgrid(np.arange(14), np.arange(14)), -1).reshape(-1, 2)
    assert np.abs(np.cos(p @ one) - np.cos(p @ other)).max() < 1e-9


def test_without_whole_positions_it_does_not_apply() -> None:
    raw = np.zeros((2, 1, 2, 2, 2))
    raw[:, 0, 0, 0, 1], raw[:, 0, 1, 0, 1] = TWO["w"], TWO["equiv"]
    assert make.only(check, make.liere(raw)).status is Status.SKIP
    plain = make.mixed([(3.0, 0.3), (0.2, 0.1)])
    assert make.only(check, plain).status is Status.PASS
