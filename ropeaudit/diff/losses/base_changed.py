"""Both sides have a base of their own, and it is another one."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.law import Law
from ropeaudit.diff.losses import base_defaulted
from ropeaudit.diff.losses._words import about

NAME = "base changed"
GRAVE = False


def detail(case: Case) -> str | None:
    found = base_defaulted.bases(case)
    if found is None or base_defaulted.detail(case) is not None:
        return None
    a, b = found
    return f"{_said('A', a, case.law_a)}, {_said('B', b, case.law_b)}"


def _said(side: str, base: float, law: Law) -> str:
    shown = about(base) if base >= 1000 and base == int(base) else f"{base:.7g}"
    rounded = f", rounded to {law.rounded}" if law.rounded else ""
    if law.fitted:
        return f"the table of {side} fits base {shown}{rounded}"
    return f"{side} has base {shown}"
