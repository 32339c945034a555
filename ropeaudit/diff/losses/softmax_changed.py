"""The extra factor on the logits is another one."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.measure import softmax, within

NAME = "softmax scale changed"
GRAVE = False


def detail(case: Case) -> str | None:
    a, b = softmax(case.a, case.b)
    if a is None or b is None or b == 1.0 or within(a, b, case.tolerance):
        return None
    return f"the logits are multiplied by {a:.7g} in A, by {b:.7g} in B"
