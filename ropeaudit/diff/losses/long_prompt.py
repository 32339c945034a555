"""A stored table of dynamic scaling that was left as an earlier long prompt made it."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.law import Law
from ropeaudit.diff.losses._words import about
from ropeaudit.schedule.core import Schedule

NAME = "state of a long prompt"
GRAVE = False


def detail(case: Case) -> str | None:
    for side, law, schedule, table in (
        ("B", case.law_a, case.a, case.law_b),
        ("A", case.law_b, case.b, case.law_a),
    ):
        reached = _reached(law, schedule, table) if case.tables_differ else None
        if reached is not None:
            return f"the table of {side} is that of a prompt of about {about(reached)} positions"
    return None


def _reached(law: Law, schedule: Schedule, table: Law) -> int | None:
    """The prompt's length, by which dynamic scaling would have grown the base to the table's."""
    if law.kind != "dynamic" or not table.fitted or table.scaled:
        return None
    if law.base is None or law.factor is None:
        return None
    declared, dim = schedule.context.declared, schedule.rotary_dim
    if table.base is None or table.base <= law.base * 1.001 or not declared or dim <= 2:
        return None
    growth: float = (table.base / law.base) ** ((dim - 2) / dim)
    return round(declared * (growth + law.factor - 1) / law.factor)
