"""RA704: the public initialisation of APE is recognised, also after its fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ropeaudit.checks.encodings import duplicate_plane, near_duplicate_plane
from ropeaudit.checks.encodings import inherited_twins as check
from ropeaudit.findings import Status
from ropeaudit.resolve import resolve
from tests.checks.encodings import by_hand as make
from tests.encodings.vectors import VECTORS

FITTED = Path(__file__).parents[3] / "fixtures" / "encodings" / "ape_sequence_fitted.safetensors"
ANGLES = np.array(VECTORS["ape_repo_init_angles"]["angles"])


@pytest.mark.parametrize("split", [0.0, 1e-7, 1.68e-5])
def test_twins_are_told_once_and_by_this_rule(split: float) -> None:
    angles = ANGLES + split * np.minimum(1, ANGLES * 300) * (np.arange(32) % 2)
    encoding = make.ape(make.generator(angles, 1), make.generator(angles, 2), length=512)
    found = make.only(check, encoding)
    assert found.evidence["max_cluster"] == VECTORS["ape_repo_init_angles"]["max_cluster"]
    assert found.evidence["head_count"] == 2
    assert found.evidence["pairs"] == VECTORS["ape_repo_init_angles"]["distinct"]
    for other in (duplicate_plane, near_duplicate_plane):
        assert make.only(other, encoding).status is Status.PASS


def test_one_head_of_several() -> None:
    plain = np.array(VECTORS["ape_repo_init_angles"]["true_rope_angles"])
    encoding = make.ape(make.generator(plain), make.generator(ANGLES))
    assert make.only(check, encoding).evidence["heads"] == [[None, 1]]
    assert make.only(check, make.ape(make.generator(plain))).status is Status.PASS


def test_some_pairs_may_part_and_half_may_not() -> None:
    angles = ANGLES.copy()
    angles[1] = 0.7
    encoding = make.ape(make.generator(angles), length=512)
    assert make.only(check, encoding).evidence["pairs"] == 15
    assert make.only(duplicate_plane, encoding).status is Status.PASS
    angles[1::2] *= 1 + 0.5 * (np.arange(16) < 9)
    parted = make.ape(make.generator(angles), length=512)
    assert make.only(check, parted).status is Status.PASS
    assert make.only(duplicate_plane, parted).evidence["cluster_count"] == 7


def test_the_public_fit_is_recognised() -> None:
    """10,000 steps of AdamW, as the public code runs them; the slowest twins are far apart."""
    (encoding,) = resolve(str(FITTED)).encodings
    assert make.only(check, encoding).evidence["head_count"] == 2
    assert make.only(duplicate_plane, encoding).status is Status.PASS


def test_trees_start_the_same_way() -> None:
    branches = make.generator(ANGLES, 1), make.generator(ANGLES, 2)
    assert make.only(check, make.ape(*branches, branches=2)).status is Status.FAIL
    assert make.only(check, make.mixed([(1.0, 0.0), (1.0, 0.0)])).status is Status.SKIP
