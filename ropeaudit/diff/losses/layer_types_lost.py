"""One table for all layers, where A has one for each type of layer."""

from __future__ import annotations

from collections.abc import Sequence

from ropeaudit.diff.interface import Case
from ropeaudit.diff.law import is_bare
from ropeaudit.schedule.core import Schedule

NAME = "per-layer-type schedule lost"
GRAVE = True


def detail(case: Case) -> str | None:
    differ = case.tables_differ or case.scalings_differ
    if not differ or is_bare(case.a) or is_bare(case.b):
        return None
    types = sorted({s.layer_type for s in case.beside_a if s.layer_type and not is_bare(s)})
    if _tables(case.beside_a) < 2 or _tables(case.beside_b) != 1 or len(types) < 2:
        return None
    return f"A has a table each for {', '.join(types)}, B one for all layers"


def _tables(schedules: Sequence[Schedule]) -> int:
    """Distinct tables by layer type; variants of one law count once."""
    first: dict[str | None, Schedule] = {}
    for schedule in schedules:
        if not is_bare(schedule):
            first.setdefault(schedule.layer_type, schedule)
    return len({s.inv_freq for s in first.values()})
