"""The factor on cos and sin is gone."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.measure import attention, within

NAME = "attention factor lost"
GRAVE = True


def detail(case: Case) -> str | None:
    a, b = attention(case.a, case.b)
    if a is None or b != 1.0 or within(a, b, case.tolerance):
        return None
    return f"cos and sin are multiplied by {a:.7g} in A, by 1 in B"
