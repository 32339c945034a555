"""An engine builds another schedule from this file than the reference does.

**What it checks.** What each engine makes of the config, against the reference, which is the newest
transformers: frequencies, attention and softmax factor, rotated width, layers without rotation and
pairing. It judges for the engines that are named (``--reader``, the setting ``reader``, or
``readers`` of a pack's rule); when none is named, it looks at the newest release of every engine
that is known, and at transformers 4.57, also as what converts for llama.cpp and CTranslate2. With
``all`` it looks at every known release, and judges them as engines that nobody named.

**Why it matters.** Most accidents happen so: the file is right, and an engine reads it with another
base or without its scaling, and says nothing.

**Passes when.** Every engine that loads the file builds the reference's schedule: 1e-5 in log, 1e-4
in the factors.

**Fails when.** One does not. For an engine that is named it has the rule's severity from a phase
drift of ``error_phase`` on, or when base, scaling, width, layers or a factor are others; a warning
from ``warning_phase``; below it is information. For an engine that nobody named, as with ``all``,
it is a warning where the file leaves it a choice: one schema only, spellings that conflict, a
number left to defaults, a key that the reference does not read. It is information where the file is
written as such files are and the engine alone is at fault. Engines with the same fault are then one
finding. An engine that was asked for and stops at the file says so itself: information. Unknown
when nothing is known about what an engine that is named does with such a model. Skipped for files
without a config. A GGUF file is what llama.cpp runs, so there it cannot read anything else: skipped
for llama.cpp, unknown for any other engine that is named.

**Exactness.** Tables of each engine's rules in float32, within 2e-5 in log of what the engines
themselves build. Phase drift is taken at the declared length, ``min(|a - b| * L, pi)``.

**Options.** ``readers``: names of engines to judge for; ``error_phase`` (pi/2) and
``warning_phase`` (0.1), in radians.

**References.** The source of each engine, named with files and lines in
``ropeaudit/readers/engines/``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ropeaudit.checks._engines import (
    RESPELL,
    Cause,
    Misreading,
    base_outside,
    conflicting,
    evidence,
    listed,
    location,
    misreadings,
    new_schema,
    null_schema,
    plural,
    worst,
)
from ropeaudit.checks._lengths import passed, place, skipped, unknown
from ropeaudit.checks.interface import Case
from ropeaudit.facts import Location
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record, replace
from ropeaudit.schedule.views import View

SLUG = "reader-disagreement"
NEEDS = "views"
FACTOR = 1e-2
"""A factor on the scores that is off by less changes them by less than bfloat16 resolves."""


@record()
class Params:
    readers: tuple[str, ...] = ()
    error_phase: float = math.pi / 2
    warning_phase: float = 0.1


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each engine that was asked for, else for each way of misreading the file."""
    beside = case.beside
    if not beside.views:
        yield skipped(beside.why or "no engine was looked at")
        return
    found = misreadings(case)
    for each in _grouped(found):
        yield _told(case, each, params)
    said = {m.reader for m in found}
    others = [_other(case, v) for v in beside.views if v.reader not in said]
    outcomes = [o for o in others if o is not None]
    yield from outcomes
    if not found and not outcomes:
        yield passed()


def _grouped(found: tuple[Misreading, ...]) -> Iterator[list[Misreading]]:
    """Engines that are named one by one; the others together, where they err alike."""
    groups: dict[object, list[Misreading]] = {}
    for each in found:
        same = (each.distance.words, each.cause is Cause.SPELLING)
        groups.setdefault(each.reader if each.asked else same, []).append(each)
    yield from groups.values()


def _told(case: Case, group: list[Misreading], params: Params) -> Outcome:
    first = group[0]
    names = [m.reader for m in group]
    builds = plural(names, "builds", "build")
    pair = worst(case, first)
    return Outcome(
        status=Status.FAIL,
        severity=_severity(first, params) if first.asked else _unasked(first, params),
        schedule=None if pair is None else pair[1].name,
        message=f"{listed(names)} {builds} another schedule from this file than the reference: "
        f"{', '.join(first.words)}{_drift(first)}.",
        evidence=evidence(case, first, names)
        | {"differs": list(first.words), "cause": first.cause.value, "asked": first.asked},
        location=_where(case, first),
        fix=_FIX[first.cause],
    )


