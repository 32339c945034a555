"""``zero`` and ``keep``: a band of channels stops turning, or all others do.

Both ends belong to the band. A channel at 0 carries no position, as if it were not rotated.
"""

from __future__ import annotations

from ropeaudit.perturb._expect import Rules, merged, moved, stopped
from ropeaudit.perturb._keys import channel
from ropeaudit.perturb._table import changed, turning
from ropeaudit.perturb.interface import Changed, Head, Refused
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

_KEYS = {"from_": channel(), "to": channel()}
HEADS = (
    Head(name="zero", usage="zero:from=K,to=M", keys=_KEYS, fixed={"keep": False}),
    Head(name="keep", usage="keep:from=K,to=M", keys=_KEYS, fixed={"keep": True}),
)
RESCALES = False


@record(kw_only=True)
class Params:
    from_: int
    to: int
    keep: bool


def check(params: Params) -> None:
    if params.from_ > params.to:
        raise ValueError(f"from={params.from_} lies beyond to={params.to}")


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | merged(base, made) | stopped(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    count = len(schedule.inv_freq)
    if params.to >= count:
        raise Refused(f"there is no channel {params.to}: the table has channels 0 to {count - 1}")
    band = range(params.from_, params.to + 1)
    return changed(schedule, {k: 0.0 for k in turning(schedule) if (k in band) is not params.keep})
