"""B extends a context that A does not."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses import long_prompt

NAME = "scaling added"
GRAVE = False


def detail(case: Case) -> str | None:
    differ = case.tables_differ or case.scalings_differ
    if not differ or case.law_a.scaled or not case.law_b.scaled or case.law_a.kind is None:
        return None
    if long_prompt.detail(case) is not None:
        return None
    return f"B has {case.law_b.words()}, A has none"
