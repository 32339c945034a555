"""B has only the first channels of A's table."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import near, plural

NAME = "channels dropped"
GRAVE = True


def detail(case: Case) -> str | None:
    n, m = len(case.a.inv_freq), len(case.b.inv_freq)
    if not 0 < m < n or not near(case.a.inv_freq[:m], case.b.inv_freq):
        return None
    return f"B has the first {plural(m, 'channel')} of A's {n} and not the rest"
