"""``apart``: a pair moved away from each other, as far as ``cluster`` would move it together.

Channels at and at+gap with values a and b, m = sqrt(a b) their geometric mean:

    match=log    a' = a * (a / m),  b' = b * (b / m)        the same distance in log
    match=phase  a' = a + (a - m),  b' = b - (m - b)        the same distance in radians

The control for a merge: the displacement is the same, and nothing coincides. A value that lands on
another channel (even gaps do) is moved on by 1e-3 in log; the record says which and by how much.
"""

from __future__ import annotations

import math

from ropeaudit.perturb._expect import Rules, moved, rising
from ropeaudit.perturb._keys import choice, distance, position, require_gap
from ropeaudit.perturb._table import apart_from_all, changed, members, positive
from ropeaudit.perturb.interface import Changed, Head, Refused
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

HEADS = (
    Head(
        name="apart", usage="apart:at=K|high|mid|low,gap=G[,match=log|phase] (or dlog=D for gap)",
        keys={
            "at": position(),
            **distance(),
            "match": choice("log", "phase", always=False),
        },
    ),
)  # fmt: skip
RESCALES = False


@record(kw_only=True)
class Params:
    at: str | int
    gap: int | None = None
    dlog: float | None = None
    match: str = "log"


def check(params: Params) -> None:
    require_gap(params.gap, params.dlog)


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | rising(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    place = members(schedule, params.at, 2, params.gap, params.dlog)
    a, b = positive(schedule, place)
    mean = math.sqrt(a * b)
    moved_to = (a * (a / mean), b * (b / mean))
    if params.match == "phase":
        moved_to = (a + (a - mean), b + (b - mean))
        slow = place[0] if moved_to[0] < moved_to[1] else place[1]
        if min(moved_to) <= 0:
            raise Refused(
                f"matched in phase, channel {slow} would not turn forwards any more: the pair is "
                f"{abs(math.log(a / b)):.3g} apart in log, at most 2 ln 2 = 1.386 can be matched; "
                "take a smaller gap or match=log"
            )
    way = 1 if a >= b else -1
    values, nudged = apart_from_all(schedule, dict(zip(place, moved_to, strict=True)), (way, -way))
    return changed(schedule, values, {"channels": list(place), "nudged": nudged})
