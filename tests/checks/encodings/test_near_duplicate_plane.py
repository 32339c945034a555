"""RA703: close in size and in phase, or unknown where nobody says how far positions reach."""

from __future__ import annotations

import numpy as np
import pytest

from ropeaudit.checks.encodings import near_duplicate_plane as check
from ropeaudit.findings import Status
from tests.checks.encodings import by_hand as make


def pair(gap: float) -> list[tuple[float, float]]:
    return [(0.5, 0.25), (0.5 * (1 + gap), 0.25 * (1 + gap)), (0.1, 0.3), (0.2, 0.9)]


def test_both_clauses_count() -> None:
    near = make.only(check, make.mixed(pair(5e-3), (14, 14)))
    assert near.evidence["clusters"] == [[0, 0, [0, 1]]]
    assert near.evidence["smallest_distance"] == pytest.approx(5e-3 * np.hypot(0.5, 0.25), rel=1e-5)
    far = make.mixed(pair(9e-3), (40, 40))  # 0.2 rad apart at the far end
    assert make.only(check, far).status is Status.PASS
    assert make.only(check, make.mixed(pair(2e-2), (2, 2))).status is Status.PASS


def test_without_a_grid_it_is_unknown_and_says_what_to_state() -> None:
    found = make.only(check, make.mixed(pair(5e-3)))
    assert found.status is Status.UNKNOWN
    assert "grid=" in (found.fix or "")
    assert make.only(check, make.mixed(pair(2e-2))).status is Status.PASS
    assert make.only(check, make.mixed(pair(1e-7))).status is Status.FAIL  # over any distance


def test_the_slow_end_of_a_geometric_table_is_no_pair() -> None:
    slow = [1e6 ** (-k / 64) for k in range(64)]
    assert make.only(check, make.ape(make.generator(slow), length=512)).status is Status.PASS


def test_a_length_asked_for_decides() -> None:
    close = make.ape(make.generator([1.0, 0.5, 0.5005, 0.1]))
    assert make.only(check, close).status is Status.UNKNOWN
    assert make.only(check, close, lengths=(64,)).status is Status.FAIL
    assert make.only(check, close, lengths=(4096,)).status is Status.PASS


def test_equal_planes_trees_and_crossing_axes_are_left_to_others() -> None:
    assert make.only(check, make.mixed(pair(0.0), (14, 14))).status is Status.PASS
    tree = make.ape(make.generator([0.7, 0.2], 1), make.generator([0.7, 0.2], 2), branches=2)
    assert make.only(check, tree).status is Status.SKIP
    raw = np.random.default_rng(0).uniform(0, 6, (2, 1, 1, 8, 8))
    assert make.only(check, make.liere(raw)).status is Status.SKIP
