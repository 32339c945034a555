"""Channels follow other coordinates (time, height, width) than in A."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.law import is_bare
from ropeaudit.diff.losses._words import spans
from ropeaudit.schedule.core import Schedule

NAME = "position axes changed"
GRAVE = False


def detail(case: Case) -> str | None:
    a, b = case.a, case.b
    if is_bare(a) or is_bare(b) or len(a.inv_freq) != len(b.inv_freq):
        return None
    if a.axes is None and b.axes is None:
        return None
    if a.axes is None or b.axes is None:
        side = "A" if a.axes is not None else "B"
        names = ", ".join(dict.fromkeys(x.axis for x in (a.axes or b.axes or ())))
        return f"the channels of {side} are shared out among the coordinates {names}, on one only"
    left, right = _coordinates(a), _coordinates(b)
    moved = [k for k, (x, y) in enumerate(zip(left, right, strict=True)) if x != y]
    return f"channels {spans(moved)} follow another coordinate in B" if moved else None


def _coordinates(schedule: Schedule) -> list[frozenset[str]]:
    found: list[set[str]] = [set() for _ in schedule.inv_freq]
    for axis in schedule.axes or ():
        first, last = axis.channels
        for k in range(first, min(last, len(found) - 1) + 1):
            found[k].add(axis.axis)
    return [frozenset(names) for names in found]
