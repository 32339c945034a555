"""Layers that rotate on one side and have no positions on the other."""

from __future__ import annotations

from collections.abc import Sequence

from ropeaudit.diff.interface import Case
from ropeaudit.diff.law import is_bare
from ropeaudit.diff.losses._words import spans
from ropeaudit.schedule.core import Schedule

NAME = "rotated layers changed"
GRAVE = True


def detail(case: Case) -> str | None:
    if is_bare(case.a) or is_bare(case.b) or case.a.layers is None or case.b.layers is None:
        return None
    of_a, of_b = _served(case.beside_a), _served(case.beside_b)
    if not of_a or not of_b:
        return None
    both = min(max(of_a), max(of_b))
    lost = sorted(n for n in case.a.layers if n <= both and n not in of_b)
    new = sorted(n for n in case.b.layers if n <= both and n not in of_a)
    said = [f"layers {spans(lost)} rotate in A only"] if lost else []
    said += [f"layers {spans(new)} rotate in B only"] if new else []
    return "; ".join(said) or None


def _served(schedules: Sequence[Schedule]) -> set[int]:
    return {n for s in schedules if not is_bare(s) for n in s.layers or ()}