_FIX = {
    Cause.SCHEMA: "Write the values in both schemas: ropeaudit normalise does it, and says which "
    "engines remain wrong.",
    Cause.PLACE: "Write the value beside rope_scaling and inside of it: ropeaudit normalise does "
    "it.",
    Cause.CONFLICT: "Write one value in every spelling: ropeaudit normalise does it.",
    Cause.DEFAULT: "State the number: ropeaudit normalise does it.",
    Cause.DEAD: "Remove what the reference does not read, if the weights were trained as it reads "
    "the file: ropeaudit normalise does it.",
    Cause.SPELLING: RESPELL,
}


def _severity(found: Misreading, params: Params) -> Severity | None:
    """For an engine that is named."""
    distance = found.distance
    factors = (distance.attention, distance.softmax)
    other = any(f is not None and abs(f - 1) > FACTOR for f in factors)
    if other or distance.width or distance.pairing or distance.layers:
        return None
    lost = any(w.startswith("base ") or " lost" in w for w in distance.words)
    drift = distance.max_phase_drift
    if drift >= params.error_phase or (lost and drift >= params.warning_phase):
        return None
    return Severity.WARNING if drift >= params.warning_phase else Severity.INFO


_AS_USUAL = (Cause.PLACE, Cause.SPELLING)
"""The file is as such files are, and the engine alone is at fault."""


def _unasked(found: Misreading, params: Params) -> Severity:
    own = _severity(found, params)
    most = Severity.INFO if found.cause in _AS_USUAL else Severity.WARNING
    return most if own is None else min(own, most)


def _drift(found: Misreading) -> str:
    drift = found.distance.max_phase_drift
    if drift >= math.pi:
        return "; phases part by half a turn or more"
    return f"; phases part by up to {drift:.2g} rad" if drift >= 1e-3 else ""


def _where(case: Case, found: Misreading) -> Location | None:
    pair = worst(case, found)
    ignored = next(iter(found.view.ignored), None)
    conflict = conflicting(case)
    if found.cause is Cause.CONFLICT and conflict is not None:
        return conflict.location
    pointer = {
        Cause.SCHEMA: new_schema(case),
        Cause.PLACE: ignored or base_outside(case),
        Cause.CONFLICT: null_schema(case),
    }.get(found.cause)
    named = location(case, pointer or ignored)
    if named is not None or pair is None:
        return named
    return place(pair[1], "rope_type", "factor", "rope_theta")


def _other(case: Case, view: View) -> Outcome | None:
    """An engine that builds the reference's schedule, stops, or is not known."""
    beside = case.beside
    if view.reader not in beside.asked or (view.status == "ok" and view.distance is not None):
        return None
    runs_it = view.status == "ok" and case.subject.format == "gguf"
    if runs_it:
        return skipped(f"{view.reader} runs this file as it is: nothing else stands beside it")
    reason = view.reason or "it builds nothing that could be compared"
    if view.status == "refuses":
        return Outcome(
            status=Status.FAIL,
            severity=Severity.INFO,
            message=f"{view.reader} does not load this file: {reason}.",
            evidence={"readers": [view.reader], "asked": view.reader in beside.singled},
            fix="Nothing to mend where this engine is not used; it stops loudly.",
        )
    if view.reader not in beside.singled:
        return skipped(f"{view.reader}: {reason}")
    said = unknown(None, f"{view.reader} cannot be judged: {reason}.")
    return replace(said, fix=_NOT_KNOWN_GGUF if case.subject.format == "gguf" else _NOT_KNOWN)


_NOT_KNOWN = "Compare what this engine builds by hand, or leave it out of the engines to judge for."
_NOT_KNOWN_GGUF = (
    "Audit the config that this engine loads beside the GGUF file, or leave it out of the engines "
    "to judge for."
)
