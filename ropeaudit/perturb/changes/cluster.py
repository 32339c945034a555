"""``cluster``: channels at, at+gap, .., at+(codim-1)*gap all turn at one frequency.

The target is their geometric mean (``gm``), the value of the first or last of them, or a number in
radians per position. It may fall on a channel between them (the mean of a pair two channels apart
does), which then belongs to the cluster too; the record names it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ropeaudit.perturb._expect import Rules, merged, moved, stopped
from ropeaudit.perturb._keys import MAX_CHANNEL, distance, number_or, position, require_gap, whole
from ropeaudit.perturb._table import changed, landed, members, positive, turning
from ropeaudit.perturb.interface import Changed, Head, Refused
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import f32

HEADS = (
    Head(
        name="cluster",
        usage="cluster:at=K|high|mid|low,codim=N,gap=G,to=gm|first|last|VALUE (or dlog=D for gap)",
        keys={
            "at": position(),
            "codim": whole(2, MAX_CHANNEL),
            **distance(),
            "to": number_or("gm", "first", "last", least=0.0),
        },
    ),
)
RESCALES = False


@record(kw_only=True)
class Params:
    at: str | int
    codim: int
    gap: int | None = None
    dlog: float | None = None
    to: str | float = "gm"


def check(params: Params) -> None:
    require_gap(params.gap, params.dlog)


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | merged(base, made) | stopped(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    place = members(schedule, params.at, params.codim, params.gap, params.dlog)
    target = _target(params.to, schedule, place)
    if not math.isfinite(f32(target)) or (target and not f32(target)):
        raise Refused(f"to is {target:g}, outside what float32 holds; take another value")
    found = {"channels": list(place), "target": f32(target)}
    others = [k for k in turning(schedule) if k not in place]
    if on := [k for k in others if landed(target, schedule.inv_freq[k])]:
        found["landed_on"] = on
    return changed(schedule, dict.fromkeys(place, target), found)


def _target(to: str | float, schedule: Schedule, place: Sequence[int]) -> float:
    if to == "gm":
        values = positive(schedule, place)
        return math.exp(math.fsum(map(math.log, values)) / len(values))
    if isinstance(to, str):
        return schedule.inv_freq[place[0] if to == "first" else place[-1]]
    return to
