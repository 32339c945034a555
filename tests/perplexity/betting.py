"""A peer: the betting interval for sampling without replacement, which needs bounds beforehand.

Source: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, Journal of
the Royal Statistical Society B 86 (2024): hedged capital with predictable plug-in bets, and the
conditional means of sampling without replacement. The candidates stand on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

ALPHA = 0.05
GRID = 2000
TRUNCATION = 0.5


def intervals(order: Sequence[float], low: float, high: float) -> Iterator[tuple[float, float]]:
    """For the mean of all ``order``, after each of its values, all known to lie in [low, high]."""
    count, wide = len(order), high - low
    candidates = (np.arange(GRID) + 0.5) / GRID
    up, down = np.zeros(GRID), np.zeros(GRID)
    alive = np.ones(GRID, dtype=bool)
    seen, squares, mean, variance = 0.0, 0.25, 0.5, 0.25
    for t, value in enumerate(order, 1):
        x = (value - low) / wide
        left = (count * candidates - seen) / (count - t + 1)
        alive &= (left >= 0) & (left <= 1)
        left = np.clip(left, 1e-9, 1 - 1e-9)
        bet = math.sqrt(2 * math.log(2 / ALPHA) / (variance * t * math.log(t + 1)))
        up += np.log1p(np.minimum(bet, TRUNCATION / left) * (x - left))
        down += np.log1p(-np.minimum(bet, TRUNCATION / (1 - left)) * (x - left))
        alive &= np.maximum(up, down) + math.log(0.5) < math.log(1 / ALPHA)
        seen += x
        mean = (0.5 + seen) / (t + 1)
        squares += (x - mean) ** 2
        variance = squares / (t + 1)
        kept = candidates[alive]
        ends = (kept[0], kept[-1]) if len(kept) else (mean, mean)
        yield low + wide * (ends[0] - 0.5 / GRID), low + wide * (ends[1] + 0.5 / GRID)
