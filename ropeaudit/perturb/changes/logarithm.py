"""Quantisation of the logarithm (``log8``, ``log4``, ``log``): affine in ln theta.

    ln theta' = m + round((ln theta - m) / s) * s,  m = min ln theta, s = (max - min) / (2**N - 1)

Rounding is to nearest, ties to even. A negative frequency keeps its sign; a zero stays zero.
"""

from __future__ import annotations

import math

from ropeaudit.perturb._expect import Rules, merged, moved
from ropeaudit.perturb._keys import whole
from ropeaudit.perturb._table import changed, turning
from ropeaudit.perturb.changes.integer import quantised
from ropeaudit.perturb.interface import Changed, Head
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

HEADS = (
    Head(name="log8", usage="log8", fixed={"bits": 8}),
    Head(name="log4", usage="log4", fixed={"bits": 4}),
    Head(name="log", usage="log:bits=N with N from 2 to 16", keys={"bits": whole(2, 16)}),
)
RESCALES = False


@record(kw_only=True)
class Params:
    bits: int


def check(params: Params) -> None:
    pass


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | merged(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    place = [k for k in turning(schedule) if schedule.inv_freq[k] != 0]
    logs = [math.log(abs(schedule.inv_freq[k])) for k in place]
    back = quantised(logs, params.bits, symmetric=False)
    values = {
        k: math.copysign(math.exp(v), schedule.inv_freq[k])
        for k, v in zip(place, back, strict=True)
    }
    return changed(schedule, values)
