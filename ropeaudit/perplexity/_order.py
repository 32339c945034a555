"""In which order a cell's windows are scored, and in which portions."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from ropeaudit.perplexity.records import Window

FIRST = 8
"""Windows of the first block: no cell stops before that many (``statistics.sequence.LEAST``)."""
LEAST = 4
"""Windows of a later block; a block is at least a quarter of what precedes it."""


def shuffled(windows: Sequence[Window], seed: int) -> tuple[Window, ...]:
    """The windows in a random order without replacement, the same for every cell of a run.

    By digests of seed, length and index, so that no version of a random generator plays a part. A
    run that is cut short has thus scored a sample of the whole text.
    """
    return tuple(
        sorted(windows, key=lambda w: sha256(f"{seed} {w.length} {w.index}".encode()).digest())
    )


def blocks(windows: Sequence[Window]) -> tuple[tuple[Window, ...], ...]:
    """Portions that are scored and kept together, in order.

    They depend on nothing but the number of windows: a resumed run batches the same windows as an
    uninterrupted one, so that not even rounding differs.
    """
    found, at = [], 0
    while at < len(windows):
        size = max(LEAST, at // 4) if at else FIRST
        found.append(tuple(windows[at : at + size]))
        at += size
    return tuple(found)
