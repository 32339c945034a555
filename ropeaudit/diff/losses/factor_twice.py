"""B's channels are divided by the square of what A's are."""

from __future__ import annotations

import math

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import remade

NAME = "factor applied twice"
GRAVE = False


def detail(case: Case) -> str | None:
    if not remade(case, lambda scaled, plain: scaled * scaled / plain if plain else math.nan):
        return None
    return f"B is A's table with the {case.law_a.words()} once more on top"
