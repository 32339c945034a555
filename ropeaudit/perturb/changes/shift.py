"""``shift``: a pair moved the same way, each as far as ``cluster`` would move it.

Channels at and at+gap with values a and b: both are multiplied (``dir=up``) or divided (``down``)
by sqrt(a / b), half their distance in log. A value that lands on another channel (even gaps do) is
moved on by 1e-3 in log; the record says which and by how much.
"""

from __future__ import annotations

import math

from ropeaudit.perturb._expect import Rules, moved, rising
from ropeaudit.perturb._keys import choice, distance, position, require_gap
from ropeaudit.perturb._table import apart_from_all, changed, members, positive
from ropeaudit.perturb.interface import Changed, Head
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

HEADS = (
    Head(
        name="shift", usage="shift:at=K|high|mid|low,gap=G,dir=up|down (or dlog=D for gap)",
        keys={
            "at": position(),
            **distance(),
            "dir": choice("up", "down"),
        },
    ),
)  # fmt: skip
RESCALES = False


@record(kw_only=True)
class Params:
    at: str | int
    gap: int | None = None
    dlog: float | None = None
    dir: str


def check(params: Params) -> None:
    require_gap(params.gap, params.dlog)


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | rising(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    place = members(schedule, params.at, 2, params.gap, params.dlog)
    a, b = positive(schedule, place)
    half = math.sqrt(max(a, b) / min(a, b))
    way = 1 if params.dir == "up" else -1
    moved_to = {k: v * half if way > 0 else v / half for k, v in zip(place, (a, b), strict=True)}
    values, nudged = apart_from_all(schedule, moved_to, (way, way))
    return changed(schedule, values, {"channels": list(place), "nudged": nudged})
