"""Every frequency of a bare table is the same multiple of A's."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import near

NAME = "all frequencies multiplied"
GRAVE = False


def detail(case: Case) -> str | None:
    a, b = case.a.inv_freq, case.b.inv_freq
    if not case.tables_differ or len(a) != len(b) or not a or not a[0] or not b[0]:
        return None
    if not (case.law_a.fitted or case.law_b.fitted):
        return None  # the laws of both sides say it better
    ratio = b[0] / a[0]
    if not near(b, [v * ratio for v in a], 1e-5) or near(a, b, 1e-5):
        return None
    return f"every value of B is {ratio:.6g} times that of A"
