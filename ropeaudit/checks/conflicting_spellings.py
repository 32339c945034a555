"""Spellings that conflict, or a schema that is null, make engines take different sides.

**What it checks.** Where a file says two things (``type`` and ``rope_type``, old and new schema) or
has a null ``rope_parameters`` beside a ``rope_scaling``: which engines build something else than
the reference because of it, among those that were asked for or else those in use. That the two
contradict is ignored-key's to say; this names who takes which.

**Why it matters.** Each engine goes by its own order of spellings, so one file is several models.

**Passes when.** Nothing conflicts, or every engine that loads the file takes the same side.

**Fails when.** They differ: a warning; information where ignored-key reports the same conflict
already, unless an engine that is named is concerned. Skipped for files without a config.

**Exactness.** From the schedules that the engines build.

**Options.** None.

**References.** ``transformers/modeling_rope_utils.py`` (5.24 takes ``rope_type``, 4.57 ``type``);
llama.cpp ``conversion/base.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks._engines import (
    Cause,
    Misreading,
    conflicting,
    evidence,
    listed,
    location,
    misreadings,
    null_schema,
    plural,
)
from ropeaudit.checks._lengths import passed, skipped
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

SLUG = "conflicting-spellings"
NEEDS = "views"


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome."""
    if not case.beside.views:
        yield skipped(case.beside.why or "no engine was looked at")
        return
    sides = [m for m in misreadings(case) if m.cause is Cause.CONFLICT]
    yield _told(case, sides) if sides else passed()


def _told(case: Case, sides: list[Misreading]) -> Outcome:
    by_words: dict[tuple[str, ...], list[str]] = {}
    for each in sides:
        by_words.setdefault(each.words, []).append(each.reader)
    taken = "; ".join(
        f"{listed(names)} {plural(names, 'builds', 'build')} {', '.join(words)}"
        for words, names in by_words.items()
    )
    conflict = conflicting(case)
    known = conflict is not None and not any(m.asked for m in sides)
    what = "Spellings that conflict" if conflict is not None else "A rope_parameters that is null"
    names = [m.reader for m in sides]
    return Outcome(
        status=Status.FAIL,
        severity=Severity.INFO if known else None,
        message=f"{what} {'make' if conflict is not None else 'makes'} engines take different "
        f"sides: {taken}.",
        evidence=evidence(case, sides[0], names),
        location=conflict.location if conflict else location(case, null_schema(case)),
        fix="Write one value in every spelling: ropeaudit normalise does it for the side that the "
        "reference takes.",
    )
