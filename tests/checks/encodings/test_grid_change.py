"""RA712: another grid than in training."""

from __future__ import annotations

import numpy as np
import pytest

from ropeaudit.checks.encodings import grid_change as check
from ropeaudit.findings import Severity, Status
from tests.checks.encodings import by_hand as make
from tests.encodings.vectors import VECTORS

SPACING = VECTORS["liere_positions"]["spacing"]


@pytest.mark.parametrize("n", sorted(map(int, SPACING)))
def test_spacing_is_that_of_the_public_code(n: int) -> None:
    assert check.spacing((n,), (14,), integer=False) == pytest.approx((SPACING[str(n)],))
    assert check.spacing((n,), (14,), integer=True) == (1.0,)


def turning(w: float) -> np.ndarray:
    raw = np.zeros((2, 1, 1, 2, 2))
    raw[1, 0, 0, 0, 1] = w
    return raw


def test_drift_between_neighbours_is_a_warning_and_reach_alone_information() -> None:
    moved = abs(SPACING["28"] - SPACING["14"])
    for w, severity in ((1.01, None), (0.99, Severity.INFO)):
        raw = turning(w * np.pi / 4 / moved)
        found = make.only(check, make.liere(raw, (14, 14), (28, 28)))
        assert (found.status, found.severity) == (Status.FAIL, severity)
        assert found.evidence["range_ratio"] == [2.0, 2.0]
        assert found.evidence["largest_drift"] == pytest.approx(w * np.pi / 4, rel=1e-5)


def test_the_same_grid_a_smaller_one_and_none() -> None:
    assert make.only(check, make.liere(turning(5.0))).status is Status.PASS
    assert make.only(check, make.mixed([(1.0, 0.2)], (14, 14), (7, 7))).status is Status.PASS
    grown = make.only(check, make.mixed([(1.0, 0.2)], (14, 14), (28, 14)))
    assert (grown.severity, grown.evidence["range_ratio"]) == (Severity.INFO, [1.0, 2.0])
    assert make.only(check, make.mixed([(1.0, 0.2)], (14, 14))).status is Status.SKIP
