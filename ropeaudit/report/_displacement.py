"""Two rows of blocks that show where along the spectrum two tables part, and by how much.

Channels are laid out by the wavelength they have in A, shortest first, on a logarithmic axis. The
first row is the log distance against its largest, the second the phase drift against pi. A channel
that was stopped or dropped has no finite log distance and fills its block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ropeaudit.records import record
from ropeaudit.schedule.geometry import TWO_PI

if TYPE_CHECKING:
    from ropeaudit.diff.interface import Channel

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII_BLOCKS = ".:-=+*#@"


@record()
class Displacement:
    """``log`` and ``drift`` have a sign a cell, equally many; ``axis`` holds the two wavelengths
    and a mark where a full turn fits the context. ``still``: channels without a wavelength."""

    log: str
    drift: str
    axis: str
    still: int


def displacement(
    channels: Sequence[Channel],
    length: int,
    cells: int,
    ends: Callable[[float], str],
    *,
    unicode: bool = True,
    tolerance: int = 0,
) -> Displacement | None:
    """The picture in ``cells`` blocks; None when no channel turns. ``ends`` writes a wavelength."""
    found = [(_log_wavelength(c), c) for c in channels]
    placed = sorted(((at, c) for at, c in found if at is not None), key=lambda pair: pair[0])
    if not placed or cells < 8:
        return None
    low, high = placed[0][0], placed[-1][0]
    size = max(high - low, 1e-9) / cells
    largest = max((_finite(c.dlog) for _, c in placed), default=0.0)
    log, drift, at = [], [], 0
    blocks = _BLOCKS if unicode else _ASCII_BLOCKS
    for cell in range(cells):
        middle = low + (cell + 0.5) * size
        while at + 1 < len(placed) and abs(placed[at + 1][0] - middle) <= abs(
            placed[at][0] - middle
        ):
            at += 1
        inside = [c for where, c in placed if abs(where - middle) <= size / 2] or [placed[at][1]]
        moved = [c for c in inside if c.ulp is None or c.ulp > tolerance]
        log.append(blocks[max((_level(_finite(c.dlog), largest) for c in moved), default=0)])
        drift.append(blocks[max((_level(c.phase_drift, math.pi) for c in moved), default=0)])
    axis = _axis(low, high, length, cells, ends, "│" if unicode else "|")
    return Displacement("".join(log), "".join(drift), axis, len(channels) - len(placed))


def _log_wavelength(channel: Channel) -> float | None:
    for value in (channel.a, channel.b):
        if value is not None and 0 < abs(value) < math.inf:
            return math.log(TWO_PI) - math.log(abs(value))
    return None


def _finite(dlog: float) -> float:
    return abs(dlog) if math.isfinite(dlog) else math.inf


def _level(value: float, largest: float) -> int:
    """0 for nothing, then 1 to 7."""
    if not value > 0:
        return 0
    if value == math.inf or largest in (0.0, math.inf):
        return 7 if value == math.inf else 1
    return max(1, min(7, math.ceil(7 * value / largest)))


def _axis(
    low: float, high: float, length: int, cells: int, ends: Callable[[float], str], mark: str
) -> str:
    left, right = ends(math.exp(low)), ends(math.exp(min(high, 700.0)))
    row = list(left + " " * max(1, cells - len(left) - len(right)) + right)
    share = (math.log(length) - low) / max(high - low, 1e-9)
    at = round(share * (cells - 1))
    if 0 <= at < len(row) and row[at] == " ":
        row[at] = mark
    return "".join(row)
