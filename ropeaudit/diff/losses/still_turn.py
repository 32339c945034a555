"""Channels that stand still in A by design, and turn in B."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import share

NAME = "still channels turn"
GRAVE = False


def detail(case: Case) -> str | None:
    turning = [
        k
        for k, (a, b) in enumerate(zip(case.a.inv_freq, case.b.inv_freq, strict=False))
        if a == 0 and b != 0
    ]
    if not turning:
        return None
    return f"{share(turning, len(case.a.inv_freq))} 0 in A only"
