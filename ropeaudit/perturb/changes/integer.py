"""Linear quantisation: a table rounded to integers and back (``int8``, ``int4``, ``int``).

    sym     theta' = round(theta / s) * s,  s = max |theta| / (2**(N-1) - 1)
    affine  theta' = m + round((theta - m) / s) * s,  m = min, s = (max - min) / (2**N - 1)

Rounding is to nearest, ties to even. Affine steps run from the least to the greatest value: zero is
not forced to be one of them, and there is no integer zero point. Minimum and maximum are taken over
the channels that turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from ropeaudit.perturb._expect import Rules, merged, moved, stopped
from ropeaudit.perturb._keys import choice, whole
from ropeaudit.perturb._table import changed, turning
from ropeaudit.perturb.interface import Changed, Head
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

_MODE = choice("sym", "affine")
HEADS = (
    Head(
        name="int8", usage="int8:sym or int8:affine", keys={"mode": _MODE}, bare="mode",
        fixed={"bits": 8},
    ),
    Head(
        name="int4", usage="int4:sym or int4:affine", keys={"mode": _MODE}, bare="mode",
        fixed={"bits": 4},
    ),
    Head(
        name="int", usage="int:bits=N,mode=sym|affine with N from 2 to 16",
        keys={"bits": whole(2, 16), "mode": _MODE},
    ),
)  # fmt: skip
RESCALES = False


@record(kw_only=True)
class Params:
    bits: int
    mode: str


def check(params: Params) -> None:
    pass


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | merged(base, made) | stopped(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    place = turning(schedule)
    values = [schedule.inv_freq[k] for k in place]
    back = quantised(values, params.bits, symmetric=params.mode == "sym")
    return changed(schedule, dict(zip(place, back, strict=True)))


def quantised(values: Sequence[float], bits: int, *, symmetric: bool) -> list[float]:
    """``values`` after the round trip, in float64; equal or no values have no step and stay."""
    if not values:
        return []
    if symmetric:
        low, step = 0.0, max(map(abs, values)) / (2 ** (bits - 1) - 1)
    else:
        low = min(values)
        step = (max(values) - low) / (2**bits - 1)
    if step == 0:
        return list(values)
    return [low + round((v - low) / step) * step for v in values]
