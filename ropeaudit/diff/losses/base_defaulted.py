"""The base of A is gone and the default stands in its place."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses import long_prompt
from ropeaudit.diff.losses._words import about, same_number

NAME = "base defaulted"
GRAVE = True
USUAL = 10_000.0
"""What engines, converters and config classes fall back to."""


def bases(case: Case) -> tuple[float, float] | None:
    """The bases of A and B where they differ; None where a table does not fix its own."""
    a, b = case.law_a, case.law_b
    if not case.tables_differ or a.base is None or b.base is None:
        return None
    fitted = a.fitted or b.fitted
    if same_number(a.base, b.base, 1e-3 if fitted else 1e-6):
        return None
    if fitted and None not in (a.dimension, b.dimension) and a.dimension != b.dimension:
        return None  # a table fixes ln(base)/width only, and the widths differ
    return None if long_prompt.detail(case) is not None else (a.base, b.base)


def detail(case: Case) -> str | None:
    found = bases(case)
    if found is None:
        return None
    a, b = found
    if case.law_b.base_defaulted:
        return f"A has base {about(a)}, B states none and falls back to {about(b)}"
    if same_number(b, USUAL, 1e-4):
        verb = "fits" if case.law_b.fitted else "has"
        return f"A has base {about(a)}, B {verb} {about(b)}, the usual default"
    return None
