"""The parameters of a llama3 table.

Only high/low and original/low show: a common factor of the three cancels. ``low_freq_factor`` is
taken as 1, as every published config has it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from ropeaudit.records import replace
from ropeaudit.schedule.fit.cells import UNIT, Cells
from ropeaudit.schedule.fit.decimals import decimals, lengths
from ropeaudit.schedule.fit.guess import Guess, Match, first_fit
from ropeaudit.schedule.fit.ramps import Interval, Shape, meet

LOW = 1.0
_CUSTOM = (4.0, 2.0, 8.0, 3.0)
"""high/low where the table leaves it open; published configs have the first."""
_TRIES = 24


def llama3(found: Cells, shape: Shape, tolerance: float) -> Match | None:
    """The first candidate, the customary bounds first, that reproduces the table."""
    return first_fit(islice(_candidates(shape), _TRIES), found, tolerance)


def _candidates(shape: Shape) -> Iterator[Guess]:
    for high, slow in _bounds(shape):
        whole = replace(shape, slow=slow)
        for factor in decimals(1 / slow[1], 1 / slow[0], 2) if slow[0] > 0 else ():
            for original in lengths(*_originals(whole, high), 2):
                yield Guess(
                    rope_type="llama3",
                    rope_theta=shape.base,
                    rotary_dim=2 * len(shape.plain),
                    parameters={
                        "factor": factor,
                        "low_freq_factor": LOW,
                        "high_freq_factor": high,
                        "original_max_position_embeddings": original,
                    },
                )


def _bounds(shape: Shape) -> Iterator[tuple[float, Interval]]:
    """high/low with the ratio of the slow end, which a band that goes on does not show.

    Ratios of the band lie on a line over the frequency; where it meets zero frequency it is
    ``slow - (1 - slow) / (high - 1)``.
    """
    if shape.finished:
        yield from ((high, shape.slow) for high in _highs(shape))
        return
    if len(shape.inside) < 2:
        return
    line = _line(shape, [shape.blend(k) for k in shape.inside])
    for high in _CUSTOM:
        share = 1 / (high - LOW)
        slow = (line[0] + share) / (1 + share), (line[1] + share) / (1 + share)
        if slow[1] > 0:
            yield high, (max(slow[0], 1e-9), slow[1])


def _line(shape: Shape, heights: list[Interval]) -> Interval:
    """Where the line through the first and last channel in between meets zero frequency."""
    x, y = shape.plain[shape.inside[0]], shape.plain[shape.inside[-1]]
    (a, b), (c, d) = heights[0], heights[-1]
    least, most = (a - d) / (x - y), (b - c) / (x - y)
    return c - most * y, d - least * y


def _smooth(shape: Shape, k: int) -> Interval:
    """Bounds on the share of the plain frequency: (ratio - slow) / (1 - slow)."""
    (a, b), (c, d) = shape.blend(k), shape.slow
    return (a - d) / (1 - d), (b - c) / (1 - c)


def _highs(shape: Shape) -> list[float]:
    """high/low: shares lie on a line that meets zero frequency at -1 / (high - 1)."""
    if not shape.inside:
        return [LOW]
    if len(shape.inside) == 1:
        return list(_CUSTOM)
    low, top = _line(shape, [_smooth(shape, k) for k in shape.inside])
    if low >= 0:
        return []
    bounds = 1 - 1 / low, 1 - 1 / top if top < 0 else 1e3
    custom = [h for h in _CUSTOM[:1] if bounds[0] <= h <= bounds[1]]
    return list(dict.fromkeys((*custom, *decimals(*bounds, 3))))


def _originals(shape: Shape, high: float) -> Interval:
    """Lengths that put every channel where it is: kept, divided, or at its share between."""
    two_pi = 2 * math.pi
    edge = 1 + 2.0**-7 if shape.inside else 1 + 4 * UNIT
    low, top = 0.0, math.inf
    if shape.kept:
        low = high * two_pi / shape.plain[shape.kept - 1] / edge
    if shape.finished:
        top = LOW * two_pi / shape.plain[shape.divided] * edge
    for k in shape.inside:
        a, b = _smooth(shape, k)
        bounds = [(s * (high - LOW) + LOW) * two_pi / shape.plain[k] for s in (a, b)]
        both = meet((low, top), (bounds[0], bounds[1]))
        if both is None:
            return (1.0, 0.0)
        low, top = both
    return low, top
