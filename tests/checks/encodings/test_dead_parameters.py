"""RA713: parameters that nothing reads."""

from __future__ import annotations

import numpy as np
import pytest

from ropeaudit.checks.encodings import dead_parameters as check
from ropeaudit.findings import Severity, Status
from ropeaudit.records import replace
from tests.checks.encodings import by_hand as make
from tests.encodings.vectors import VECTORS

COUNTS = VECTORS["liere_param_count_vit_b"]


@pytest.mark.parametrize("block", [2, 4, 8, 16, 32, 64])
@pytest.mark.parametrize(("axes", "key"), [(2, "2d"), (3, "3d")])
def test_effective_numbers_of_vit_b(block: int, axes: int, key: str) -> None:
    encoding = make.liere(np.zeros((axes, 12, 12 * 64 // block, block, block)), (14,) * axes)
    found = make.only(check, encoding)
    assert found.severity is Severity.INFO
    assert found.evidence["effective"] == COUNTS[key][str(block)]
    stored = COUNTS["stored_2d"].get(str(block)) if axes == 2 else None
    assert stored is None or found.evidence["stored"] == stored


def test_layers_that_nobody_uses() -> None:
    raw = np.ones((2, 4, 1, 4, 4))
    settings = {"dead_layers": [1, 2, 3], "untouched_layers": [1, 2, 3], "layers_used": "first"}
    base = make.liere(raw)
    dead = replace(base, layers=None, settings={**base.settings, **settings})
    found = make.only(check, dead)
    assert (found.severity, found.evidence["effective"]) == (None, 2 * 6)
    assert "Layers 1-3 take no part and look as they were initialised" in found.message
    one = {**base.settings, **settings, "dead_layers": [1], "untouched_layers": [1]}
    single = make.only(check, replace(dead, settings=one))
    assert "Layer 1 takes no part and looks as it was initialised" in single.message
    own = replace(base, settings={**base.settings, "untouched_layers": [2]})
    assert "Layer 2 looks as initialised" in make.only(check, own).message


def test_branch_matrices_that_nobody_reads() -> None:
    five = [make.generator([0.7, 0.2], k) for k in range(5)]
    found = make.only(check, make.ape(*five, branches=2))
    assert found.evidence["dead_matrices"] == [2, 3, 4]
    assert found.evidence["effective"] == 2 * 6
    assert "Stored matrices 2-4" in found.message


def test_where_all_counts_or_nothing_is_stored() -> None:
    assert make.only(check, make.mixed([(1.0, 0.5)])).status is Status.PASS
    empty = replace(make.alibi(), parameters={})
    assert make.only(check, empty).status is Status.SKIP
