"""The factor lists of a longrope model hold other values, as from another revision."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses import lists_swapped, one_list
from ropeaudit.diff.losses._words import same_number

NAME = "factor lists changed"
GRAVE = False


def detail(case: Case) -> str | None:
    a, b = case.law_a, case.law_b
    if not case.tables_differ or a.kind != "longrope" or b.kind != "longrope":
        return None
    if a.base is None or b.base is None or not same_number(a.base, b.base):
        return None
    if any(kind.detail(case) is not None for kind in (lists_swapped, one_list)):
        return None
    total = len(case.a.inv_freq)
    if len(case.b.inv_freq) != total:
        return None
    pairs = zip(case.a.inv_freq, case.b.inv_freq, strict=True)
    count = sum(not same_number(x, y) for x, y in pairs)
    which = f" {case.a.variant}" if case.a.variant else ""
    return f"{count} of {total}{which} factors differ, the base does not"
