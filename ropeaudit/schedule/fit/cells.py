"""The number format whose rounding a table shows, and how far values lie apart in it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ropeaudit.records import record
from ropeaudit.schedule.float32 import FORMATS, FloatFormat, f32s, on_grid, round_to

NARROW = ("float8_e5m2", "float8_e4m3", "bfloat16", "float16")
"""Formats looked for in tables that say they are wider, the coarsest first."""
_TELLING = 2
"""Values on a grid, powers of two left out, that make a coincidence unlikely."""
UNIT = 2.0**-24


@record()
class Cells:
    """A table's values with the reals that round to each: ``low[k] <= ln theta <= high[k]``.

    ``grid``: the format. ``high`` is -inf for a value that is not above zero, unless a narrow
    format rounds to it.
    """

    values: tuple[float, ...]
    grid: str
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def narrow(self) -> bool:
        return self.grid in NARROW

    def part(self, channels: Sequence[int]) -> Cells:
        """The cells of some channels, in that order."""
        picked = [tuple(of[k] for k in channels) for of in (self.values, self.low, self.high)]
        return Cells(picked[0], self.grid, picked[1], picked[2])


def shown(values: Sequence[float]) -> str:
    """The format whose rounding a table shows: the coarsest that holds all finite values.

    float32 for finer ones: engines compute in it.
    """
    return next((g for g in NARROW if all(on_grid(v, g) for v in values if v - v == 0)), "float32")


def grids(values: Sequence[float], dtype: str) -> list[str]:
    """Formats to try: the one that the values show, and float32 where that may be chance.

    ``dtype`` is what the table says that it is held in.
    """
    grid = dtype if dtype in NARROW else shown(values)
    if grid == "float32":
        return [grid]
    telling = sum(1 for v in values if v and v - v == 0 and abs(math.frexp(v)[0]) != 0.5)
    # Powers of two lie on every grid; a finer law explains them better than a rounding.
    return [grid, "float32"] if telling >= _TELLING else ["float32", grid]


def cells(values: Sequence[float], grid: str) -> Cells:
    """The cells of a table, rounded to ``grid`` first; raises KeyError for an unknown format."""
    fmt = FORMATS[grid]
    held = f32s(values) if grid == "float32" else [round_to(v, grid) for v in values]
    low, high = [], []
    for v in held:
        least, most = edges(v, fmt)
        if v == 0 and grid not in NARROW:
            most = 0.0
        low.append(math.log(least) if least > 0 else -math.inf)
        high.append(math.log(most) if most > 0 else -math.inf)
    return Cells(tuple(held), grid, tuple(low), tuple(high))


def edges(value: float, fmt: FloatFormat) -> tuple[float, float]:
    """The reals between which everything rounds to ``value``, a number of the format."""
    if value - value != 0:
        return value, value
    half = fmt.spacing(value) / 2
    # Below a power of two the format is twice as fine.
    finer = value > fmt.smallest and math.frexp(value)[0] == 0.5
    return value - (half / 2 if finer else half), value + half


def steps(values: Sequence[float], built: Sequence[float], grid: str) -> list[float]:
    """How many numbers of ``grid`` lie between each value and ``built``, both rounded to it."""
    fmt = FORMATS[grid]
    if grid == "float32":
        pairs = zip(f32s(values), built, strict=True)
    else:
        pairs = zip(
            [round_to(v, grid) for v in values], [round_to(b, grid) for b in built], strict=True
        )
    return [0.0 if v == b else _apart(v, b, fmt) for v, b in pairs]


def _apart(a: float, b: float, fmt: FloatFormat) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return float(abs(_rank(a, fmt) - _rank(b, fmt)))


def _rank(value: float, fmt: FloatFormat) -> int:
    """Place of a number among all of its format, 0 for zero."""
    if value == 0:
        return 0
    exponent = max(math.frexp(value)[1] - 1, fmt.min_exponent)
    units = round(value / math.ldexp(1.0, exponent - fmt.precision + 1))
    binades = (exponent - fmt.min_exponent) << (fmt.precision - 1)
    return units + (binades if value > 0 else -binades)


def agrees(found: Cells, built: Sequence[float], apart: Sequence[float], allowed: float) -> bool:
    """Whether ``apart`` (of :func:`steps`) is no more than ``allowed`` float32 steps explain.

    A table computed in another order of arithmetic, a few float32 steps away, rounds differently in
    a narrow format only where it lies that close to the boundary between two numbers.
    """
    if not found.narrow:
        return max(apart, default=0.0) <= allowed
    slack = 2 * allowed * UNIT
    for k, step in enumerate(apart):
        if step:
            log = math.log(built[k]) if built[k] > 0 else -math.inf
            if step > 1 or not found.low[k] - slack <= log <= found.high[k] + slack:
                return False
    return True
