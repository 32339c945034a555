"""Channels that turn in A and are exactly 0 in B."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import share

NAME = "channels stopped"
GRAVE = False


def detail(case: Case) -> str | None:
    stopped = [
        k
        for k, (a, b) in enumerate(zip(case.a.inv_freq, case.b.inv_freq, strict=False))
        if b == 0 and a != 0
    ]
    if not stopped:
        return None
    return f"{share(stopped, len(case.b.inv_freq))} 0 in B"
