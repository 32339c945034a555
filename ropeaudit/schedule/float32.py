"""Single precision and narrower formats in plain Python, exactly rounded.

Sixty-four frequencies do not need an array library: ``array('f')`` rounds a whole list to nearest
even in C, and every float32 is a Python float. Engines compute tables in float32, so a closed form
in float64 misses them by 3 to 5 ulp at some dimensions; these helpers let a formula be written in
the engine's own order of operations.
"""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Iterable

from ropeaudit.records import record

Table = tuple[float, ...]
"""Frequencies in radians per position; each value is exact in the dtype it is said to be in."""


def f32(value: float) -> float:
    """``value`` rounded to float32 (nearest even); overflows to infinity."""
    return array("f", (value,))[0]


def f32s(values: Iterable[float]) -> list[float]:
    """Each value rounded to float32."""
    return array("f", values).tolist()


def ordinal(value: float) -> int:
    """Rank of a float32 among all float32: ``|ordinal(a) - ordinal(b)|`` counts ulp."""
    bits: int = struct.unpack("<i", struct.pack("<f", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF)


def ulp_distance(a: float, b: float) -> int | None:
    """Float32 steps between two values; None if either is NaN."""
    if math.isnan(a) or math.isnan(b):
        return None
    return abs(ordinal(f32(a)) - ordinal(f32(b)))


@record()
class FloatFormat:
    """A binary floating-point format: ``precision`` bits of significand (hidden bit counted)."""

    name: str
    precision: int
    min_exponent: int
    """Exponent of the smallest normal number, 2**min_exponent."""
    largest: float
    saturates: bool = False
    """Formats without infinity (float8_e4m3fn) keep ``largest``, as torch 2.13 casts do."""

    @property
    def smallest(self) -> float:
        """The smallest normal number; what is below holds fewer bits."""
        return math.ldexp(1.0, self.min_exponent)

    def spacing(self, value: float) -> float:
        """Distance between neighbouring numbers of the format at ``value``, subnormals included."""
        lowest = self.min_exponent
        exponent = max(math.frexp(value)[1] - 1, lowest) if value else lowest
        return math.ldexp(1.0, exponent - self.precision + 1)


FORMATS = {
    f.name: f
    for f in (
        FloatFormat("float32", 24, -126, 3.4028234663852886e38),
        FloatFormat("bfloat16", 8, -126, 3.3895313892515355e38),
        FloatFormat("float16", 11, -14, 65504.0),
        FloatFormat("float8_e4m3", 4, -6, 448.0, saturates=True),
        FloatFormat("float8_e5m2", 3, -14, 57344.0),
    )
}
"""Formats a table may be held in; float64 is exact and needs no entry."""


def round_to(value: float, dtype: str) -> float:
    """``value`` rounded to nearest even in ``dtype``, subnormals included.

    Raises KeyError for a format that is not in :data:`FORMATS` or float64.
    """
    if dtype == "float64" or value == 0 or not math.isfinite(value):
        return value
    fmt = FORMATS[dtype]
    step = fmt.spacing(value)
    # Division by a power of two is exact and round() is nearest even, so this is one rounding.
    rounded = round(value / step) * step
    if abs(rounded) <= fmt.largest:
        return rounded
    return math.copysign(fmt.largest if fmt.saturates else math.inf, value)


def on_grid(value: float, dtype: str) -> bool:
    """Whether ``value`` is exactly representable in ``dtype``."""
    return round_to(value, dtype) == value
