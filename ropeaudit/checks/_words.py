"""How findings are worded: full sentences, numbers as people read them."""

from __future__ import annotations

_PROSE = frozenset({"a", "an", "the", "no", "neither", "it", "whether"})
"""First words that take a capital; a key or an engine's name keeps its own spelling."""


def sentence(clause: str) -> str:
    """What a reader or a check noticed, as one sentence with a capital and a full stop."""
    first = clause.partition(" ")[0]
    begun = clause[:1].upper() + clause[1:] if first in _PROSE else clause
    return begun if begun.endswith(".") else f"{begun}."


def about(value: float) -> str:
    """A number for a sentence: thousands separated, at most four significant digits otherwise."""
    if 1000 <= abs(value) < 1e15 and value == int(value):
        return f"{int(value):,}"
    return f"{value:.4g}"
