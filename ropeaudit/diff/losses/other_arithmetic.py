"""The same law, computed in another order or precision."""

from __future__ import annotations

from ropeaudit.diff.interface import ARITHMETIC_ULP, Case
from ropeaudit.schedule.float32 import ulp_distance

NAME = "another order of arithmetic"
GRAVE = False


def detail(case: Case) -> str | None:
    a, b = case.a.inv_freq, case.b.inv_freq
    if not case.tables_differ or len(a) != len(b):
        return None
    steps = [ulp_distance(x, y) for x, y in zip(a, b, strict=True)]
    most = max((ARITHMETIC_ULP + 1 if s is None else s for s in steps), default=0)
    if not case.tolerance < most <= ARITHMETIC_ULP:
        return None
    return (
        f"the tables part by up to {most} float32 steps, as other roundings of one formula do "
        f"(--ulp {ARITHMETIC_ULP} lets them pass)"
    )
