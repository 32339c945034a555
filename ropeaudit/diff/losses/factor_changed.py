"""Both sides extend the context, by different factors."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses import factor_inverted, factor_twice
from ropeaudit.diff.losses._words import same_number

NAME = "factor changed"
GRAVE = False


def detail(case: Case) -> str | None:
    a, b = case.law_a.factor, case.law_b.factor
    if not (case.tables_differ or case.scalings_differ) or a is None or b is None:
        return None
    if not (case.law_a.scaled and case.law_b.scaled):
        return None
    fitted = case.law_a.fitted or case.law_b.fitted
    if same_number(a, b, 1e-3 if fitted else 1e-6):
        return None
    if any(kind.detail(case) is not None for kind in (factor_twice, factor_inverted)):
        return None
    if "longrope" in (case.law_a.kind, case.law_b.kind) and not case.scalings_differ:
        return None  # the lists hold the factors; this one only scales the attention
    return f"A has {a:.7g}, B {b:.7g}"
