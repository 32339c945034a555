"""Floating-point formats: rounding to nearest even, spacing and order, on exact rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

Value = Fraction | str
"""A value of a table: a rational, or ``"nan"``, ``"inf"`` or ``"-inf"``."""


class Format(NamedTuple):
    """``precision`` bits of significand, the hidden one counted; 2**lowest is the least normal."""

    precision: int
    lowest: int
    largest: Fraction
    saturates: bool = False


def _format(precision: int, lowest: int, highest: int) -> Format:
    return Format(precision, lowest, (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** highest)


FORMATS = {
    "float64": _format(53, -1022, 1023),
    "float32": _format(24, -126, 127),
    "bfloat16": _format(8, -126, 127),
    "float16": _format(11, -14, 15),
    "float8_e4m3": Format(4, -6, Fraction(448), saturates=True),
    "float8_e5m2": _format(3, -14, 15),
}
SHORT = {
    "bf16": "bfloat16",
    "float32": "float32",
    "fp16": "float16",
    "fp8_e4m3": "float8_e4m3",
    "fp8_e5m2": "float8_e5m2",
}
"""Formats of the claims ``distinct:<dtype>``, in the order of a certificate."""
NARROW = ("float8_e5m2", "float8_e4m3", "bfloat16", "float16")
"""Formats whose rounding a table may show, the first that fits."""


def binade(value: Fraction) -> int:
    """The e with 2**e <= |value| < 2**(e+1)."""
    top, bottom = abs(value.numerator), value.denominator
    e = top.bit_length() - bottom.bit_length()
    return e if top << max(-e, 0) >= bottom << max(e, 0) else e - 1


def spacing(exponent: int, dtype: str) -> Fraction:
    """Distance of neighbouring numbers in the binade 2**exponent, subnormals included."""
    form = FORMATS[dtype]
    return Fraction(2) ** (max(exponent, form.lowest) - form.precision + 1)


def unit(value: Fraction, dtype: str) -> Fraction:
    """The spacing at ``value``; at 0 the smallest."""
    return spacing(binade(value) if value else FORMATS[dtype].lowest, dtype)


def rounded(value: Value, dtype: str) -> Value:
    """``value`` rounded to nearest even; beyond the largest number infinite, or that number."""
    if isinstance(value, str) or not value:
        return value
    form = FORMATS[dtype]
    shift = max(binade(value), form.lowest) - form.precision + 1
    top, bottom = value.numerator << max(-shift, 0), value.denominator << max(shift, 0)
    whole, rest = divmod(top, bottom)
    whole += 2 * rest > bottom or (2 * rest == bottom and whole & 1)
    near = Fraction(whole << max(shift, 0), 1 << max(-shift, 0))
    if abs(near) <= form.largest:
        return near
    if form.saturates:
        return form.largest if value > 0 else -form.largest
    return "inf" if value > 0 else "-inf"


def order(value: Fraction, dtype: str) -> int:
    """Rank of a number of ``dtype`` among all of them; neighbours differ by 1."""
    form = FORMATS[dtype]
    if not value:
        return 0
    e = max(binade(value), form.lowest)
    within = abs(value) / spacing(e, dtype)
    rank = ((e - form.lowest) << (form.precision - 1)) + int(within)
    return rank if value > 0 else -rank


def steps(a: Value, b: Value, dtype: str) -> int | None:
    """Steps of ``dtype`` between two of its numbers; None where one is no number."""
    if isinstance(a, str) or isinstance(b, str):
        return None
    return abs(order(a, dtype) - order(b, dtype))
