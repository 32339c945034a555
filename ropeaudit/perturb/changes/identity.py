"""``identity``: every table as it is. The control for whatever is done around a variant."""

from __future__ import annotations

from ropeaudit.perturb._expect import NONE, Rules
from ropeaudit.perturb.interface import Changed, Head
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

HEADS = (Head(name="identity", usage="identity"),)
RESCALES = False


@record()
class Params:
    pass


def check(params: Params) -> None:
    pass


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return NONE


def apply(params: Params, schedule: Schedule) -> Changed:
    return Changed(schedules=(schedule,))
