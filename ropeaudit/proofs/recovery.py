"""Parameters that reproduce a table of floats, found from its numbers alone.

The claim is that these parameters give this table when the engine's own order of float32 operations
computes it, to so many steps of the format that the table shows. It is not that no others would:
those known to fit as well are listed. A table that nothing found reproduces is refuted where it
rises or is negative, which no law allows, and else undecided, since a search that fails is no
proof; and longrope, whose factors are free, fits any table and says
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ropeaudit.exact import encoding
from ropeaudit.proofs._fits import MIN_CHANNELS, Fit, as_fit, next_best, others
from ropeaudit.proofs._rising import METHOD as NO_RISE
from ropeaudit.proofs._rising import rise
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.schedule.fit.cells import Cells, shown
from ropeaudit.schedule.fit.decimals import spelled
from ropeaudit.schedule.fit.guess import AXES, Guess
from ropeaudit.schedule.fit.nearest import fit as nearest
from ropeaudit.schedule.fit.ramps import shapes
from ropeaudit.schedule.fit.search import axes, dealt, search
from ropeaudit.schedule.float32 import f32s

CLAIM = "recovery"
PROVED = (
    "The table is computed again from these parameters in the engine's own order of float32 "
    "operations."
)
_MANY = 4096
"""Channels above which a table that fits no law is no schedule worth a nearest one."""
NONE = (
    "no parameters of default, linear, proportional, yarn or llama3 were found that give this "
    "table (longrope, whose factors are free, would give any)"
)
TRIED = "No parameters that were tried reproduce the table within the tolerance."
_METHODS = {Status.PROVED: PROVED, Status.REFUTED: NO_RISE, Status.UNDECIDED: TRIED}


def prove(exhibit: Exhibit) -> Claim:
    """Proved where a law is found that misses no value by more than ``exhibit.ulp`` float32 steps;
    refuted where the values rise by more than that, or are negative.

    In a format narrower than float32 one step is allowed, and only where those float32 steps cross
    the boundary between two numbers. Reads nothing of the schedule but its table and dtype.
    """
    schedule = exhibit.schedule
    values = f32s(schedule.inv_freq)
    if (reason := _unfit(values)) is not None:
        return _failed(exhibit, values, {"reason": reason})
    found = search(values, schedule.dtype, exhibit.ulp)
    fits = [as_fit(m.guess, values) for m in found.matches]
    most = _most(shown(values), exhibit)
    proved = [f for f in fits if f is not None and f.max_ulp <= most]
    if not proved:
        return _failed(exhibit, values, _missed(values, found.cells, exhibit))
    best = proved[0]
    more = others(best, proved[1:], found.cells)
    evidence = {
        **best.as_dict(),
        "dtype": best.dtype,
        "next": next_best(best, more, values),
        "ambiguous": [other.as_dict() for other in more],
    }
    return _claim(exhibit, Status.PROVED, evidence)


def _failed(exhibit: Exhibit, values: Sequence[float], evidence: dict[str, Any]) -> Claim:
    """Refuted where the table does what no law does, undecided otherwise."""
    dtype = shown(values)
    witness = rise(values, dtype, _most(dtype, exhibit))
    if witness is None:
        return _claim(exhibit, Status.UNDECIDED, evidence)
    shows = {"channels": witness, "values": encoding.table(values[k] for k in witness)}
    return _claim(exhibit, Status.REFUTED, {**evidence, "witness": shows})


def _most(dtype: str, exhibit: Exhibit) -> int:
    """Steps that a value may be off: of a narrow format one, which float32 steps may cross."""
    return exhibit.ulp if dtype == "float32" else min(exhibit.ulp, 1)


def _claim(exhibit: Exhibit, status: Status, evidence: dict[str, Any]) -> Claim:
    return Claim(
        claim=CLAIM,
        schedule=exhibit.schedule.name,
        status=status,
        method=_METHODS[status],
        evidence=evidence,
    )


def _unfit(values: Sequence[float]) -> str | None:
    """Why a table says nothing about a law, if it does not."""
    strange = [k for k, v in enumerate(values) if not math.isfinite(v)]
    if strange:
        return (
            f"{len(strange)} of {len(values)} values are no finite float32 numbers, "
            f"the first at channel {strange[0]}"
        )
    negative = [k for k, v in enumerate(values) if v < 0]
    if negative:
        return f"channel {negative[0]} is negative, and no law gives a negative frequency"
    turning = sum(1 for v in values if v)
    if turning < MIN_CHANNELS:
        return f"{turning} of {len(values)} values are above 0, and a law needs {MIN_CHANNELS}"
    if min(values) == max(values):
        return f"all {len(values)} values are equal, which is no law of a frequency"
    return None


def _missed(values: Sequence[float], table: Cells, exhibit: Exhibit) -> dict[str, Any]:
    """The reason, with the nearest plain law where that tells more."""
    reason = _structure(table, exhibit.ulp)
    fit = None if reason or len(values) > _MANY else _nearest(values, exhibit)
    if fit is None or fit.max_ulp <= _most(fit.dtype, exhibit):
        return {"reason": reason or NONE}
    worst = max(range(len(values)), key=lambda k: fit.steps[k])
    off = sum(1 for s in fit.steps if s > _most(fit.dtype, exhibit))
    return {
        **fit.as_dict(),
        "dtype": fit.dtype,
        "next": None,
        "ambiguous": [],
        "reason": f"{NONE}: {off} of {len(values)} channels are off the nearest plain law, the "
        f"most channel {worst}, which holds {values[worst]:.7g} and not {fit.table[worst]:.7g}",
    }


def _nearest(values: Sequence[float], exhibit: Exhibit) -> Fit | None:
    """The plain law that most channels agree with."""
    found = nearest(values, exhibit.schedule.dtype, 2 * len(values), exhibit.ulp)
    if found is None or found.dimension != 2 * len(values):
        return None
    divided = found.factor != 1
    guess = Guess(
        rope_type="linear" if divided else "default",
        rope_theta=found.base,
        rotary_dim=found.dimension,
        parameters={"factor": found.factor} if divided else {},
    )
    return as_fit(guess, values)


def _structure(table: Cells, tolerance: float) -> str | None:
    """What a table is instead that no single law covers."""
    parts = axes(table, tolerance)
    if parts is not None:
        widths = ", ".join(map(str, parts.guess.parameters[AXES]))
        base = spelled(parts.guess.rope_theta)
        return f"the table is ladders of base {base} over the widths {widths} behind each other"
    mixed = dealt(table, tolerance)
    if mixed is not None:
        base, width = spelled(mixed.guess.rope_theta), mixed.guess.rotary_dim
        return f"the table is one ladder of base {base} over {width}, dealt to several coordinates"
    shape = next(shapes(table, tolerance), None)
    if shape is not None and shape.kept >= MIN_CHANNELS:
        return (
            f"the first {shape.kept} channels are plain with base {spelled(shape.base)} and the "
            "others fall behind, as if scaled by a list of factors, which would fit any table"
        )
    return None
