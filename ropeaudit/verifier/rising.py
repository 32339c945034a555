"""What no table of a law that ``recovery`` knows does: to rise, or to be negative.

With a base above 1 and, in yarn and llama3, a factor of at least 1. Why that is so, the engine's
roundings included, is told in docs/exactness.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ropeaudit.verifier.formats import FORMATS, Value, rounded, unit

ENGINE = 1 + Fraction(1, 1 << 10)
"""More than roundings can lift a value above one before it."""


def rise(table: Sequence[Value], dtype: str, tolerance: int) -> dict[str, Any] | None:
    """The witness: the first channel that is negative or above the least of those before it.

    Beyond ``tolerance`` steps of ``dtype`` at each of the two, a few for what lies below the normal
    numbers, and ``ENGINE``. None for a table that holds what is no finite number.
    """
    room = tolerance + (4 if dtype == "float32" else 1)
    values = [rounded(value, dtype) for value in table]
    if room > 1 << (FORMATS[dtype].precision - 1):
        return None
    held = [value for value in values if isinstance(value, Fraction)]
    if len(held) < len(values):
        return None
    least = 0
    for k, value in enumerate(held):
        lower = value - room * unit(value, dtype)
        if value + room * unit(value, dtype) < 0:
            return _witness(table, [k])
        before = held[least]
        if lower > (before + 2 * room * unit(before, dtype)) * ENGINE:
            return _witness(table, [least, k])
        if value < before:
            least = k
    return None


def _witness(table: Sequence[Value], channels: list[int]) -> dict[str, Any]:
    return {"channels": channels, "values": [str(table[k]) for k in channels]}
