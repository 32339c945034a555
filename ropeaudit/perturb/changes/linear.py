"""``linear``: position interpolation, every frequency divided by ``factor`` (2306.15595).

It takes the place of a scaling that is there. Tables whose base is not known, and laws that scale
no plain ladder, are divided as they stand.
"""

from __future__ import annotations

from ropeaudit.perturb._expect import Rules, moved, rescaled
from ropeaudit.perturb._keys import number
from ropeaudit.perturb._laws import divided, scaled
from ropeaudit.perturb.interface import Changed, Head, Refused
from ropeaudit.records import record, replace
from ropeaudit.schedule.core import Schedule

HEADS = (Head(name="linear", usage="linear:factor=F", keys={"factor": number(above=0.0)}),)
RESCALES = True


@record(kw_only=True)
class Params:
    factor: float


def check(params: Params) -> None:
    pass


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | rescaled(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    try:
        made = scaled(schedule, "linear", {"factor": params.factor})
    except Refused:
        table = divided(schedule, [params.factor] * len(schedule.inv_freq))
        made = replace(schedule, inv_freq=table, dtype="float32", law=None, inputs=None)
    return Changed(schedules=(made,))
