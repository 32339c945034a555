"""What the kinds of loss share: near tables, numbers in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ropeaudit.checks._spectrum import channels as spans
from ropeaudit.checks._words import about
from ropeaudit.diff.interface import Case
from ropeaudit.diff.law import Law

NEAR = 4e-6
"""Relative distance of two evaluations of one formula, some roundings to float32 apart."""

__all__ = [
    "NEAR", "about", "near", "parameter_pair", "plural", "remade", "same_number", "share", "spans",
]  # fmt: skip


def near(a: Sequence[float], b: Iterable[float], relative: float = NEAR) -> bool:
    """Whether two tables agree channel by channel; NaN agrees with nothing."""
    other = list(b)
    return len(a) == len(other) and all(
        x == y or abs(x - y) <= relative * abs(y) for x, y in zip(a, other, strict=True)
    )


def same_number(a: float, b: float, relative: float = 1e-6) -> bool:
    return abs(a - b) <= relative * max(abs(a), abs(b))


def parameter_pair(a: Law, b: Law, key: str, relative: float = 1e-6) -> tuple[float, float] | None:
    """The parameter ``key`` on both sides, where both state it and it differs."""
    left, right = a.number(key), b.number(key)
    if left is None or right is None or same_number(left, right, relative):
        return None
    return left, right


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def share(found: Sequence[int], total: int) -> str:
    """``channel 3 of 64 is``, ``18 of 32 channels (14-31) are``."""
    if len(found) == 1:
        return f"channel {found[0]} of {total} is"
    return f"{len(found)} of {total} channels ({spans(found)}) are"


def remade(case: Case, change: Callable[[float, float], float]) -> bool:
    """Whether B is what ``change`` makes of each scaled value of A and the plain one under it."""
    plain, table = case.law_a.plain, case.a.inv_freq
    if not case.tables_differ or not case.law_a.scaled or plain is None or near(table, plain):
        return False
    if len(plain) != len(table):
        return False
    return near(case.b.inv_freq, map(change, table, plain), 2e-5)
