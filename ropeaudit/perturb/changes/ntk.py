"""``ntk``: NTK-aware scaling, a fixed larger base (bloc97, 2023).

    base' = base * factor ** (d / (d - 2))

The fastest channel stays, the slowest is divided by ``factor``. It takes the place of a scaling
that is there.
"""

from __future__ import annotations

from ropeaudit.perturb._expect import Rules, moved, rescaled
from ropeaudit.perturb._keys import number
from ropeaudit.perturb._laws import scaled
from ropeaudit.perturb.interface import Changed, Head
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

HEADS = (Head(name="ntk", usage="ntk:factor=F", keys={"factor": number(above=0.0)}),)
RESCALES = True


@record(kw_only=True)
class Params:
    factor: float


def check(params: Params) -> None:
    pass


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | rescaled(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    return Changed(schedules=(scaled(schedule, "ntk_alpha", {"alpha": params.factor}),))
