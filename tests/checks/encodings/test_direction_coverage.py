"""RA720: heads whose planes all turn with one direction."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks.encodings import direction_coverage as check
from ropeaudit.checks.encodings._look import Look
from ropeaudit.encodings.core import Encoding
from ropeaudit.findings import Status
from ropeaudit.records import replace
from tests.checks.encodings import by_hand as make
from tests.encodings import layouts_liere, layouts_rope_vit
from tests.encodings.vectors import VECTORS

RNG = np.random.default_rng(0)


def fan(degrees: float, middle: float = 0.0, count: int = 16) -> np.ndarray:
    """Planes whose directions fill ``degrees`` to both sides of ``middle``."""
    angle = np.radians(middle + np.linspace(-degrees, degrees, count))
    size = RNG.uniform(0.05, 1.0, count) * RNG.choice([-1.0, 1.0], count)
    return np.stack([size * np.cos(angle), size * np.sin(angle)], -1)


def by_definition(vectors: np.ndarray) -> float:
    """The largest arc of directions, modulo pi, that holds none of them."""
    angles = sorted(math.atan2(y, x) % math.pi for x, y in vectors)
    return max(b - a for a, b in zip(angles, [*angles[1:], angles[0] + math.pi], strict=True))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.01, 3.0), st.floats(0.0, 6.28)), min_size=1, max_size=9),
    st.floats(0.0, 3.1),
)
def test_the_gap_is_the_definition_and_does_not_turn_with_the_image(
    polar: list[tuple[float, float]], turn: float
) -> None:
    vectors = np.array([(r * math.cos(a), r * math.sin(a)) for r, a in polar])
    turns = np.ones((1, 1, len(vectors)), dtype=bool)
    gap, middle = check.gaps(vectors[None, None], turns)
    assert gap[0, 0] == pytest.approx(by_definition(vectors), abs=1e-9)
    e = np.array([math.cos(middle[0, 0]), math.sin(middle[0, 0])])
    nearest = np.abs(vectors @ e / np.linalg.norm(vectors, axis=-1)).max()
    assert nearest == pytest.approx(math.cos(gap[0, 0] / 2), abs=1e-7)
    c, s = math.cos(turn), math.sin(turn)
    again, _ = check.gaps((-vectors @ np.array([[c, s], [-s, c]]))[None, None], turns)
    assert again == pytest.approx(gap, abs=1e-9)


def test_planes_that_stand_still_have_no_say() -> None:
    vectors = np.concatenate([fan(3.0), [(0.0, 0.0), (0.0, 1e-4)]])
    assert make.only(check, make.mixed(vectors)).status is Status.FAIL
    vectors[-1, 1] = 0.1
    assert make.only(check, make.mixed(vectors)).status is Status.PASS


@pytest.mark.parametrize(
    ("middle", "words"), [(0.0, "along y"), (90.0, "along x"), (40.0, "along (x, y)")]
)
def test_within_five_degrees_of_one_direction(middle: float, words: str) -> None:
    narrow = make.only(check, make.mixed([fan(90.0), fan(4.9, middle)]))
    assert narrow.status is Status.FAIL
    assert narrow.evidence["heads"] == [[0, 1]]
    assert "layer 0, head 1 hardly turns" in narrow.message
    assert words in narrow.message
    assert narrow.evidence["largest_gap"] == {"x, y": pytest.approx(170.2, abs=0.01)}
    assert make.only(check, make.mixed([fan(5.1, middle)])).status is Status.PASS
    wider = check.Params(degrees=6.0)
    assert make.only(check, make.mixed([fan(5.1, middle)]), params=wider).status is Status.FAIL


def test_a_quarter_turn_across_the_grid_is_seen() -> None:
    vectors = np.array([(2.0, 0.1), (1.0, -0.05), (0.5, 0.02)])  # 2.9 degrees
    for steps, status in ((16, Status.FAIL), (17, Status.PASS)):  # 0.1 * 15 < pi / 2 < 0.1 * 16
        found = make.only(check, make.mixed(vectors, (99, steps)[::-1]))
        assert found.status is status
    found = make.only(check, make.mixed(vectors, (16, 99)))
    assert found.evidence["turn"] == pytest.approx(1.5, rel=0.01)
    assert "1.5 rad at most along y across the grid" in found.message


def test_more_axes_and_the_axis_that_is_missed() -> None:
    w = RNG.uniform(0.1, 1.0, (16, 3)) * (1.0, 1.0, 0.01)
    raw = np.zeros((3, 1, 16, 2, 2))
    raw[:, 0, :, 0, 1] = w.T
    blocks = make.liere(raw, (4, 14, 14))
    video = replace(blocks, axes=("t", "y", "x"))
    found = make.only(check, video)
    assert found.status is Status.FAIL
    assert found.evidence["unseen"] == [0.0, 0.0, 1.0]
    assert "along x" in found.message
    assert set(found.evidence["largest_gap"]) == {"t, y", "t, x", "y, x"}
    raw[2] *= 30
    healthy = replace(make.liere(raw, (4, 14, 14)), axes=("t", "y", "x"))
    assert make.only(check, healthy).status is Status.PASS


def test_public_starts_are_healthy_and_have_the_gaps_that_are_known() -> None:
    start = VECTORS["rope_mixed_init"]
    assert start["mag"][0] == 1.0
    drawn = layouts_rope_vit.drawn(64, layouts_rope_vit.directions(12, 12))
    mixed = make.mixed(np.moveaxis(drawn.reshape(2, -1, 32), 0, -1), (14, 14))
    assert make.only(check, mixed).status is Status.PASS
    assert check.largest_gaps(Look(mixed)) == {"x, y": pytest.approx(90.0, abs=1e-3)}
    blocks = make.liere(layouts_liere.initial(2, layers=12, heads=12))
    assert make.only(check, blocks).status is Status.PASS
    assert 90.0 < check.largest_gaps(Look(blocks))["y, x"] < 120.0


def axial() -> Encoding:
    return replace(make.mixed([(1.0, 0.0), (0.5, 0.0), (0.0, 1.0)]), kind="rope-axial")


def test_what_is_not_judged() -> None:
    dense = make.liere(layouts_liere.initial(8, layers=1, heads=1))
    others = [make.ape(make.generator([1.0, 0.5])), make.alibi(), axial(), dense]
    for encoding in others:
        assert make.only(check, encoding).status is Status.SKIP
    assert make.only(check, make.mixed([(1.0, 0.0)])).status is Status.PASS  # a single plane
