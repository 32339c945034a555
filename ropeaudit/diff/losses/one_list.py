"""One factor list serves all lengths, where A has two."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import near
from ropeaudit.diff.losses.lists_swapped import other_list

NAME = "one factor list for all lengths"
GRAVE = False


def detail(case: Case) -> str | None:
    a = other_list(case.a, case.beside_a)
    if not case.tables_differ or a is None or near(case.a.inv_freq, a.inv_freq):
        return None
    if not near(case.b.inv_freq, a.inv_freq):
        return None
    b = other_list(case.b, case.beside_b)
    if b is not None and not near(b.inv_freq, case.b.inv_freq):
        return None
    return f"B uses the {a.variant} list of A where A uses the {case.a.variant} one"
