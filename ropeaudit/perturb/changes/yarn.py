"""``yarn``: YaRN (2309.00071) from its parameters, with the engine's defaults.

Channels that turn more than ``beta_fast`` times within ``original`` positions stay, those below
``beta_slow`` turns are divided by ``factor``, a ramp lies between. cos and sin are multiplied by
``attention_factor``, by default 0.1 ln(factor) + 1. It takes the place of a scaling that is there.
"""

from __future__ import annotations

from ropeaudit.facts import MAX_LENGTH
from ropeaudit.perturb._expect import Rules, moved, rescaled
from ropeaudit.perturb._keys import flag, number, whole
from ropeaudit.perturb._laws import scaled
from ropeaudit.perturb.interface import Changed, Head
from ropeaudit.records import record, record_fields
from ropeaudit.schedule.core import Schedule

_OPTIONAL = (
    "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim",
)  # fmt: skip
HEADS = (
    Head(
        name="yarn",
        usage="yarn:factor=F,original=N[,beta_fast=32][,beta_slow=1][,attention_factor=A]"
        "[,mscale=M][,mscale_all_dim=M][,truncate=true|false]",
        keys={
            "factor": number(above=0.0),
            "original": whole(1, MAX_LENGTH, aliases=("original_max_position_embeddings",)),
            **{name: number(above=0.0, always=False) for name in _OPTIONAL},
            "truncate": flag(always=False),
        },
    ),
)
RESCALES = True


@record(kw_only=True)
class Params:
    factor: float
    original: int
    attention_factor: float | None = None
    beta_fast: float | None = None
    beta_slow: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncate: bool = True


def check(params: Params) -> None:
    pass


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | rescaled(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    scaling = {n: getattr(params, n) for n in record_fields(Params) if n != "original"}
    scaling = {n: v for n, v in scaling.items() if v is not None}
    scaling["original_max_position_embeddings"] = params.original
    return Changed(schedules=(scaled(schedule, "yarn", scaling),))
