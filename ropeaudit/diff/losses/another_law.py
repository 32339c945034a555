"""Both sides are scaled, or both are not, by laws of different names."""

from __future__ import annotations

from ropeaudit.diff.interface import Case

NAME = "another law"
GRAVE = False
_UNNAMED = frozenset({None, "ramp", "stored", "learned"})


def detail(case: Case) -> str | None:
    a, b = case.law_a, case.law_b
    if not case.tables_differ or a.kind == b.kind or a.scaled != b.scaled:
        return None
    if a.kind in _UNNAMED or b.kind in _UNNAMED:
        return None
    return f"A has {a.words()}, B {b.words()}"
