"""A's context extension is gone: B is the plain table."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses import long_prompt

NAME = "scaling dropped"
GRAVE = True


def detail(case: Case) -> str | None:
    differ = case.tables_differ or case.scalings_differ
    if not differ or not case.law_a.scaled or case.law_b.scaled:
        return None
    if case.law_b.kind is None or long_prompt.detail(case) is not None:
        return None
    had = f"A has {case.law_a.words()}"
    return f"{had}, the table of B has none" if case.law_b.fitted else f"{had}, B has none"
