"""B multiplies by what A divides by."""

from __future__ import annotations

import math

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import remade

NAME = "factor inverted"
GRAVE = False


def detail(case: Case) -> str | None:
    if not remade(case, lambda scaled, plain: plain * plain / scaled if scaled else math.nan):
        return None
    return f"B is multiplied by the factors that A is divided by ({case.law_a.words()})"
