"""RA721: half-lives against the context and against one position."""

from __future__ import annotations

import math

import pytest

from ropeaudit.checks.encodings import alibi_half_life as check
from ropeaudit.encodings import _alibi
from ropeaudit.findings import Severity, Status
from tests.checks.encodings import by_hand as make


@pytest.mark.parametrize("heads", [1, 2, 3, 8, 12, 16, 20, 32, 71, 112])
@pytest.mark.parametrize("length", [512, 2048, 8192])
def test_the_published_slopes_are_silent_at_any_length_in_use(heads: int, length: int) -> None:
    slopes = _alibi.slopes(heads)
    assert make.only(check, make.alibi(slopes, length)).status is Status.PASS
    assert max(map(_alibi.half_life, slopes)) < 178


def test_heads_beyond_the_context_are_information_and_all_of_them_a_warning() -> None:
    # 2^-2 .. 2^-16: half-lives 2.8, 11.1, 44.4, 177, 710, 2839, 11357, 45426
    slow = _alibi.slopes(8, 16.0)
    found = make.only(check, make.alibi(slow, 2048))
    assert (found.status, found.severity) == (Status.FAIL, Severity.INFO)
    assert found.evidence["beyond"] == [[None, h] for h in (5, 6, 7)]
    assert found.evidence["half_life"] == pytest.approx(
        [math.log(2) * 4, math.log(2) * 65536], rel=1e-5
    )
    assert make.only(check, make.alibi(slow, 65536)).status is Status.PASS
    flat = make.only(check, make.alibi([2.0**-16] * 2, 2048))
    assert (flat.status, flat.severity) == (Status.FAIL, None)
    assert "No head halves" in flat.message


def test_the_limit_is_the_largest_distance() -> None:
    slope = math.log(2) / 100.0
    for length, status in ((101, Status.PASS), (100, Status.FAIL)):
        assert make.only(check, make.alibi([slope, 0.5], length)).status is status
    asked = make.only(check, make.alibi([slope, 0.5], 50), lengths=(200,))
    assert asked.status is Status.PASS


def test_a_bias_that_shows_only_neighbours() -> None:
    found = make.only(check, make.alibi([0.9, 0.7], None))
    assert (found.status, found.severity) == (Status.FAIL, None)
    assert found.evidence["below_one_count"] == 2
    assert make.only(check, make.alibi([0.9, 0.6], 64)).status is Status.PASS


def test_what_is_not_judged() -> None:
    assert make.only(check, make.alibi(length=None)).status is Status.SKIP
    assert make.only(check, make.alibi([0.5, 0.0], 64)).status is Status.SKIP
    assert make.only(check, make.mixed([(1.0, 0.5)])).status is Status.SKIP
