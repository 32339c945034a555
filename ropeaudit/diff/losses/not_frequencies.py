"""B holds values that are no frequencies, as memory that was never filled does."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import share, some

NAME = "no frequencies"
GRAVE = False
LARGEST = 1e4
"""Radians per position; no table in use comes near."""


def detail(case: Case) -> str | None:
    if not case.tables_differ:
        return None
    wrong = [
        k
        for k, (a, b) in enumerate(zip(case.a.inv_freq, case.b.inv_freq, strict=False))
        if not 0 <= b < LARGEST and 0 <= a < LARGEST
    ]
    if not wrong:
        return None
    which = share(len(wrong), len(case.b.inv_freq))
    return f"{which} negative, huge, infinite or NaN in B ({some(wrong)})"
