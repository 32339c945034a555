"""Bytes of a floating-point tensor as exact Python floats, without an array library.

Every float16, bfloat16, float8 and float32 is a float64, so nothing is lost.
"""

from __future__ import annotations

import struct
import sys
from array import array
from functools import cache

WIDTH = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3": 1,
    "float8_e5m2": 1,
}
"""Bytes a value."""
_NATIVE = {"float64": "d", "float32": "f"}


def decode(data: bytes, dtype: str, *, big: bool = False) -> tuple[float, ...]:
    """The values in ``data``, whose length is a multiple of the width; ``big`` = big-endian.

    Raises KeyError for a dtype that is not in :data:`WIDTH`.
    """
    if dtype in _NATIVE:
        values = array(_NATIVE[dtype], data)
        if big != (sys.byteorder == "big"):
            values.byteswap()
        return tuple(values)
    if dtype == "float16":
        return struct.unpack(f"{'>' if big else '<'}{len(data) // 2}e", data)
    if dtype == "bfloat16":
        # A bfloat16 is the upper half of a float32.
        words = struct.unpack(f"{'>' if big else '<'}{len(data) // 2}H", data)
        return struct.unpack(f"={len(words)}f", struct.pack(f"={len(words)}I", *_high(words)))
    return tuple(map(_eight(dtype).__getitem__, data))


def _high(words: tuple[int, ...]) -> list[int]:
    return [w << 16 for w in words]


@cache
def _eight(dtype: str) -> tuple[float, ...]:
    """All 256 values of an 8-bit format (OCP 8-bit floating point, revision 1.0, table 1)."""
    if dtype == "float8_e5m2":  # the upper half of a float16
        return struct.unpack("<256e", bytes(b for high in range(256) for b in (0, high)))
    if dtype != "float8_e4m3":
        raise KeyError(dtype)
    values = []
    for code in range(256):
        exponent, fraction = code >> 3 & 15, code & 7
        if code & 127 == 127:  # the only NaN; there is no infinity
            value = float("nan")
        elif exponent:
            value = (8 + fraction) * 2.0 ** (exponent - 10)
        else:
            value = fraction * 2.0**-9
        values.append(-value if code & 128 else value)
    return tuple(values)
