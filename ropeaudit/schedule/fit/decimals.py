"""Short decimal numbers in an interval: what a config is likely to spell."""

from __future__ import annotations

import math
from collections.abc import Iterator

MAX_DIGITS = 17


def digits(value: float) -> int:
    """Significant decimal digits of the shortest text that reads back as ``value``."""
    return max(1, len(repr(float(value)).lower().split("e")[0].replace(".", "").strip("0")))


def spelled(value: float) -> int | float:
    """``value`` as a config writes it: without a point where it is whole."""
    return int(value) if abs(value) < 2.0**63 and value == int(value) else value


def decimals(low: float, high: float, limit: int) -> Iterator[float]:
    """At most ``limit`` decimals within ``low``..``high`` (both above 0).

    The one with fewest digits first, then by the place of their last digit and nearest the middle.
    """
    if not 0 < low <= high < math.inf:
        return
    top = math.floor(math.log10(high))
    given = 0
    for count in range(1, MAX_DIGITS + 1):
        place = top - count + 1
        for value in _around(low, high, place):
            yield value
            given += 1
            if given == limit:
                return


def _around(low: float, high: float, place: int) -> Iterator[float]:
    """Multiples of ``10**place`` in the interval that are no multiples of ten times that."""
    centre = round(_shifted((low + high) / 2, place))
    for away in range(64):
        inside = False
        for step in (away, -away) if away else (0,):
            whole = centre + step
            if whole <= 0:
                continue
            value = float(f"{whole}e{place}")
            if low <= value <= high:
                inside = True
                if whole % 10:
                    yield value
        if not inside and away:
            return


def _shifted(value: float, place: int) -> float:
    """``value / 10**place`` without an overflow."""
    return value / 10.0**place if abs(place) < 300 else value / 10.0 ** (place / 2) ** 2


def simplest(low: float, high: float) -> float:
    """The decimal with fewest digits in the interval; its middle where it is too narrow."""
    return next(decimals(low, high, 1), (low + high) / 2)


def neighbours(value: float) -> tuple[float, float]:
    """The decimals next to ``value`` with as many digits, below and above."""
    count = digits(value)
    mantissa, exponent = f"{value:.{count - 1}e}".split("e")
    whole, place = int(mantissa.replace(".", "")), int(exponent) - count + 1
    under = f"{whole - 1}e{place}"
    if whole == 10 ** (count - 1):  # below a power of ten the same number of digits is finer
        under = f"{10**count - 1}e{place - 1}"
    return float(under), float(f"{whole + 1}e{place}")


def lengths(low: float, high: float, limit: int) -> Iterator[float]:
    """Context lengths in the interval: a power of two, then a multiple of the largest one from
    1,024 up, then short decimals.
    """
    given: set[float] = set()
    if not 0 < low <= high < math.inf:
        return
    for value in (*_binary(low, high), *decimals(low, high, limit)):
        if value not in given and len(given) < limit:
            given.add(value)
            yield value


def _binary(low: float, high: float) -> Iterator[float]:
    power = 2.0 ** math.ceil(math.log2(low))
    if power <= high:
        yield power
    unit = 2.0 ** min(40, math.floor(math.log2(high)) - 1)
    while unit >= 1024:
        first = math.ceil(low / unit) * unit
        if first <= high:
            yield first
            return
        unit /= 2
