"""A table held, or once held, in a format narrower than float32.

**What it checks.** Tables whose dtype is bfloat16, float16 or float8, and float32 tables whose
values all lie on the bfloat16 or float16 grid although their law says otherwise (cast and cast
back). The law is the schedule that the config builds, else the geometric law that fits. It reports
the phase error at the lengths in use, the lengths at which it passes 0.1 rad and pi, and channels
that the rounding made equal.

**Why it matters.** bfloat16 keeps 8 bits: a frequency is off by up to 0.4 %, which is a few radians
after some thousand positions. The text stays fluent and retrieval fails.

**Passes when.** The table is held in float32 or wider, and its values are not those of a rounded
law. Rows of cos and sin are skipped: each row is rounded for itself, and the error does not grow.

**Fails when.** The table is narrow: the rule's severity when the phase error reaches
``error_phase`` at a length in use or channels have become equal, a warning from ``warning_phase``,
else information. It is at most a warning when the law is not known, or when the tensor only lies
in a file whose config gives the same table, because most engines rebuild it from there.

**Exactness.** Phase error is ``max |theta - law| * L``, in float64. At least four values that are
no powers of two must lie on the grid.

**Options.** ``error_phase`` (pi/2) and ``warning_phase`` (0.1), in radians; ``reference_length``
(32,768): the length judged at when the input states none.

**References.** ``transformers/models/llama/modeling_llama.py`` (rotary module in float32).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ropeaudit.checks._laws import NARROW, fit, held_in, is_cache, relation, same
from ropeaudit.checks._lengths import judged_lengths, passed, place, skipped
from ropeaudit.checks._words import about
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import FORMATS, Table
from ropeaudit.schedule.geometry import clusters

SLUG = "narrow-dtype"
NEEDS = "schedule"
FIX = "Rebuild the table in float32 and keep it there when the model is cast."


@record()
class Params:
    error_phase: float = math.pi / 2
    warning_phase: float = 0.1
    reference_length: int = 32_768


@record()
class Law:
    """What the table should be: ``source`` names it, ``built`` is the schedule it came from."""

    table: Table
    source: str
    built: Schedule | None = None


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each schedule; phases in radians, lengths in positions."""
    schedules = case.subject.schedules
    if not schedules:
        yield skipped("there is no table")
    for schedule in schedules:
        yield _judge(case, schedule, params)


def _judge(case: Case, schedule: Schedule, params: Params) -> Outcome:
    if schedule.variant != "stored" and schedule.dtype not in NARROW:
        return passed(schedule)  # built from its law in float32
    if is_cache(schedule):
        return skipped(f"{schedule.name}: rows of cos and sin, whose error does not grow")
    dtype = held_in(schedule)
    if dtype is None or (schedule.rope_type == "learned" and schedule.dtype not in NARROW):
        return passed(schedule)
    if schedule.rope_type == "learned":
        return _fail(schedule, dtype, "It was learned, so no law says what was lost.", {}, False)
    law = _law(case, schedule)
    if law is None:
        return _fail(
            schedule,
            dtype,
            "The law behind it is not known, so the phase error cannot be told.",
            {"subnormal": _subnormal(schedule, dtype)},
            False,
            Severity.WARNING,
        )
    if same(law.table, schedule.inv_freq, 0):
        return passed(schedule)  # the law itself lies on the grid
    return _measured(case, schedule, dtype, law, params)


def _law(case: Case, schedule: Schedule) -> Law | None:
    for built in case.subject.built_for(schedule):
        if built is not schedule and relation(built.inv_freq, schedule):
            return Law(built.inv_freq, f"the config's {built.name}", built)
    found = fit(schedule)
    if found is None:
        return None
    divided = "" if found.factor == 1 else f" divided by {found.factor:.6g}"
    return Law(found.table, f"base {about(found.base)}{divided}")


def _measured(case: Case, schedule: Schedule, dtype: str, law: Law, params: Params) -> Outcome:
    error = max(abs(v - e) for v, e in zip(schedule.inv_freq, law.table, strict=True))
    lengths = _lengths(case, schedule, law, params)
    phases = {str(n): error * n for n in lengths}
    worst, length = error * max(lengths), max(lengths)
    groups = schedule.groups()
    before = clusters(law.table, groups)
    made = [c for c in clusters(schedule.inv_freq, groups) if c not in before]
    severity = _severity(case, law, worst, bool(made), params)
    equal = f" {sum(map(len, made))} channels became equal to others." if made else ""
    return _fail(
        schedule,
        dtype,
        f"Against {law.source} the phase is off by up to {worst:.4g} rad at {about(length)} "
        f"positions; it passes 0.1 rad at {about(_at(0.1, error))} and pi at "
        f"{about(_at(math.pi, error))}.{equal}",
        {
            "phase_error": phases,
            "length_at_0.1": _at(0.1, error),
            "length_at_pi": _at(math.pi, error),
            "max_cluster": max(map(len, made), default=1),
            "clusters": made,
            "subnormal": _subnormal(schedule, dtype),
        },
        case.subject.format == "module" or law.built is None,
        severity,
    )


def _lengths(case: Case, schedule: Schedule, law: Law, params: Params) -> tuple[int, ...]:
    if law.built is not None:
        return judged_lengths(case, law.built) or (params.reference_length,)
    own = judged_lengths(case, schedule)
    beside = [n for s in case.subject.built_for(schedule) for n in judged_lengths(case, s)]
    return own or tuple(sorted(set(beside))) or (params.reference_length,)


def _at(phase: float, error: float) -> int:
    """The first length at which ``error`` per position adds up to ``phase``."""
    return math.ceil(phase / error)


def _severity(case: Case, law: Law, worst: float, merged: bool, params: Params) -> Severity | None:
    rebuilt = law.built is not None and case.subject.format != "module"
    if worst >= params.error_phase or merged:
        return Severity.WARNING if rebuilt else None
    return Severity.WARNING if worst >= params.warning_phase else Severity.INFO


def _subnormal(schedule: Schedule, dtype: str) -> int:
    """Values below the normal range, which hold fewer bits still."""
    smallest = FORMATS[dtype].smallest
    return sum(1 for v in schedule.inv_freq if 0 < abs(v) < smallest)


def _fail(
    schedule: Schedule,
    dtype: str,
    message: str,
    evidence: dict[str, Any],
    used: bool,
    severity: Severity | None = Severity.INFO,
) -> Outcome:
    wide = schedule.dtype not in NARROW
    held = f"The values lie on the {dtype} grid although the table is {schedule.dtype}: it was "
    held = f"{held}cast and cast back." if wide else f"The table is held in {dtype}."
    rebuilt = (
        ""
        if used or not evidence.get("phase_error")
        else (" Engines that rebuild it from the config are not affected.")
    )
    return Outcome(
        status=Status.FAIL,
        severity=severity,
        schedule=schedule.name,
        message=f"{held} {message}{rebuilt}",
        evidence={"dtype": dtype, "cast_back": wide, **evidence},
        location=place(schedule, "inv_freq"),
        fix=FIX,
    )
