"""``jitter``: adds ``k * eps`` to channel k, in radians per position.

It splits every cluster by tiny steps and displaces nothing that matters: what a model loses by a
merge and not by the same merge with jitter is due to coincidence alone. The sum is made in float64
and rounded once, so a step below the format's own may be lost on fast channels.
"""

from __future__ import annotations

from ropeaudit.perturb._expect import Rules, close, moved
from ropeaudit.perturb._keys import number
from ropeaudit.perturb._table import changed, turning
from ropeaudit.perturb.interface import Changed, Head, Refused
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

HEADS = (Head(name="jitter", usage="jitter:eps=E", keys={"eps": number()}),)
RESCALES = False


@record(kw_only=True)
class Params:
    eps: float


def check(params: Params) -> None:
    pass


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | close(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    values = {k: schedule.inv_freq[k] + k * params.eps for k in turning(schedule)}
    wrong = next((k for k, v in values.items() if v < 0 <= schedule.inv_freq[k]), None)
    if wrong is not None:
        raise Refused(f"the jitter makes channel {wrong} negative; take an eps nearer to 0")
    return changed(schedule, values)
