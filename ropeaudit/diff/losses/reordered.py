"""The values of A in another order."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import near

NAME = "channels reordered"
GRAVE = False


def detail(case: Case) -> str | None:
    a, b = case.a.inv_freq, case.b.inv_freq
    if not case.tables_differ or len(a) != len(b) or not all(v == v for v in (*a, *b)):
        return None
    if near(a, b) or not near(sorted(a), sorted(b)):
        return None
    order = "from the last to the first" if near(a, reversed(b)) else "in another order"
    return f"B holds the values of A {order}"
