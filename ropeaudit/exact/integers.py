"""Roots of integers, exactly."""

from __future__ import annotations

import math


def iroot(value: int, degree: int) -> int:
    """The largest integer x >= 0 with ``x ** degree <= value``; value >= 0, degree >= 1.

    A step of Newton's iteration lands at or above the root from wherever it starts (the arithmetic
    mean is not below the geometric one); from there on it falls until it has reached the root.
    """
    if degree == 1 or value < 2:
        return value
    if degree == 2:
        return math.isqrt(value)
    if value.bit_length() <= degree:
        return 1
    x = _step(_near(value, degree), value, degree)
    while True:
        y = _step(x, value, degree)
        if y >= x:
            return x
        x = y


def _step(x: int, value: int, degree: int) -> int:
    quotient: int = value // x ** (degree - 1)
    return ((degree - 1) * x + quotient) // degree


def _near(value: int, degree: int) -> int:
    """A start whose first bits are right, which saves the slow first steps."""
    shift = max(value.bit_length() - 64, 0)
    log = (math.log2(value >> shift) + shift) / degree
    whole = max(int(log) - 40, 0)
    lead = int(math.exp2(log - whole)) + 1
    return lead << whole


def exact_root(value: int, degree: int) -> int | None:
    """x with ``x ** degree == value``, or None."""
    x = iroot(value, degree)
    return x if x**degree == value else None
