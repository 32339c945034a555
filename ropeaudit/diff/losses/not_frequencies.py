"""One side holds values that are no frequencies, as memory that was never filled does."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import share

NAME = "no frequencies"
GRAVE = False
LARGEST = 1e4
"""Radians per position; no table in use comes near."""


def detail(case: Case) -> str | None:
    if not case.tables_differ:
        return None
    a, b = case.a.inv_freq, case.b.inv_freq
    for side, held, other in (("B", b, a), ("A", a, b)):
        wrong = [
            k
            for k, (v, there) in enumerate(zip(held, other, strict=False))
            if not 0 <= v < LARGEST and 0 <= there < LARGEST
        ]
        if wrong:
            which = share(wrong, len(held))
            return f"{which} negative, huge, infinite or NaN in {side}"
    return None
