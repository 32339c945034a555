"""``swap``: channels at and at+gap exchange their frequencies.

Each moves by the whole gap, so a swap is compared with a merge of twice the gap. The set of
frequencies stays as it is.
"""

from __future__ import annotations

from ropeaudit.perturb._expect import Rules, moved, rising
from ropeaudit.perturb._keys import distance, position, require_gap
from ropeaudit.perturb._table import changed, members
from ropeaudit.perturb.interface import Changed, Head
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

HEADS = (
    Head(
        name="swap", usage="swap:at=K|high|mid|low,gap=G (or dlog=D for gap)",
        keys={"at": position(), **distance()},
    ),
)  # fmt: skip
RESCALES = False


@record(kw_only=True)
class Params:
    at: str | int
    gap: int | None = None
    dlog: float | None = None


def check(params: Params) -> None:
    require_gap(params.gap, params.dlog)


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | rising(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    i, j = members(schedule, params.at, 2, params.gap, params.dlog)
    values = {i: schedule.inv_freq[j], j: schedule.inv_freq[i]}
    return changed(schedule, values, {"channels": [i, j]})
