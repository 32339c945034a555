"""Another part of the head rotates."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.law import is_bare
from ropeaudit.schedule.core import Schedule

NAME = "wrong rotary width"
GRAVE = True


def detail(case: Case) -> str | None:
    n, m = len(case.a.inv_freq), len(case.b.inv_freq)
    if n == m:
        return None
    return (
        f"{_said('A', case.a)}, {_said('B', case.b)} ({n} and {m} channels), so channel by channel "
        "they turn other dimensions"
    )


def _said(side: str, schedule: Schedule) -> str:
    width = schedule.rotary_dim
    if is_bare(schedule):
        return f"the table of {side} is for {width} dimensions"
    of = f" of {schedule.head_dim}" if schedule.head_dim not in (None, width) else ""
    return f"{side} rotates {width}{of} dimensions"
