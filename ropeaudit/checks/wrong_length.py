"""A table, factor list or section list of the wrong length.

What it checks
    Lists that the reader found too long or too short (factor lists, sections that do not add up to
    half the rotary width, axis widths that do not divide), stored tables against the table that the
    config means, and axes that do not cover the channels.

Why it matters
    Each engine pads, cuts or broadcasts such a list in its own way; some crash, others run. A
    stored table of half the length means that someone rotates half the head.

Passes when
    Every list has the length that the rotary width asks for.

Fails when
    One does not. As a warning: axis widths that do not divide evenly.

Exactness
    Integers are compared. Unknown for a stored table beside a config from which no table can be
    derived.

Options
    None.

References
    Ding et al., 2402.13753 (one factor a channel); transformers ``modeling_rope_utils.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks._spectrum import counted, place
from ropeaudit.checks._words import sentence
from ropeaudit.checks.interface import Case
from ropeaudit.facts import Observation, Oddity
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

SLUG = "wrong-length"
NEEDS = "subject"

_UNREADABLE = frozenset({Oddity.TYPE_UNKNOWN, Oddity.MODEL_SPECIFIC})


@record()
class Params:
    pass


def run(case: Case, params: Params) -> Iterator[Outcome]:
    subject = case.subject
    noticed = [
        o for o in subject.observations if o.kind in (Oddity.LENGTH_MISMATCH, Oddity.ODD_SPLIT)
    ]
    yield from map(_noticed, noticed)
    named = {o.schedule for o in noticed}
    judged = bool(noticed)
    for schedule in subject.schedules:
        if schedule.name in named:
            continue
        outcome = _judge(case, schedule)
        if outcome is not None:
            judged = True
            yield outcome
    if not judged:
        yield Outcome(
            status=Status.SKIP,
            message="nothing states how long the table should be"
            if subject.schedules
            else "the input yields no frequency table",
        )


def _noticed(observation: Observation) -> Outcome:
    return Outcome(
        status=Status.FAIL,
        schedule=observation.schedule,
        severity=Severity.WARNING if observation.kind is Oddity.ODD_SPLIT else None,
        message=sentence(observation.message),
        evidence=dict(observation.evidence),
        location=observation.location,
    )


def _judge(case: Case, schedule: Schedule) -> Outcome | None:
    """None where there is nothing to hold the length against."""
    if schedule.variant == "stored":
        return _against_config(case, schedule)
    missing = _uncovered(schedule)
    if missing:
        return Outcome(
            status=Status.FAIL,
            schedule=schedule.name,
            message=f"{counted(missing).capitalize()} belong to no axis: the sections name "
            f"{len(schedule.inv_freq) - len(missing)} of {len(schedule.inv_freq)} channels.",
            evidence={
                "expected": len(schedule.inv_freq),
                "found": len(schedule.inv_freq) - len(missing),
            },
            location=place(schedule, "mrope_section", "axes"),
        )
    return Outcome(status=Status.PASS, schedule=schedule.name)


def _uncovered(schedule: Schedule) -> list[int]:
    if schedule.axes is None:
        return []
    covered: set[int] = set()
    for axis in schedule.axes:
        covered.update(range(axis.channels[0], axis.channels[1] + 1))
    return [
        k
        for k in range(len(schedule.inv_freq))
        if k not in covered and k not in schedule.static_channels
    ]


def _against_config(case: Case, schedule: Schedule) -> Outcome | None:
    built = [s for s in case.subject.built() if s.component == schedule.component]
    found = len(schedule.inv_freq)
    if not built:
        if any(o.kind in _UNREADABLE for o in case.subject.observations):
            return Outcome(
                status=Status.UNKNOWN,
                schedule=schedule.name,
                message=f"The stored table has {found} entries, and no table can be derived from "
                "the config to hold it against.",
                evidence={"expected": None, "found": found},
                location=place(schedule),
            )
        return None
    same = [s for s in built if s.layer_type == schedule.layer_type] or built
    lengths = sorted({len(s.inv_freq) for s in same})
    if found in lengths:
        return Outcome(status=Status.PASS, schedule=schedule.name)
    expected = " or ".join(map(str, lengths))
    return Outcome(
        status=Status.FAIL,
        schedule=schedule.name,
        message=f"The stored table has {found} entries, the config means {expected} "
        f"(rotary width {' or '.join(str(2 * n) for n in lengths)}).",
        evidence={"expected": lengths[0] if len(lengths) == 1 else lengths, "found": found},
        location=place(schedule),
    )
