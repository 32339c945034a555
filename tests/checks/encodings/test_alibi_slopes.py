"""RA715: slopes of an additive bias."""

from __future__ import annotations

import math

import pytest

from ropeaudit.checks.encodings import alibi_slopes as check
from ropeaudit.encodings import _alibi
from ropeaudit.findings import Status
from tests.checks.encodings import by_hand as make


@pytest.mark.parametrize("heads", [1, 2, 3, 8, 12, 20, 40, 71, 112])
def test_the_published_rule_passes_for_any_number_of_heads(heads: int) -> None:
    assert make.only(check, make.alibi(_alibi.slopes(heads))).status is Status.PASS


def test_slopes_that_do_not_fall_and_equal_ones() -> None:
    found = make.only(check, make.alibi((0.5, 0.0, -0.25)))
    assert found.evidence["heads"] == [[None, 1], [None, 2]]
    assert "-0.25" in found.message
    found = make.only(check, make.alibi((0.5, 0.25, 0.5, 0.125)))
    assert found.evidence["clusters"] == [[None, [0, 2]]]
    half = [math.log(2) / 0.5, math.log(2) / 0.125]
    assert found.evidence["half_life"] == pytest.approx(half, rel=1e-5)


def test_others_add_nothing() -> None:
    assert make.only(check, make.mixed([(1.0, 0.5)])).status is Status.SKIP
    assert make.only(check, make.jordan()).status is Status.SKIP
