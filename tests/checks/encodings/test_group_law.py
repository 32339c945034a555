"""RA708: the map of a lag is the product of its parts, except where design gives that up."""

from __future__ import annotations

import numpy as np
import pytest

from ropeaudit.checks.encodings import group_law as check
from ropeaudit.findings import Severity, Status
from tests.checks.encodings import by_hand as make


@pytest.mark.parametrize("order", [2, 3, 4])
def test_exact_blocks_are_a_group(order: int) -> None:
    assert make.only(check, make.jordan(order=order)).status is Status.PASS


def test_the_bounded_shear_is_off_by_a_third_of_the_length() -> None:
    length = 64.0
    encoding = make.jordan((0.7,), (1e-9,), (0.5,), bounded=length, length=65)
    found = make.only(check, encoding)
    assert (found.status, found.severity) == (Status.FAIL, Severity.INFO)
    assert found.evidence["lags"] == [64, 64]
    # shears: 2 tau(L) = L against tau(2L) = 2L/3, in one block of two planes
    product = np.sqrt(4 + 2 * (0.5 * length) ** 2)
    expected = np.sqrt(2) * 0.5 * length / 3 / product
    assert found.evidence["group_defect"] == pytest.approx(expected, rel=1e-3)


def test_a_group_that_is_none_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def maps(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scale = np.exp(-0.01 * p**1.5)[:, None, None] * np.eye(2)
        return scale, np.broadcast_to(np.eye(2), scale.shape)

    encoding = make.crooked(monkeypatch, maps, np.zeros((1, 1, 1, 2, 2)), gamma=0.01)
    found = make.only(check, encoding)
    assert (found.status, found.severity) == (Status.FAIL, None)


def test_it_asks_only_what_damps() -> None:
    assert make.only(check, make.ape(make.generator([1.0]))).status is Status.SKIP
    assert make.only(check, make.alibi()).status is Status.SKIP
