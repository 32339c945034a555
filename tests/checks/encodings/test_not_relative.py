"""RA707: commutators, and the defect over a grid against its definition."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ropeaudit.checks.encodings import not_relative as check
from ropeaudit.encodings import liere
from ropeaudit.findings import Severity, Status
from tests.checks.encodings import by_hand as make
from tests.encodings import layouts_liere
from tests.encodings.vectors import VECTORS

SO3 = VECTORS["liere_2d_noncommuting"]
STATS = VECTORS["liere_default_init_stats"]["by_block"]


def by_definition(encoding: object, grid: int) -> float:
    """The largest ||M(a)^T M(b) - M(a+s)^T M(b+s)||, all loops written out, in float64."""
    points = list(product(range(grid), repeat=2))
    step = np.array(encoding.positions.step)  # type: ignore[attr-defined]
    maps, _ = liere.operators(encoding, np.array(points) * step)  # type: ignore[arg-type]
    m = dict(zip(points, maps[:, 0, 0], strict=True))
    worst = 0.0
    for a, b in product(points, repeat=2):
        for s in product(range(-grid, grid), repeat=2):
            c, d = (a[0] + s[0], a[1] + s[1]), (b[0] + s[0], b[1] + s[1])
            if c in m and d in m:
                worst = max(worst, float(np.linalg.norm(m[a].T @ m[b] - m[c].T @ m[d])))
    return worst


@pytest.mark.parametrize(("block", "grid"), [(4, 3), (8, 2), (8, 4)])
def test_the_defect_is_that_of_the_definition(block: int, grid: int) -> None:
    encoding = make.liere(0.3 * layouts_liere.initial(block, layers=1, heads=1, head_dim=8))
    found = make.only(check, encoding, params=check.Params(grid=grid))
    expected = by_definition(encoding, grid)
    assert found.evidence["relativity_defect"] == pytest.approx(expected, rel=2e-4)
    assert found.evidence["grid"] == [grid, grid]


def test_the_pair_of_so3() -> None:
    raw = np.zeros((2, 1, 1, 3, 3))
    for axis, name in enumerate(("A0", "A1")):
        raw[axis, 0, 0] = np.triu(SO3[name], 1)
    found = make.only(check, make.liere(raw))
    assert found.severity is Severity.INFO
    assert found.evidence["commutator"] == pytest.approx(SO3["relative_commutator"], abs=1e-4)


@pytest.mark.parametrize("block", [4, 8, 16])
def test_the_mean_commutator_of_the_public_start(block: int) -> None:
    encoding = make.liere(layouts_liere.initial(block, layers=4, heads=1))
    found = make.only(check, encoding, params=check.Params(grid=2))
    assert 0.05 < found.evidence["commutator_mean"] < 0.4
    assert found.evidence["relativity_defect"] <= 2 * np.sqrt(64) + 1e-4


def test_what_commutes_is_exactly_relative() -> None:
    two = make.liere(layouts_liere.initial(2, layers=3, heads=1))
    one = make.liere(layouts_liere.initial(64, axes=1, layers=1, heads=1), (14,))
    dense = make.generator([1.0, 0.4, 0.2], 4)
    family = make.liere(np.triu(np.stack([dense, dense @ dense @ dense]), 1)[:, None, None])
    for encoding in (two, one, family, make.mixed([(1.0, 0.5)])):
        assert make.only(check, encoding).status is Status.PASS
    for encoding in (make.alibi(), make.jordan(bounded=16.0)):
        assert make.only(check, encoding).status is Status.SKIP
