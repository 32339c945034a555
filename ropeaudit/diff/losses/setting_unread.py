"""One side states something about positions that its engine does not read, or not like this.

Two files of one format may give the same table here and other tables elsewhere.
"""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.facts import Observation, Oddity
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject

NAME = "setting not read"
GRAVE = False
KINDS = frozenset(
    {Oddity.KEY_IGNORED, Oddity.KEY_MISSPELT, Oddity.NOT_APPLIED, Oddity.OUT_OF_RANGE,
     Oddity.TYPE_MISSING, Oddity.PER_LAYER_IGNORED}
)  # fmt: skip


def detail(case: Case) -> str | None:
    a, b = case.subject_a, case.subject_b
    if a.format != b.format:
        return None  # formats differ in what they can say at all
    said = [f"in A, {o.message}" for o in _alone(a, b) if _concerns(o, case.a, a)]
    said += [f"in B, {o.message}" for o in _alone(b, a) if _concerns(o, case.b, b)]
    return "; ".join(dict.fromkeys(said)) or None


def _alone(subject: Subject, other: Subject) -> list[Observation]:
    """What only this side states without effect."""
    there = {_identity(o) for o in other.observations}
    return [o for o in subject.observations if o.kind in KINDS and _identity(o) not in there]


def _identity(observation: Observation) -> tuple[object, ...]:
    place = observation.location
    where = None if place is None else (place.pointer or place.key or place.tensor)
    return observation.kind, where, repr(observation.evidence.get("value"))


def _concerns(observation: Observation, schedule: Schedule, subject: Subject) -> bool:
    if observation.schedule is not None:
        return observation.schedule == schedule.name
    return schedule is subject.schedules[0]
