"""Values as JSON can hold them, and float32 numbers as their own shortest decimals."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence, Set
from enum import Enum
from functools import lru_cache
from typing import Any

from ropeaudit.errors import quoted

MAX_BITS = 4096
"""Integers beyond this are described, not printed: CPython refuses to print 4,300 digits."""


def float32_decimals(values: Sequence[float]) -> list[float]:
    """Each float32 value as the float64 whose ``repr`` is the float32's shortest decimal.

    0.8146172165870667 becomes 0.8146172, which names the same float32. A value that no float32
    equals, or that is not finite, stays as it is.
    """
    found = list(values)
    open_ = [k for k, v in enumerate(found) if math.isfinite(v)]
    # A normal float32 keeps every decimal of six digits apart; a denormal one may need only one.
    denormal = any(0 < abs(values[k]) < 2.0**-126 for k in open_)
    for digits in range(1 if denormal else 6, 10):
        texts = [f"{values[k]:.{digits}g}" for k in open_]
        tried = [float(t) for t in texts]
        again = array("f", [_in_range(t) for t in tried])
        left = []
        for k, text, back in zip(open_, tried, again, strict=True):
            if back == values[k]:
                found[k] = text
            else:
                left.append(k)
        if not left:
            break
        open_ = left
    return found


def _in_range(value: float) -> float:
    """``array('f')`` turns a float64 beyond float32 into infinity; keep that on every version."""
    return value if abs(value) < 3.5e38 else math.copysign(math.inf, value)


def plain(value: Any) -> Any:
    """``value`` as dicts (sorted), lists, strings, numbers, booleans and None only.

    NaN and infinities become ``"nan"``, ``"inf"`` and ``"-inf"``, sets sorted lists, enumerations
    their value, and anything else its quoted text.
    """
    if value is None or isinstance(value, bool | str):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else number_word(value)
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, int):
        return value if value.bit_length() <= MAX_BITS else quoted(value)
    if isinstance(value, Mapping):
        return {str(k): plain(value[k]) for k in sorted(value, key=str)}
    if isinstance(value, Set):
        return sorted((plain(v) for v in value), key=lambda v: (str(type(v)), v))
    if isinstance(value, Sequence):
        return [plain(v) for v in value]
    return quoted(value)


def number_word(value: float) -> str:
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"


@lru_cache(maxsize=1024)
def _cached(bits: bytes) -> tuple[float, ...]:
    return tuple(float32_decimals(array("d", bits)))


def numbers(values: Sequence[float]) -> list[float | str]:
    """A float32 table as shortest decimals, with words for what JSON cannot hold."""
    # Models share tables, which shows in a run over thousands. The key is the bits: 0.0 == -0.0.
    decimals = _cached(array("d", values).tobytes())
    if all(map(math.isfinite, decimals)):
        return [*decimals]
    return [v if math.isfinite(v) else number_word(v) for v in decimals]
