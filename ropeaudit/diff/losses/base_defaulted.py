"""The base of A is gone and the default stands in its place."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import about, same_number

NAME = "base defaulted"
GRAVE = True
USUAL = 10_000.0
"""What engines, converters and config classes fall back to."""


def detail(case: Case) -> str | None:
    a, b = case.law_a.base, case.law_b.base
    if not case.tables_differ or a is None or b is None or same_number(a, b, 1e-4):
        return None
    if case.law_b.base_defaulted:
        return f"A has base {about(a)}, B states none and falls back to {about(b)}"
    if same_number(b, USUAL, 1e-4):
        verb = "fits" if case.law_b.fitted else "has"
        return f"A has base {about(a)}, B {verb} {about(b)}, the usual default"
    return None
