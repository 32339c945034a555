"""Every law in turn, the simplest first, until one reproduces the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise

from ropeaudit.records import record
from ropeaudit.schedule.fit.cells import Cells, cells, grids
from ropeaudit.schedule.fit.decimals import digits
from ropeaudit.schedule.fit.geometric import divided, ladder, padded
from ropeaudit.schedule.fit.guess import ENGINES, Guess, Match, match
from ropeaudit.schedule.fit.llama3 import llama3
from ropeaudit.schedule.fit.ramps import shapes
from ropeaudit.schedule.fit.yarn import FAST, yarn

_SHAPES = 12
_SHORT = 9, math.inf
"""Digits of all parameters together below which no other base is tried."""
MAX_LADDERS = 8
_ODD = 2
"""Digits that the base over an odd width must save."""


@record()
class Found:
    """``matches``: laws that reproduce the table, the preferred one first; ``cells``: the table in
    the format that it shows.
    """

    cells: Cells
    matches: tuple[Match, ...]


def search(values: Sequence[float], dtype: str, tolerance: float) -> Found:
    """Laws for a table of finite values that are not negative; ``tolerance`` in float32 steps."""
    first: Found | None = None
    for grid in grids(values, dtype):
        table = cells(values, grid)
        found = Found(table, tuple(_laws(table, tolerance)))
        if found.matches:
            return found
        first = first or found
    assert first is not None  # there is always a format
    return first


def _laws(table: Cells, tolerance: float) -> Iterator[Match]:
    single = (
        _either(table, lambda dim: ladder(table, (dim,), tolerance))
        or _single(padded(table, tolerance))
        or _either(table, lambda dim: divided(table, dim, tolerance))
    )
    if single:
        yield from single
    elif all(a >= b for a, b in pairwise(table.values)):
        yield from _scaled(table, tolerance)


def _single(found: Match | None) -> list[Match]:
    return [] if found is None else [found]


def _either(table: Cells, law: Callable[[int], Match | None]) -> list[Match]:
    """The match over the even width, and over the odd one where its base is far shorter.

    An odd width has as many channels as the even one above it: a partial rotary factor makes 21
    dimensions turn in 11 channels. Behind a narrow format a short base may be chance.
    """
    width = 2 * len(table.values)
    even = law(width)
    count = 0 if even is None else digits(even.guess.rope_theta)
    if even is None or count <= _ODD:
        return _single(even)
    odd = law(width - 1)
    if odd is None or digits(odd.guess.rope_theta) > min(3, count - _ODD):
        return [even]
    return [even, odd] if table.narrow else [odd, even]


def _scaled(table: Cells, tolerance: float) -> list[Match]:
    """yarn and llama3, the best of each: a table without a ramp between is both."""
    found: dict[str, Match] = {}
    for shape in islice(shapes(table, tolerance), _SHAPES):
        for law in (yarn, llama3):
            tried = law(table, shape, tolerance)
            if tried is not None:
                known = found.get(tried.guess.rope_type)
                if known is None or _rank(tried) < _rank(known):
                    found[tried.guess.rope_type] = tried
        if any(_rank(m) <= (False, *_SHORT) for m in found.values()):
            break
    return sorted(found.values(), key=_rank)


def _rank(found: Match) -> tuple[bool, int, float]:
    """Engine's own tables first, then the ones with short, customary parameters."""
    given = found.guess.parameters
    cost = digits(found.guess.rope_theta) + digits(given["factor"])
    original = given["original_max_position_embeddings"]
    cost += 1 if original == 2.0 ** round(math.log2(original)) else digits(original)
    for key, usual in (("beta_fast", FAST), ("high_freq_factor", 4.0), ("truncate", True)):
        if given.get(key, usual) != usual:
            cost += 1 + digits(given[key])
    return found.max_ulp > ENGINES, cost, found.max_ulp


def axes(table: Cells, tolerance: float) -> Match | None:
    """Ladders of one base behind each other, one for each coordinate of an image or a video."""
    starts = [0, *(k for k, (a, b) in enumerate(pairwise(table.values), 1) if b >= a)]
    widths = [2 * (b - a) for a, b in pairwise([*starts, len(table.values)])]
    if not 2 <= len(widths) <= MAX_LADDERS:
        return None
    return ladder(table, widths, tolerance)


def dealt(table: Cells, tolerance: float) -> Match | None:
    """One ladder whose channels were dealt to two coordinates: ``axial_dealt`` or ``ernie_3d``."""
    channels = len(table.values)
    ranked = sorted(range(channels), key=lambda k: -table.values[k])
    ordered = ladder(table.part(ranked), (2 * channels,), tolerance)
    if ordered is None:
        return None
    plane = channels
    while plane and ranked[plane - 1] == plane - 1:
        plane -= 1
    given = {}
    if plane < channels:
        given["mrope_section"] = [plane - plane // 2, plane // 2, channels - plane]
    guess = Guess(
        rope_type="ernie_3d" if given else "axial_dealt",
        rope_theta=ordered.guess.rope_theta,
        rotary_dim=2 * channels,
        parameters=given,
    )
    tried = match(guess, table, max(ENGINES, ordered.max_ulp))
    return tried if tried is not None and tried.fits else None
