"""``dynamic``: the table that dynamic NTK scaling holds at one length.

    base' = base * (factor * L / L0 - (factor - 1)) ** (d / (d - 2))

``length`` is L; L0 is ``original``, by default the declared length. Up to L0 the table is the plain
one. It takes the place of a scaling that is there.
"""

from __future__ import annotations

from ropeaudit.facts import MAX_LENGTH
from ropeaudit.perturb._expect import Rules, moved, rescaled
from ropeaudit.perturb._keys import number, whole
from ropeaudit.perturb._laws import scaled
from ropeaudit.perturb.interface import Changed, Head, Refused
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

HEADS = (
    Head(
        name="dynamic", usage="dynamic:factor=F,length=L[,original=N]",
        keys={
            "factor": number(above=0.0),
            "length": whole(1, MAX_LENGTH),
            "original": whole(1, MAX_LENGTH, aliases=("original_max_position_embeddings",)),
        },
    ),
)  # fmt: skip
RESCALES = True


@record(kw_only=True)
class Params:
    factor: float
    length: int
    original: int | None = None


def check(params: Params) -> None:
    pass


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | rescaled(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    declared = params.original or schedule.context.declared
    if declared is None:
        raise Refused("the declared length is not known; give it as original=N")
    made = scaled(
        schedule, "dynamic", {"factor": params.factor}, declared=declared, length=params.length
    )
    return Changed(schedules=(made,), found={"original": declared})
