"""Claims of a certificate, each decided again from its schedule and compared in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ropeaudit.verifier import distance, methods, recovery, structure, vectors
from ropeaudit.verifier.formats import SHORT
from ropeaudit.verifier.numbers import Undecided
from ropeaudit.verifier.reading import (
    Refused,
    keyed,
    listed,
    same,
    shown,
)
from ropeaudit.verifier.schedules import Schedule
from ropeaudit.verifier.structure import Outcome

_ABOUT_FORMS: dict[str, Callable[[Schedule], Outcome]] = {
    "form": distance.form,
    "distinct": structure.distinct,
    "relations": structure.relations,
    "geometric": structure.geometric,
    "aliasing": structure.aliasing,
}
CLAIMS = (
    *("form", "recovery", "distinct"),
    *(f"distinct:{short}" for short in SHORT),
    *("relations", "geometric", "aliasing"),
)
"""Every claim about a schedule, in the order of a certificate; ``candidates`` may follow."""
CANDIDATES = "candidates"


def check(given: Any, schedules: Sequence[Schedule], where: str = "/claims") -> list[str]:
    """The status of every claim. Raises Refused for the first that is not as it should be."""
    entries = listed(given, where)
    asked = CANDIDATES in (e.get("claim") for e in entries if isinstance(e, dict))
    names = (*CLAIMS, CANDIDATES) if asked else CLAIMS
    expected = [(schedule, name) for schedule in schedules for name in names]
    for place, (entry, (schedule, name)) in enumerate(zip(entries, expected, strict=False)):
        _check_place(entry, schedule, name, f"{where}/{place}")
    if len(entries) != len(expected):
        raise Refused(
            f"{where}: expected {len(expected)} claims, {len(names)} for each schedule, found "
            f"{len(entries)}"
        )
    return [
        _check(entry, schedule, name, f"{where}/{place}")
        for place, (entry, (schedule, name)) in enumerate(zip(entries, expected, strict=True))
    ]


def _check_place(given: Any, schedule: Schedule, name: str, where: str) -> None:
    entry = keyed(given, ("target", "schedule", "claim", "status", "method", "evidence"), where)
    same(schedule.target, entry["target"], f"{where}/target")
    same(schedule.name, entry["schedule"], f"{where}/schedule")
    same(name, entry["claim"], f"{where}/claim")


def _check(given: dict[str, Any], schedule: Schedule, name: str, where: str) -> str:
    place = f"{where}/evidence"
    if name in _ABOUT_FORMS:
        status, method, evidence = _about_form(given, schedule, name, place)
    else:
        status, evidence = _about_table(given, schedule, name, place)
        method = methods.about_table(name, status)
    same(status, given["status"], f"{where}/status")
    same(evidence, given["evidence"], place)
    same(method, given["method"], f"{where}/method")
    return status


def _about_form(
    given: dict[str, Any], schedule: Schedule, name: str, where: str
) -> tuple[str, str, dict[str, Any]]:
    """Status, method and evidence as they should be."""
    if schedule.terms is None:
        return "undecided", methods.NO_FORM, {"reason": schedule.why_not}
    kind = _kind(schedule)
    if name == "relations" and kind == methods.LOGARITHMS:
        return "undecided", methods.NO_THEOREM, {"reason": methods.NO_THEOREM}
    told = given["status"]
    if told == "undecided":  # what far fewer bits decide is not undecided
        schedule = replace(schedule, bits=schedule.bits // 4)
    try:
        status, evidence = _ABOUT_FORMS[name](schedule)
    except Undecided:
        if told != "undecided":
            raise Refused(
                f"{where}: enclosures as narrow as this verifier makes them do not decide it, "
                f"so {shown(told)} cannot be checked"
            ) from None
        evidence = {"reason": methods.NOT_NARROW, "bits": 2 * schedule.bits}
        return "undecided", methods.NOT_NARROW, evidence
    if name == "distinct" and status == "proved" and structure.ordered(schedule):
        return status, methods.MONOTONE, evidence
    return status, methods.method(name, kind, status), evidence


def _kind(schedule: Schedule) -> str:
    turning = [t for k, t in enumerate(schedule.terms or ()) if k not in schedule.static]
    if vectors.has_logarithms(turning):
        return methods.LOGARITHMS
    return methods.PI if vectors.has_pi(turning) else methods.ALGEBRAIC


def _about_table(given: dict[str, Any], schedule: Schedule, name: str, where: str) -> Outcome:
    if name == CANDIDATES:
        reason = methods.PROVES_NOTHING
        return recovery.candidates(schedule, given["evidence"], reason, where)
    if name != "recovery":
        return recovery.distinct_in(schedule, name.partition(":")[2])
    return recovery.recovery(schedule, given["evidence"], where)


def counts(statuses: Sequence[str]) -> Iterator[int]:
    """How many are proved, refuted and undecided."""
    for status in ("proved", "refuted", "undecided"):
        yield statuses.count(status)
