"""RA709: queries and keys carry opposite maps, of the right sign."""

from __future__ import annotations

import numpy as np
import pytest

from ropeaudit.checks.encodings import contragredient as check
from ropeaudit.encodings._planes import rotations
from ropeaudit.findings import Severity, Status
from tests.checks.encodings import by_hand as make
from tests.encodings.vectors import VECTORS

STABLE = VECTORS["jordan_stabilized"]
GAMMA = 0.05


def turned(p: np.ndarray, rate: float) -> np.ndarray:
    return np.exp(rate * p)[:, None, None] * rotations(0.7 * p)


def test_exact_variants_depend_on_the_lag_alone() -> None:
    assert make.only(check, make.jordan()).status is Status.PASS
    assert make.only(check, make.jordan(order=3)).status is Status.PASS


def test_the_right_pair_passes_by_hand_too(monkeypatch: pytest.MonkeyPatch) -> None:
    zero = np.zeros((1, 1, 1, 2, 2))
    right = make.crooked(monkeypatch, lambda p: (turned(p, -GAMMA), turned(p, GAMMA)), zero, GAMMA)
    assert make.only(check, right).status is Status.PASS


def test_the_wrong_sign_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    zero = np.zeros((1, 1, 1, 2, 2))
    wrong = make.crooked(monkeypatch, lambda p: (turned(p, GAMMA), turned(p, -GAMMA)), zero, GAMMA)
    found = make.only(check, wrong)
    assert (found.status, found.severity) == (Status.FAIL, None)
    assert found.evidence["growth_rate"] == pytest.approx(GAMMA, rel=1e-6)


def test_the_same_map_on_both_sides_is_not_relative(monkeypatch: pytest.MonkeyPatch) -> None:
    zero = np.zeros((1, 1, 1, 2, 2))
    same = make.crooked(monkeypatch, lambda p: (turned(p, -GAMMA),) * 2, zero, GAMMA)
    found = make.only(check, same)
    assert (found.status, found.severity) == (Status.FAIL, None)
    moved = found.evidence["shift"]
    expected = 1 - np.exp(-2 * GAMMA * moved)
    assert found.evidence["relativity_defect"] == pytest.approx(expected, rel=1e-3)


def test_the_stabilised_shear_depends_on_more_than_the_lag() -> None:
    encoding = make.jordan((0.7,), (GAMMA,), (0.3,), bounded=float(STABLE["L"]), length=17)
    found = make.only(check, encoding)
    assert (found.status, found.severity) == (Status.FAIL, Severity.INFO)
    assert found.evidence["relativity_defect"] > 0.1


def test_the_clamp_is_left_to_the_rule_that_knows_it() -> None:
    """Beyond gamma p = 30 public code breaks the relation, which jordan-growth warns of."""
    encoding = make.jordan((0.7,), (1 / 64,), (0.3,), length=65)
    assert make.only(check, encoding, lengths=(16384,)).status is Status.PASS


def test_it_asks_only_what_damps() -> None:
    assert make.only(check, make.mixed([(1.0, 0.5)])).status is Status.SKIP
    assert make.only(check, make.alibi()).status is Status.SKIP
