"""A stored table of dynamic scaling that was left as an earlier long prompt made it."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import about

NAME = "state of a long prompt"
GRAVE = False


def detail(case: Case) -> str | None:
    a, b = case.law_a, case.law_b
    if not case.tables_differ or a.kind != "dynamic" or not b.fitted or b.scaled:
        return None
    if a.base is None or b.base is None or a.factor is None or not b.base > a.base * 1.001:
        return None
    declared, dim = case.a.context.declared, case.a.rotary_dim
    if not declared or dim <= 2:
        return None
    growth = (b.base / a.base) ** ((dim - 2) / dim)
    reached = declared * (growth + a.factor - 1) / a.factor
    return f"the table of B is that of a prompt of about {about(round(reached))} positions"
