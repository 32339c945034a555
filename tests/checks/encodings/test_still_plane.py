"""RA719: planes that never turn."""

from __future__ import annotations

import numpy as np
import pytest

from ropeaudit.checks.encodings import still_plane as check
from ropeaudit.findings import Status
from tests.checks.encodings import by_hand as make


def test_zeros_are_listed_by_head() -> None:
    heads = [[(1.0, 0.0), (0.0, 0.0), (0.0, 0.5)], [(0.0, 0.0)] * 3]
    found = make.only(check, make.mixed(heads))
    assert found.evidence["still"] == [[0, 0, [1]], [0, 1, [0, 1, 2]]]
    assert (found.evidence["planes"], found.evidence["silent_heads"]) == (4, 1)
    assert "4 planes of 6" in found.message


@pytest.mark.parametrize("bits", [4, 6, 8])
def test_a_quantiser_that_rounds_to_zero_is_noticed(bits: int) -> None:
    """Symmetric integers over one head: the slowest planes of a geometric list become 0."""
    w = 1e4 ** (-np.arange(32) / 32)
    step = w[0] / (2 ** (bits - 1) - 1)
    rounded = np.round(w / step) * step
    found = make.only(check, make.ape(make.generator(rounded)))
    assert found.evidence["planes"] == int((rounded == 0).sum()) > 0
    assert make.only(check, make.ape(make.generator(w))).status is Status.PASS


def test_matrices_whose_axes_cross_are_asked_as_a_whole() -> None:
    raw = np.zeros((2, 1, 1, 4, 4))
    raw[0, 0, 0, 0, 1] = raw[1, 0, 0, 1, 2] = 1.0  # each axis leaves one plane still
    assert make.only(check, make.liere(raw)).status is Status.PASS
    assert make.only(check, make.liere(0 * raw)).evidence["silent_heads"] == 1


def test_by_design() -> None:
    assert make.only(check, make.alibi()).status is Status.SKIP
    assert make.only(check, make.jordan(w=(0.0, 0.0))).status is Status.SKIP
    assert make.only(check, make.jordan()).status is Status.PASS
    odd = np.zeros((3, 3))
    odd[0, 1], odd[1, 0] = -1.0, 1.0
    assert make.only(check, make.ape(odd)).status is Status.PASS
