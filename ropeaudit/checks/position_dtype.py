"""Positions or angles computed in a format that cannot count to the length.

**What it checks.** When the input says in which format the engine computes positions or angles
(``--override position_dtype=bfloat16``, ``rope_dtype``, or a live module): whether that format
holds every whole number up to the declared length, and how far angles are off at its end. The
model's ``torch_dtype`` does not say this, so without such a statement the check is skipped.

**Why it matters.** bfloat16 counts exactly to 256 and float16 to 2,048. Beyond, several positions
are one; interpolated (fractional) positions merge even earlier.

**Passes when.** The format holds all positions of the longest length exactly.

**Fails when.** It does not. Unknown for a format that is not known.

**Exactness.** Exact: with p bits of significand the format counts to ``2**p``; between ``2**e`` and
``2**(e+1)`` it steps by ``2**(e-p+1)``. The angle is off by half a step times the fastest channel.

**Options.** None.

**References.** IEEE 754; ``transformers/models/llama/modeling_llama.py``, whose rotary module
forces float32 under autocast.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ropeaudit.checks._lengths import passed, skipped, text, unknown
from ropeaudit.checks._words import about
from ropeaudit.checks.interface import Case
from ropeaudit.errors import shown
from ropeaudit.facts import Location
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import FORMATS

SLUG = "position-dtype"
NEEDS = "schedule"
KEYS = ("position_dtype", "rope_dtype")
SPELLINGS = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "f16": "float16",
    "half": "float16",
    "fp32": "float32",
    "f32": "float32",
    "float": "float32",
    "fp64": "float64",
    "f64": "float64",
    "double": "float64",
    "float8_e4m3fn": "float8_e4m3",
}
BITS = {"float64": 53} | {name: f.precision for name, f in FORMATS.items()}
INTEGERS = ("int32", "int64", "long", "int", "uint32")


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each text schedule; lengths and steps in positions."""
    schedules = text(case.subject.schedules)
    if not schedules:
        yield skipped("no schedule turns with token positions")
    for schedule in schedules:
        found = _stated(case, schedule)
        if found is None:
            yield skipped(
                "the input does not say in which format positions are computed; state it with "
                "--override position_dtype=..."
            )
            return
        yield _judge(case, schedule, *found)


def _stated(case: Case, schedule: Schedule) -> tuple[str, object, Location | None] | None:
    """Key, value and place of the run-time format: a fact of the schedule, or a key."""
    for key in KEYS:
        fact = schedule.fact(key)
        if fact is not None:
            return key, fact.value, fact.location
    document = case.document
    if document is not None:
        for key in KEYS:
            if key in document.data:
                return key, document.data[key], Location(file=document.file, pointer=f"/{key}")
    return None


def _judge(
    case: Case, schedule: Schedule, key: str, value: object, place: Location | None
) -> Outcome:
    name = str(value).removeprefix("torch.").lower()
    dtype = SPELLINGS.get(name, name)
    if dtype in INTEGERS:
        return passed(schedule)
    if dtype not in BITS:
        known = ", ".join(sorted(BITS))
        return unknown(
            schedule, f"{key} is {shown(value)}, expected one of {known} or an integer", place
        )
    # Positions are absolute: a sliding window limits distances, not the numbers that are rounded.
    context = schedule.context
    lengths = [n for n in (context.trained, context.declared, *case.lengths) if n]
    if not lengths:
        return skipped(f"{schedule.name}: the input states no length; give one with --context")
    length, exact = max(lengths), 2 ** BITS[dtype]
    if length - 1 <= exact:
        return passed(schedule)
    step = 2 ** (math.floor(math.log2(length - 1)) - BITS[dtype] + 1)
    fastest = max((abs(v) for v in schedule.inv_freq if math.isfinite(v)), default=0.0)
    off = step / 2 * fastest
    what = "Positions" if key == "position_dtype" else "Angles"
    return Outcome(
        status=Status.FAIL,
        schedule=schedule.name,
        message=f"{what} computed in {dtype} count exactly only to {about(exact)}; near "
        f"{about(length)} they step by {about(step)}, so {about(step)} neighbouring positions "
        f"share one angle, and the fastest channel is off by up to {about(off)} rad.",
        evidence={
            "dtype": dtype,
            "exact_up_to": exact,
            "length": length,
            "step": step,
            "max_phase_error": off,
        },
        location=place,
        fix="Compute positions and angles in float32, and cast cos and sin afterwards.",
    )
