"""Which law a table is: equal, rounded to a narrower format, or geometric with some base.

Tables are compared as engines may have computed them: float32 arithmetic in another order differs
by a few ulp, and a cast rounds what such an arithmetic gave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import Table, on_grid, round_to, ulp_distance

ULP = 4
NARROW = ("bfloat16", "float16", "float8_e4m3", "float8_e5m2")
GRIDS = ("bfloat16", "float16")
"""Formats whose values are looked for in wider tables (cast and cast back)."""
ARITHMETIC = 3e-7
"""Relative error of a table before it was cast: 4 ulp of float32 and a little."""
MIN_TELLING = 4
"""Values on a grid, powers of two left out, that make a coincidence impossible."""
MAX_RESIDUAL = 16.0
"""Float32 steps by which a fitted law may miss a table."""


@record()
class Fit:
    """``base ** (-2k/dimension) / factor``; ``dtype``: the format it was rounded to, or None."""

    base: float
    dimension: int
    factor: float
    dtype: str | None
    table: Table


def same(a: Sequence[float], b: Sequence[float], ulp: int = ULP) -> bool:
    """Whether two tables agree in every channel to ``ulp`` float32 steps."""
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        if x != y:
            distance = ulp_distance(x, y)
            if distance is None or distance > ulp:
                return False
    return True


def rounded_as(law: Sequence[float], held: Sequence[float], dtype: str) -> bool:
    """Whether ``held`` is ``law`` rounded once to ``dtype``."""
    if len(law) != len(held):
        return False
    for exact, value in zip(law, held, strict=True):
        near = (exact, exact * (1 + ARITHMETIC), exact * (1 - ARITHMETIC))
        if all(round_to(v, dtype) != value for v in near):
            return False
    return True


def held_in(schedule: Schedule) -> str | None:
    """The narrow format that a table is in: its dtype, or the grid all its values lie on."""
    if schedule.dtype in NARROW:
        return schedule.dtype
    return grid(schedule.inv_freq)


def grid(values: Sequence[float]) -> str | None:
    """``bfloat16`` or ``float16`` if every value is exact there and that is no coincidence."""
    telling = [v for v in values if v and math.isfinite(v) and abs(math.frexp(v)[0]) != 0.5]
    if len(telling) < MIN_TELLING:
        return None
    return next((d for d in GRIDS if all(on_grid(v, d) for v in telling)), None)


def relation(law: Sequence[float], held: Schedule) -> str | None:
    """``equal``, the format that ``law`` was rounded to, or None if ``held`` is another table."""
    if same(law, held.inv_freq, 16 if is_cache(held) else ULP):
        return "equal"
    dtype = held_in(held)
    return dtype if dtype is not None and rounded_as(law, held.inv_freq, dtype) else None


def is_cache(schedule: Schedule) -> bool:
    """Whether the table was read off cos and sin rows: angles, good to a few more ulp."""
    return schedule.parameters.get("role") == "cos_sin_cache"


def fit(schedule: Schedule) -> Fit | None:
    """The geometric law that reproduces a table, exactly or after a cast; None if none does."""
    from ropeaudit.schedule.fit import nearest  # only stored tables are fitted

    found = nearest.fit(schedule.inv_freq, schedule.dtype, None, MAX_RESIDUAL)
    if found is None or not found.fits:
        return None
    dtype = found.grid if found.grid in NARROW else None
    return Fit(found.base, found.dimension, found.factor, dtype, found.table)
