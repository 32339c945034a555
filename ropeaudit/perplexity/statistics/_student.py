"""Quantiles of Student's t, so that an interval needs no statistics package."""

from __future__ import annotations

import math
from functools import lru_cache


def two_sided(t: float, df: int) -> float:
    """Probability that ``|T| <= t`` for ``df`` degrees of freedom.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 (odd) and 26.7.4
    (even): finite sums for whole degrees of freedom.
    """
    angle = math.atan2(t, math.sqrt(df))
    cosine = math.cos(angle)
    odd = df % 2
    term = total = cosine if odd else 1.0
    for k in range(2 + odd, df - 1, 2):
        term *= (k - 1) / k * cosine**2
        total += term
    if odd:
        return 2 / math.pi * (angle + (math.sin(angle) * total if df > 1 else 0.0))
    return math.sin(angle) * total


@lru_cache(maxsize=64)
def quantile(df: int, level: float = 0.95) -> float:
    """The t with ``P(|T| <= t) = level``; by bisection, to the last bits of a float."""
    low, high = 0.0, 1.0
    while two_sided(high, df) < level:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        if two_sided(middle, df) < level:
            low = middle
        else:
            high = middle
    return high
