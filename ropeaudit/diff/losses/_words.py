"""What the kinds of loss share: near tables, numbers in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ropeaudit.checks._words import about
from ropeaudit.diff.law import Law

NEAR = 4e-6
"""Relative distance of two evaluations of one formula, some roundings to float32 apart."""

__all__ = [
    "NEAR", "about", "near", "parameter_pair", "plural", "same_number", "share", "some",
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


def some(numbers: Sequence[int], limit: int = 6) -> str:
    """``3, 7, 11``, cut with a count."""
    listed = ", ".join(map(str, numbers[:limit]))
    return listed if len(numbers) <= limit else f"{listed}, ... ({len(numbers)} in all)"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def share(count: int, total: int) -> str:
    """``1 of 64 channels is``, ``3 of 64 channels are``."""
    return f"{count} of {total} channels {'is' if count == 1 else 'are'}"
