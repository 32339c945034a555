"""The length beyond which a longrope model takes its long list, whatever the tables are."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import about, same_number
from ropeaudit.diff.losses.original_changed import original

NAME = "switch between lists moved"
GRAVE = True


def detail(case: Case) -> str | None:
    a, b = original(case.a, case.law_a), original(case.b, case.law_b)
    if case.a.variant != case.b.variant or case.a.variant not in ("short", "long"):
        return None
    if a is None or b is None or same_number(a, b, 1e-3):
        return None
    return f"the long list serves what is beyond {about(a)} positions in A, {about(b)} in B"
