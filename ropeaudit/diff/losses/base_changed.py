"""Both sides have a base of their own, and it is another one."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.law import Law
from ropeaudit.diff.losses import base_defaulted, long_prompt
from ropeaudit.diff.losses._words import about, same_number

NAME = "base changed"
GRAVE = False


def detail(case: Case) -> str | None:
    a, b = case.law_a, case.law_b
    if not case.tables_differ or a.base is None or b.base is None:
        return None
    fitted = a.fitted or b.fitted
    if same_number(a.base, b.base, 1e-3 if fitted else 1e-6):
        return None
    if base_defaulted.detail(case) is not None or long_prompt.detail(case) is not None:
        return None
    widths = a.dimension, b.dimension
    if fitted and None not in widths and widths[0] != widths[1]:
        return None  # a table fixes ln(base)/width only, and the widths differ
    return f"{_said('A', a.base, a)}, {_said('B', b.base, b)}"


def _said(side: str, base: float, law: Law) -> str:
    shown = about(base) if base >= 1000 and base == int(base) else f"{base:.7g}"
    rounded = f", rounded to {law.rounded}" if law.rounded else ""
    if law.fitted:
        return f"the table of {side} fits base {shown}{rounded}"
    return f"{side} has base {shown}"
