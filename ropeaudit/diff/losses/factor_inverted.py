"""B multiplies by what A divides by."""

from __future__ import annotations

import math

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import near

NAME = "factor inverted"
GRAVE = False


def detail(case: Case) -> str | None:
    plain, table = case.law_a.plain, case.a.inv_freq
    if not case.tables_differ or not case.law_a.scaled or plain is None or near(table, plain):
        return None
    if len(plain) != len(table):
        return None
    inverted = [u * u / a if a else math.nan for a, u in zip(table, plain, strict=True)]
    if not near(case.b.inv_freq, inverted, 2e-5):
        return None
    return f"B is multiplied by the factors that A is divided by ({case.law_a.words()})"
