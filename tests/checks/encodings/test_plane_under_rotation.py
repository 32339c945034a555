"""RA711: counts of planes without a whole turn, axis by axis."""

from __future__ import annotations

import math

import numpy as np

from ropeaudit.checks.encodings import plane_under_rotation as check
from ropeaudit.findings import Status
from tests.checks.encodings import by_hand as make
from tests.encodings.vectors import VECTORS


def test_ten_of_sixteen_magnitudes_of_the_public_start_never_turn() -> None:
    start = np.array(VECTORS["rope_mixed_init"]["mag"])
    along = make.mixed([(m, 0.0) for m in start], (14, 14))
    found = make.only(check, along)
    assert found.evidence["under_rotated"] == {"x": 10, "y": 0}
    assert found.evidence["planes"] == {"x": 16, "y": 0}


def test_the_count_is_that_of_the_definition() -> None:
    w = np.random.default_rng(0).uniform(0.05, 2.0, (40, 2))
    found = make.only(check, make.mixed(w, (9, 30)))
    short = {"x": int((w[:, 0] * 29 < 2 * math.pi).sum()),
             "y": int((w[:, 1] * 8 < 2 * math.pi).sum())}  # fmt: skip
    assert found.evidence["under_rotated"] == short


def test_lengths_and_absence() -> None:
    fast = make.ape(make.generator([1.0, 0.5]))
    assert make.only(check, fast).status is Status.SKIP
    assert make.only(check, fast, lengths=(4096,)).status is Status.PASS
    assert make.only(check, fast, lengths=(8,)).evidence["under_rotated"] == {"p": 1}
