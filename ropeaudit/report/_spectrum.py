"""A row of blocks that shows a table against the lengths in use.

Channels are laid out by wavelength (2 pi / theta) on a logarithmic axis; the height of a block is
how densely they stand there, so a geometric table is a flat band, a stretched one sinks, and equal
channels are a spike. A mark stands where a full turn fits a length exactly: what lies right of it
never completes a turn there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import pairwise

from ropeaudit.records import record
from ropeaudit.schedule.geometry import TWO_PI

_MOST = math.log(sys.float_info.max)
_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII_BLOCKS = ".:-=+*#@"
_TYPICAL = 4
"""The level of a channel spacing that is the table's mean."""


@record()
class Column:
    """One cell: its sign, and whether its channels complete a turn within the first length.

    ``mark`` is the index of the length that stands here, None for a block.
    """

    sign: str
    turning: bool
    mark: int | None = None


@record()
class Spectrum:
    """``columns`` from the shortest wavelength to the longest, which are given in positions.

    ``static`` counts channels that never turn (frequency 0) and have no place on the axis.
    """

    columns: tuple[Column, ...]
    shortest: float
    longest: float
    static: int


def spectrum(
    values: Sequence[float], lengths: Sequence[int], cells: int, *, unicode: bool = True
) -> Spectrum | None:
    """The picture of a table in ``cells`` blocks and a mark a length; None when nothing turns.

    ``values``: radians per position; ``lengths``: positions, those to be marked, the one that
    dims what is right of it first.
    """
    logs = sorted(math.log(TWO_PI) - math.log(v) for v in map(abs, values) if 0 < v < math.inf)
    if not logs or cells < 4:
        return None
    ends = [logs[0], logs[-1], *map(math.log, lengths)]
    low, high = min(ends), max(ends)
    size = max(high - low, 1e-9) / cells
    heights = _density(logs, low, size, cells)
    typical = len(logs) / max(1, sum(h > 0 for h in heights))
    at: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        edge = min(cells, math.ceil((math.log(length) - low) / size - 1e-9))
        at.setdefault(edge, []).append(index)
    edge = next((cell for cell, marks in at.items() if 0 in marks), cells)
    columns: list[Column] = []
    blocks = _BLOCKS if unicode else _ASCII_BLOCKS
    for cell in range(cells + 1):
        columns += [Column("│" if unicode else "|", cell <= edge, k) for k in at.get(cell, ())]
        if cell < cells:
            level = min(len(blocks), math.ceil(heights[cell] / typical * _TYPICAL - 0.1))
            sign = blocks[max(level, 1) - 1] if heights[cell] else " "
            columns.append(Column(sign, cell < edge))
    # A float64 table may hold denormals, whose wavelength no float64 holds.
    shortest, longest = (math.exp(v) if v < _MOST else math.inf for v in (low, high))
    return Spectrum(tuple(columns), shortest, longest, sum(v == 0 for v in values))


def _density(logs: Sequence[float], low: float, size: float, cells: int) -> list[float]:
    """Channels per cell, each spread evenly over the stretch that is nearer to it than to others.

    Without the spreading, a geometric table would show a beat between channels and cells.
    """
    middles = [(a + b) / 2 for a, b in pairwise(logs)]
    heights = [0.0] * cells
    for k, at in enumerate(logs):
        # The outermost channels reach as far out as in; what lies beyond the axis is not drawn.
        after = middles[k] if k < len(middles) else None
        before = middles[k - 1] if k else (at if after is None else 2 * at - after)
        first, last = before, 2 * at - before if after is None else after
        start = max(0, min(cells - 1, int((first - low) / size)))
        stop = max(0, min(cells - 1, int((last - low) / size)))
        if not last > first:
            heights[start] += 1
            continue
        for cell in range(start, stop + 1):
            left, right = max(first, low + cell * size), min(last, low + (cell + 1) * size)
            heights[cell] += max(0.0, right - left) / (last - first)
    return heights
