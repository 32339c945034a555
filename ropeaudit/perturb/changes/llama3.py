"""``llama3``: the scaling of Llama 3.1 from its parameters.

Wavelengths above ``original / low`` are divided by ``factor``, those below ``original / high``
stay, a smooth blend lies between. It takes the place of a scaling that is there.
"""

from __future__ import annotations

from ropeaudit.facts import MAX_LENGTH
from ropeaudit.perturb._expect import Rules, moved, rescaled
from ropeaudit.perturb._keys import number, whole
from ropeaudit.perturb._laws import scaled
from ropeaudit.perturb.interface import Changed, Head
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

HEADS = (
    Head(
        name="llama3", usage="llama3:factor=F,original=N[,low=1][,high=4]",
        keys={
            "factor": number(above=0.0),
            "original": whole(1, MAX_LENGTH, aliases=("original_max_position_embeddings",)),
            "low": number(above=0.0, always=False, aliases=("low_freq_factor",)),
            "high": number(above=0.0, always=False, aliases=("high_freq_factor",)),
        },
    ),
)  # fmt: skip
RESCALES = True


@record(kw_only=True)
class Params:
    factor: float
    original: int
    low: float = 1.0
    high: float = 4.0


def check(params: Params) -> None:
    if params.low > params.high:
        raise ValueError(f"low is {params.low:g}, above high, which is {params.high:g}")


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | rescaled(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    scaling = {
        "factor": params.factor,
        "low_freq_factor": params.low,
        "high_freq_factor": params.high,
        "original_max_position_embeddings": params.original,
    }
    return Changed(schedules=(scaled(schedule, "llama3", scaling),))
