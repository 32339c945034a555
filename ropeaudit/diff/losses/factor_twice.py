"""B's channels are divided by the square of what A's are."""

from __future__ import annotations

import math

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import near

NAME = "factor applied twice"
GRAVE = False


def detail(case: Case) -> str | None:
    plain, table = case.law_a.plain, case.a.inv_freq
    if not case.tables_differ or not case.law_a.scaled or plain is None or near(table, plain):
        return None
    if len(plain) != len(table):
        return None
    squared = [a * a / u if u else math.nan for a, u in zip(table, plain, strict=True)]
    if not near(case.b.inv_freq, squared, 2e-5):
        return None
    return f"B is A's table with the {case.law_a.words()} once more on top"
