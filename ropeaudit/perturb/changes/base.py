"""``base``: another base (rope_theta) under the scaling that is there.

The table is built anew by its own law, operation by operation as the engine does. Raising the base
slows every channel but the first (NTK by hand, ABF).
"""

from __future__ import annotations

from ropeaudit.perturb._expect import Rules, moved
from ropeaudit.perturb._keys import number
from ropeaudit.perturb._laws import rebased
from ropeaudit.perturb.interface import Changed, Head
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

HEADS = (Head(name="base", usage="base:VALUE", keys={"value": number(above=0.0)}, bare="value"),)
RESCALES = True


@record(kw_only=True)
class Params:
    value: float


def check(params: Params) -> None:
    pass


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    return Changed(schedules=(rebased(schedule, params.value),))
