"""``cast``: the table rounded to a narrower float format and held in float32 again.

Rounding is to nearest, ties to even, subnormals included. fp8_e4m3 has no infinity and keeps its
largest number, 448.
"""

from __future__ import annotations

from ropeaudit.perturb._expect import NONE, Rules, merged, stopped
from ropeaudit.perturb._keys import choice
from ropeaudit.perturb._table import changed, turning
from ropeaudit.perturb.interface import Changed, Head
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import on_grid, round_to

FORMATS = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp8_e4m3": "float8_e4m3",
    "fp8_e5m2": "float8_e5m2",
}
"""A recipe's word for each format, and the format."""
HEADS = (
    Head(
        name="cast", usage="cast:bf16, cast:fp16, cast:fp8_e4m3 or cast:fp8_e5m2",
        keys={"to": choice(*FORMATS)}, bare="to",
    ),
)  # fmt: skip
RESCALES = False

_TELLING = 4
"""Values off the grid from which a cast is certain to be seen."""


@record(kw_only=True)
class Params:
    to: str


def check(params: Params) -> None:
    pass


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    dtype = FORMATS[params.to]
    off = sum(not on_grid(v, dtype) for v in base.inv_freq)
    cast_back = frozenset({"RA501"}) if off >= 2 * _TELLING else NONE
    return cast_back | merged(base, made) | stopped(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    dtype = FORMATS[params.to]
    return changed(schedule, {k: round_to(schedule.inv_freq[k], dtype) for k in turning(schedule)})
