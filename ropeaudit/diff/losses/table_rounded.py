"""One side holds the other's table in a narrower format."""

from __future__ import annotations

from ropeaudit.checks._laws import relation
from ropeaudit.diff.interface import Case

NAME = "table rounded"
GRAVE = False


def detail(case: Case) -> str | None:
    if not case.tables_differ:
        return None
    for holder, held, law, source in (
        ("B", case.b, case.a, "A"),
        ("A", case.a, case.b, "B"),
    ):
        dtype = relation(law.inv_freq, held)
        if dtype not in (None, "equal"):
            wide = "" if held.dtype == dtype else f", although it is {held.dtype} now"
            return f"{holder} holds the table of {source} rounded to {dtype}{wide}"
    return None
