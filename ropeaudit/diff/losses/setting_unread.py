"""B states something about positions that its engine does not read, or not like this.

Two files of one format may give the same table here and other tables elsewhere.
"""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.facts import Observation, Oddity

NAME = "setting not read"
GRAVE = False
KINDS = frozenset(
    {Oddity.KEY_IGNORED, Oddity.KEY_MISSPELT, Oddity.NOT_APPLIED, Oddity.OUT_OF_RANGE,
     Oddity.TYPE_MISSING, Oddity.PER_LAYER_IGNORED}
)  # fmt: skip


def detail(case: Case) -> str | None:
    if case.subject_a.format != case.subject_b.format:
        return None  # formats differ in what they can say at all
    before = {_identity(o) for o in case.subject_a.observations}
    new = [
        o
        for o in case.subject_b.observations
        if o.kind in KINDS and _identity(o) not in before and _concerns(o, case)
    ]
    return "; ".join(dict.fromkeys(f"in B, {o.message}" for o in new)) or None


def _identity(observation: Observation) -> tuple[object, ...]:
    place = observation.location
    where = None if place is None else (place.pointer or place.key or place.tensor)
    return observation.kind, where, repr(observation.evidence.get("value"))


def _concerns(observation: Observation, case: Case) -> bool:
    if observation.schedule is not None:
        return observation.schedule == case.b.name
    return case.b is case.subject_b.schedules[0]
