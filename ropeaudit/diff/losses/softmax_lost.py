"""The extra factor on the logits is gone."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.measure import softmax, within

NAME = "softmax scale lost"
GRAVE = True


def detail(case: Case) -> str | None:
    a, b = softmax(case.a, case.b)
    if a is None or b != 1.0 or within(a, b, case.tolerance):
        return None
    return f"the logits are multiplied by {a:.7g} in A, by 1 in B"
