"""Roots of integers, exactly."""

from __future__ import annotations

import math


def iroot(value: int, degree: int) -> int:
    """The largest integer x >= 0 with ``x ** degree <= value``; value >= 0, degree >= 1.

    Newton's iteration from above, which falls until it has reached the root.
    """
    if degree == 1 or value < 2:
        return value
    if degree == 2:
        return math.isqrt(value)
    length = value.bit_length()
    if length <= degree:
        return 1
    x = _above(value, length, degree)
    while True:
        y = ((degree - 1) * x + value // x ** (degree - 1)) // degree
        if y >= x:
            return x
        x = y


def _above(value: int, length: int, degree: int) -> int:
    """A start at or above the root: 40 good bits save Newton's iteration its slow first steps."""
    shift = max(length - 64, 0)
    log = (math.log2(value >> shift) + shift) / degree
    if log < 40:
        return int(2.0**log * (1 + 2.0**-20)) + 2
    whole = int(log) - 40
    guess = (int(2.0 ** (log - whole)) + 2) << whole
    # The float logarithm of a root of very many bits is too coarse; any power of two will do then.
    return guess if log < 2.0**20 else 1 << -(-length // degree)


def exact_root(value: int, degree: int) -> int | None:
    """x with ``x ** degree == value``, or None."""
    x = iroot(value, degree)
    return x if x**degree == value else None
