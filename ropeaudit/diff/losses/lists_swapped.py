"""The two factor lists of a longrope model changed places."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import near
from ropeaudit.schedule.core import Schedule

NAME = "short and long swapped"
GRAVE = False


def detail(case: Case) -> str | None:
    if not case.tables_differ or case.a.variant != case.b.variant:
        return None
    a, b = other_list(case.a, case.beside_a), other_list(case.b, case.beside_b)
    if a is None or b is None:
        return None
    if near(case.a.inv_freq, b.inv_freq) and near(a.inv_freq, case.b.inv_freq):
        return f"the {case.b.variant} table of B is the {a.variant} one of A, and the other way"
    return None


def other_list(schedule: Schedule, beside: object) -> Schedule | None:
    """The ``long`` schedule of a ``short`` one, and the other way round."""
    other = {"short": "long", "long": "short"}.get(schedule.variant or "")
    found = beside if isinstance(beside, list) else []
    return next(
        (s for s in found if s.variant == other and s.layer_type == schedule.layer_type), None
    )
