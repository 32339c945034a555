"""RA706: more than half a turn per step."""

from __future__ import annotations

import numpy as np
import pytest

from ropeaudit.checks.encodings import step_alias as check
from ropeaudit.findings import Status
from tests.checks.encodings import by_hand as make
from tests.encodings import layouts_liere
from tests.encodings.vectors import VECTORS


def test_the_step_of_a_grid_decides() -> None:
    limit = VECTORS["aliasing"]["liere_step"]["nyquist_freq_per_unit_position"]
    for factor, status in ((0.99, Status.PASS), (1.01, Status.FAIL)):
        raw = np.zeros((2, 1, 1, 2, 2))
        raw[0, 0, 0, 0, 1] = factor * limit
        assert make.only(check, make.liere(raw)).status is status
    larger = VECTORS["aliasing"]["liere_step"]["n=28"]
    raw[0, 0, 0, 0, 1] = 0.99 * larger
    assert make.only(check, make.liere(raw, (14, 14))).status is Status.FAIL
    assert make.only(check, make.liere(raw, (14, 14), (28, 28))).status is Status.PASS


@pytest.mark.parametrize(("grid", "rad"), [(8, 18.5), (14, 10.0)])
def test_large_blocks_of_liere_start_aliased(grid: int, rad: float) -> None:
    raw = layouts_liere.initial(64, layers=2, heads=1)
    found = make.only(check, make.liere(raw, (grid, grid)))
    assert found.evidence["largest_step"] == pytest.approx(rad, rel=0.05)
    assert found.evidence["heads"] == 2


def test_evidence_names_axis_and_plane() -> None:
    found = make.only(check, make.mixed([(0.1, 0.1), (0.2, -4.0), (4.5, 0.1)]))
    assert found.evidence["by_axis"] == {"x": 1, "y": 1}
    assert (found.evidence["axis"], found.evidence["fastest"]) == ("x", [0, 0, 2])
    assert found.evidence["planes"] == 2


def test_text_and_bias_are_silent() -> None:
    assert make.only(check, make.ape(make.generator([1.0, 0.1]))).status is Status.PASS
    assert make.only(check, make.alibi()).status is Status.SKIP
