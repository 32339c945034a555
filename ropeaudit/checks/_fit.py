"""The plain schedule that comes closest to a table, and what a known law would add to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from operator import truediv

from ropeaudit.errors import InvalidValue
from ropeaudit.records import record
from ropeaudit.schedule.families.interface import powers, reciprocal, scale
from ropeaudit.schedule.float32 import FORMATS, on_grid, round_to

_NARROW = ("bfloat16", "float16")
_WIDE = ("float32", "float64")
_FLOOR = 5e-7
"""Relative error of a base read off a clean float32 table."""


@record()
class Fit:
    """``base ** (-2k / dimension) / factor``.

    ``max_ulp``: largest residual in steps of ``grid``, the format whose rounding the table shows.
    ``within``: channels no further off than the tolerance; ``worst``: the position of the largest
    residual in the ladder.
    """

    base: float
    dimension: int
    factor: float
    max_ulp: float
    grid: str
    within: int
    worst: int
    relative: float
    """The largest residual as a part of the fitted value."""
    fits: bool

    def words(self) -> str:
        by = f" divided by {self.factor:.7g}" if self.factor != 1 else ""
        return f"base {self.base:.7g}, dimension {self.dimension}{by}"


@record()
class Ramp:
    """A table whose fast channels are plain and whose slow ones are divided by ``factor``."""

    base: float
    dimension: int
    factor: float
    kept: int
    divided: int


def fit(values: Sequence[float], dtype: str, width: int | None, tolerance: float) -> Fit | None:
    """Best geometric table for a ladder; ``values`` at position k belong to exponent 2k/d.

    Zeros and negative values take no part. The slope is the median over channels half a ladder
    apart, so single moved channels do not bend it. None below three usable values, or where no
    falling table comes near.
    """
    points = [(k, math.log(v)) for k, v in enumerate(values) if 0 < v < math.inf]
    if len(points) < 3:
        return None
    half = len(points) // 2
    slope = _median(
        [(b - a) / (j - i) for (i, a), (j, b) in zip(points, points[half:], strict=False)]
    )
    if not -50 < slope < 0:
        return None
    start = _median([y - slope * k for k, y in points])
    spread = _median([abs(y - start - slope * k) for k, y in points])
    try:
        return _refine(values, dtype, width, tolerance, (slope, start, spread))
    except (InvalidValue, OverflowError):
        return None


def _refine(
    values: Sequence[float],
    dtype: str,
    width: int | None,
    tolerance: float,
    line: tuple[float, float, float],
) -> Fit:
    """Tries the simplest base within the error first, then ever less simple and closer ones."""
    usable = sum(1 for v in values if 0 < v < math.inf)
    error = max(_FLOOR, 4 * line[2] * len(values) / usable)
    grid = _grid(values, dtype)
    tolerance = tolerance if grid in _WIDE else 1.0  # one rounding is all a narrow format explains
    best: Fit | None = None
    while best is None or (best.max_ulp > tolerance and error >= _FLOOR):
        found = _try(values, grid, width, tolerance, line, error)
        if best is None or found.max_ulp < best.max_ulp:
            best = found
        error /= 4
    return best


def _try(
    values: Sequence[float],
    grid: str,
    width: int | None,
    tolerance: float,
    line: tuple[float, float, float],
    error: float,
) -> Fit:
    slope, start, spread = line
    dimension, base = _dimension(slope, len(values), width, error)
    factor = 1.0 if abs(start) <= max(1e-6, 3 * spread) else simplest(math.exp(-start), error)
    predicted = reciprocal(powers(base, dimension, len(values)))
    if factor != 1.0:
        predicted = scale(predicted, factor)
    steps = _steps(values, predicted, grid)
    worst = max(range(len(steps)), key=lambda k: steps[k])
    return Fit(
        base=base,
        dimension=dimension,
        factor=factor,
        max_ulp=steps[worst],
        grid=grid,
        within=sum(1 for s in steps if s <= tolerance),
        worst=worst,
        relative=abs(values[worst] / predicted[worst] - 1) if predicted[worst] else math.inf,
        fits=steps[worst] <= tolerance,
    )


def _dimension(slope: float, channels: int, width: int | None, error: float) -> tuple[int, float]:
    """Width and base; a table fixes only ``ln(base)/d``, so another width must earn its place.

    The own width counts unless its base has five digits or more and another width in use gives one
    of at most two.
    """
    own = width if width and width >= 2 else 2 * channels
    base = simplest(math.exp(-slope * own / 2), error)
    if _digits(base) < 5:
        return own, base
    for other in (2 * own, 4 * own, own // 2, 64, 80, 96, 128, 192, 256, 512):
        if other < 2 or other == own or -slope * other / 2 > 80:
            continue
        candidate = simplest(math.exp(-slope * other / 2), error * other / own)
        if _digits(candidate) <= 2 and candidate >= 100:
            return other, candidate
    return own, base


def simplest(value: float, error: float) -> float:
    """The decimal with fewest digits within ``value * (1 ± error)``."""
    error = min(error, 0.5)
    for digits in range(9):
        short = float(f"{value:.{digits}e}")
        if abs(short - value) <= error * value:
            return short
    return value


def _digits(value: float) -> int:
    return len(f"{value:.8e}".split("e")[0].rstrip("0").replace(".", ""))


def _grid(values: Sequence[float], dtype: str) -> str:
    """The format whose rounding the values show; float32 unless all lie on a coarser grid."""
    if dtype in FORMATS and dtype != "float32":
        return dtype
    for narrow in _NARROW:
        if all(on_grid(v, narrow) for v in values if math.isfinite(v)):
            return narrow
    return "float32"


def _steps(values: Sequence[float], predicted: Sequence[float], grid: str) -> list[float]:
    """Distance of each value from its prediction in steps of the format at the prediction."""
    fmt = FORMATS[grid]
    found = []
    for value, wanted in zip(values, predicted, strict=True):
        target = wanted if grid == "float32" else round_to(wanted, grid)
        off = abs(value - target) / fmt.spacing(target) if math.isfinite(value) else math.inf
        found.append(off)
    return found


def ramp(values: Sequence[float], width: int | None = None) -> Ramp | None:
    """Reads a table as plain at the fast end and divided by one factor at the slow end.

    That is what yarn and llama3 build; the parameters in between are not recovered. None unless at
    least four channels are plain, two are divided, some lie between, and the divisor never falls.
    """
    if len(values) < 8 or min(values) <= 0 or not all(map(math.isfinite, values)):
        return None
    logs = [math.log(v) for v in values]
    first = logs[1] - logs[0]
    kept = next(
        (k for k in range(2, len(logs)) if abs(logs[k] - logs[k - 1] - first) > 2e-6), len(logs)
    )
    if kept < 4 or kept > len(values) - 2 or abs(logs[0]) > 1e-6:
        return None
    slope = (logs[kept - 1] - logs[0]) / (kept - 1)
    if not -20 < slope < 0:
        return None
    dimension, base = _dimension(slope, len(values), width, 3e-7 * len(values) / kept)
    try:
        plain = reciprocal(powers(base, dimension, len(values)))
    except InvalidValue:
        return None
    divisors = list(map(truediv, plain, values))
    factor = divisors[-1]
    divided = sum(1 for d in divisors if abs(d - factor) <= 1e-5 * factor)
    steady = all(a <= b * (1 + 1e-5) for a, b in pairwise(divisors))
    # Without a channel in between it is a step, as a missing channel makes it, and no ramp.
    if not steady or divided < 2 or factor < 1.01 or kept + divided >= len(values):
        return None
    return Ramp(base, dimension, simplest(factor, 1e-5), kept, divided)


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
