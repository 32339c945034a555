"""The length that the extension counts from is another one."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.law import Law
from ropeaudit.diff.losses._words import about, same_number
from ropeaudit.schedule.core import Schedule

NAME = "wrong original length"
GRAVE = False
KEY = "original_max_position_embeddings"


def detail(case: Case) -> str | None:
    a, b = original(case.a, case.law_a), original(case.b, case.law_b)
    if a is None or b is None or same_number(a, b, 1e-3):
        return None
    if not (case.law_a.scaled and case.law_b.scaled):
        return None
    if not (case.tables_differ or case.scalings_differ):
        return None
    declared = case.b.context.declared
    its_own = ", its declared length" if declared and same_number(b, declared) else ""
    return f"{about(a)} positions in A, {about(b)} in B{its_own}"


def original(schedule: Schedule, law: Law) -> float | None:
    """The length in positions; None where the law has none."""
    if schedule.rope_type == "dynamic":
        return schedule.context.declared  # the law counts from the declared length
    return law.number(KEY)
