"""What the length and scaling checks share: which schedules, which lengths, which place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from ropeaudit.checks._words import sentence
from ropeaudit.checks.interface import Case
from ropeaudit.facts import Location, Origin, as_number
from ropeaudit.findings import Outcome, Status
from ropeaudit.schedule.core import Schedule

UNSCALED = frozenset({"default", "axial", "stored", "learned", "proportional"})
"""Types that extend no context (``proportional`` may carry a factor, see its parameters)."""


def text(schedules: Iterable[Schedule]) -> tuple[Schedule, ...]:
    """Schedules whose positions are tokens, so that context lengths apply."""
    return tuple(s for s in schedules if s.is_text)


def each_text(case: Case, judge: Callable[[Schedule], Outcome]) -> Iterator[Outcome]:
    """What ``judge`` says of every text schedule; SKIP where there is none."""
    schedules = text(case.subject.schedules)
    if not schedules:
        yield skipped("no schedule turns with token positions")
    yield from map(judge, schedules)


def judged_lengths(case: Case, schedule: Schedule) -> tuple[int, ...]:
    """Lengths that this table really serves, sorted.

    A dynamic table ``@N`` serves length N; a longrope ``short`` table serves up to the trained
    length, ``long`` what lies beyond; any other table serves all lengths.
    """
    variant = schedule.variant or ""
    window = schedule.context.window
    if variant.startswith("@") and variant[1:].isdigit():
        length = int(variant[1:])
        return (min(length, window) if window else length,)
    lengths = case.lengths_for(schedule)
    trained = case.trained(schedule)
    if trained is None:
        return lengths
    if variant == "short":
        return tuple(n for n in lengths if n <= trained) or (trained,)
    if variant == "long":
        return tuple(n for n in lengths if n > trained) or lengths[-1:]
    return lengths


def declared(schedule: Schedule) -> int | None:
    """The declared length, limited by the attention window."""
    length, window = schedule.context.declared, schedule.context.window
    return min(length, window) if length and window else length


def number(schedule: Schedule, key: str) -> float | None:
    """A finite number among the scaling law's parameters or the facts, else None."""
    value = schedule.parameters.get(key)
    if value is None:
        fact = schedule.fact(key)
        value = None if fact is None else fact.value
    found = as_number(value)
    return found if found is not None and math.isfinite(found) else None


def stated(schedule: Schedule, key: str) -> bool:
    """Whether the input itself gives ``key`` (a file or an override, no default)."""
    fact = schedule.fact(key)
    return fact is not None and fact.origin in (Origin.FILE, Origin.OVERRIDE)


def place(schedule: Schedule, *fields: str) -> Location | None:
    """Where to mend it: the first of ``fields`` that has a place, else any place at all."""
    located = {f.field: f.location for f in reversed(schedule.provenance) if f.location}
    return next((located[f] for f in fields if f in located), next(iter(located.values()), None))


def finite(schedule: Schedule) -> bool:
    return all(map(math.isfinite, schedule.inv_freq))


def passed(schedule: Schedule | None = None) -> Outcome:
    return Outcome(status=Status.PASS, schedule=schedule.name if schedule else None)


def skipped(reason: str) -> Outcome:
    return Outcome(status=Status.SKIP, message=reason)


def unknown(schedule: Schedule | None, reason: str, place: Location | None = None) -> Outcome:
    return Outcome(
        status=Status.UNKNOWN,
        schedule=schedule.name if schedule else None,
        message=sentence(reason),
        location=place,
    )
