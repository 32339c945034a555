"""The plain schedule that comes closest to a table, and what a known law would add to it.

Where a plain law reproduces the table it is that one; else the slope is a median, so that a few
damaged channels do not bend it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import islice

from ropeaudit.errors import InvalidValue
from ropeaudit.records import record
from ropeaudit.schedule.fit.cells import NARROW, Cells, cells, grids, steps
from ropeaudit.schedule.fit.decimals import digits, simplest
from ropeaudit.schedule.fit.geometric import WIDTHS, divided, plain
from ropeaudit.schedule.fit.guess import Guess, Match, table
from ropeaudit.schedule.fit.ramps import shapes

_FLOOR = 5e-7
"""Relative error of a base read off a clean float32 table."""


@record()
class Fit:
    """``base ** (-2k / dimension) / factor``.

    ``max_ulp``: largest residual in steps of ``grid``, the format whose rounding the table shows.
    ``within``: channels no further off than the tolerance; ``worst``: the position of the largest
    residual in the ladder; ``table``: the fitted values, rounded to float32.
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
    table: tuple[float, ...]

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

    Zeros, negative values and what is no number take no part. None below three usable values, or
    where no falling table comes near.
    """
    points = [(k, math.log(v)) for k, v in enumerate(values) if 0 < v < math.inf]
    if len(points) < 3:
        return None
    own = width if width and width >= 2 else 2 * len(values)
    if len(points) == len(values):
        for grid in grids(values, dtype):
            found = cells(values, grid)
            match = plain(found, own, tolerance) or divided(found, own, tolerance)
            if match is not None:
                return _exact(match, found, tolerance)
    return _robust(values, points, grids(values, dtype)[0], width, tolerance)


def _exact(match: Match, found: Cells, tolerance: float) -> Fit:
    given = match.guess
    base, factor = given.rope_theta, given.parameters.get("factor", 1.0)
    ladder = base, given.rotary_dim, factor
    return _measured(found.values, match.table, match.steps, found.grid, ladder, tolerance)


def _measured(
    values: Sequence[float],
    fitted: Sequence[float],
    apart: Sequence[float],
    grid: str,
    ladder: tuple[float, int, float],
    tolerance: float,
) -> Fit:
    worst = max(range(len(apart)), key=lambda k: apart[k])
    if grid in NARROW:
        tolerance = 1.0  # one rounding is all a narrow format explains
    return Fit(
        *ladder,
        max_ulp=apart[worst],
        grid=grid,
        within=sum(1 for s in apart if s <= tolerance),
        worst=worst,
        relative=abs(values[worst] / fitted[worst] - 1) if fitted[worst] else math.inf,
        fits=apart[worst] <= tolerance,
        table=tuple(fitted),
    )


def _robust(
    values: Sequence[float],
    points: list[tuple[int, float]],
    grid: str,
    width: int | None,
    tolerance: float,
) -> Fit | None:
    """Medians over channels half a ladder apart; the simplest base within the error first, then
    ever less simple and closer ones.
    """
    half = len(points) // 2
    slope = _median(
        [(b - a) / (j - i) for (i, a), (j, b) in zip(points, points[half:], strict=False)]
    )
    if not -50 < slope < 0:
        return None
    start = _median([y - slope * k for k, y in points])
    spread = _median([abs(y - start - slope * k) for k, y in points])
    error = max(_FLOOR, 4 * spread * len(values) / len(points))
    attempt = partial(_try, values, grid, width, tolerance, (slope, start, spread))
    best: Fit | None = None
    try:
        while best is None or (not best.fits and error >= _FLOOR):
            found = attempt(error)
            if best is None or found.max_ulp < best.max_ulp:
                best = found
            error /= 4
    except (InvalidValue, OverflowError, ZeroDivisionError):
        return best
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
    factor = 1.0 if abs(start) <= max(1e-6, 3 * spread) else _near(math.exp(-start), error)
    given = {} if factor == 1 else {"factor": factor}
    guess = Guess(rope_type="linear", rope_theta=base, rotary_dim=dimension, parameters=given)
    fitted = table(guess, len(values))
    apart = steps(values, fitted, grid)
    return _measured(values, fitted, apart, grid, (base, dimension, factor), tolerance)


def _dimension(slope: float, channels: int, width: int | None, error: float) -> tuple[int, float]:
    """Width and base; a table fixes only ``ln(base)/d``, so another width must earn its place.

    The own width counts unless its base has five digits or more and another width in use gives one
    of at most two.
    """
    own = width if width and width >= 2 else 2 * channels
    base = _near(math.exp(-slope * own / 2), error)
    if digits(base) < 5:
        return own, base
    for other in (2 * own, 4 * own, own // 2, *WIDTHS):
        if other < 2 or other == own or -slope * other / 2 > 80:
            continue
        candidate = _near(math.exp(-slope * other / 2), error * other / own)
        if digits(candidate) <= 2 and candidate >= 100:
            return other, candidate
    return own, base


def _near(value: float, error: float) -> float:
    error = min(error, 0.5)
    return simplest(value * (1 - error), value * (1 + error))


def ramp(values: Sequence[float]) -> Ramp | None:
    """Reads a table as plain at the fast end and divided by one factor at the slow end.

    That is what yarn and llama3 build. None unless at least four channels are plain, two are
    divided, some lie between, and the divisor never falls.
    """
    if len(values) < 8 or min(values) <= 0 or not all(map(math.isfinite, values)):
        return None
    for grid in grids(values, "float32"):
        for shape in islice(shapes(cells(values, grid), 8.0), 6):
            total = len(values)
            # Without a channel between it is a step, as a missing channel makes it, and no ramp.
            if (
                shape.kept >= 4
                and shape.divided <= total - 2
                and any(map(shape.between, shape.inside))
            ):
                factor = simplest(1 / shape.slow[1], 1 / shape.slow[0])
                if factor >= 1.01:
                    divided = total - shape.divided
                    return Ramp(shape.base, 2 * total, factor, shape.kept, divided)
    return None


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
