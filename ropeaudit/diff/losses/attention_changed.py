"""The factor on cos and sin is another one."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import same_number
from ropeaudit.diff.measure import attention, within

NAME = "attention factor changed"
GRAVE = False


def detail(case: Case) -> str | None:
    a, b = attention(case.a, case.b)
    if a is None or b is None or b == 1.0 or within(a, b, case.tolerance):
        return None
    why = ""
    factor = case.law_a.factor
    if a != 1.0 and same_number(b, a * a, 1e-5):
        why = "; it is applied twice"
    elif factor is not None and same_number(b, factor, 1e-5):
        why = "; that is the scaling factor itself"
    return f"cos and sin are multiplied by {a:.7g} in A, by {b:.7g} in B{why}"
