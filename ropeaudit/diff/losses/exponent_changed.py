"""The exponent runs over another width: same base, same number of channels, another slope."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.law import Law
from ropeaudit.diff.losses._words import near
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families.interface import powers, reciprocal

NAME = "exponent over another width"
GRAVE = False


def detail(case: Case) -> str | None:
    if not case.tables_differ or case.law_a.scaled or case.law_b.scaled:
        return None
    if len(case.a.inv_freq) != len(case.b.inv_freq) or near(case.a.inv_freq, case.b.inv_freq):
        return None
    a, b = _runs(case.a, case.law_a, case.b), _runs(case.b, case.law_b, case.a)
    if a is None or b is None or a == b:
        return None
    return f"it runs over {a} in A and over {b} in B"


def _runs(schedule: Schedule, law: Law, other: Schedule) -> int | None:
    """What the exponent runs over, with the base of this schedule or that of the other."""
    n = len(schedule.inv_freq)
    heads = {s.head_dim for s in (schedule, other)} | {schedule.rotary_dim, other.rotary_dim}
    known = {w for w in heads if w} | {2 * w for w in heads if w} | {n, 2 * n}
    for base in dict.fromkeys((law.base if not law.fitted else None, other.rope_theta)):
        if base is None or base <= 0:
            continue
        for width in sorted(known):
            if near(schedule.inv_freq, reciprocal(powers(base, width, n)), 1e-4):
                return width
    return None
