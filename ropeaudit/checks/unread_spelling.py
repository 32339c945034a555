"""What is written is of a kind that some engine does not read.

**What it checks.** Keys and kinds of scaling that an engine passes over or stops at, wherever they
stand: ``attention_factor``, ``truncate``, the betas of yarn, dynamic
scaling, longrope outside of Phi-3, llama3 in CTranslate2, linear scaling in TGI. It names the
engines, among those that were asked for or else those in use.

**Why it matters.** Such a model needs an engine that reads it; the file itself is right.

**Passes when.** Every engine that knows this kind of model reads all that is written.

**Fails when.** One passes over a value that would change its schedule: information, and a warning
for an engine that is named. An engine that stops at it says so itself: information. Skipped
for files without a config.

**Exactness.** From what each engine passes over, by its own rules.

**Options.** None.

**References.** The source of each engine, named with files and lines in
``ropeaudit/readers/engines/``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ropeaudit.checks._engines import (
    RESPELL,
    Cause,
    Misreading,
    evidence,
    listed,
    location,
    misreadings,
)
from ropeaudit.checks._lengths import passed, skipped
from ropeaudit.checks.interface import Case
from ropeaudit.errors import quoted
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

SLUG = "unread-spelling"
NEEDS = "views"
_BLOCKS = ("rope_scaling", "rope_parameters")
_OF_SPELLING = re.compile(
    r"rope[_ ](?!embed)|rotary_|factor|mscale|original_max|"
    r"\b(?:yarn|dynamic|linear|longrope|llama3)\b"
)
"""Reasons of a refusal that speak of position keys, not of a kind of model."""


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each thing that is not read, or one that passes."""
    if not case.beside.views:
        yield skipped(case.beside.why or "no engine was looked at")
        return
    found = [*_passed_over(case), *_stopped_at(case)]
    yield from found or [passed()]


def _passed_over(case: Case) -> Iterator[Outcome]:
    unread: dict[str, list[Misreading]] = {}
    for each in misreadings(case):
        if each.cause is Cause.SPELLING:
            for key in _keys(case, each):
                unread.setdefault(key, []).append(each)
    for key, group in unread.items():
        names = [m.reader for m in group]
        yield Outcome(
            status=Status.FAIL,
            severity=None if any(m.asked for m in group) else Severity.INFO,
            message=f"{listed(names)} {'does' if len(names) == 1 else 'do'} not read {key} here.",
            evidence=evidence(case, group[0], names),
            location=location(case, _pointer(group[0], key)),
            fix=RESPELL,
        )


def _keys(case: Case, found: Misreading) -> Iterator[str]:
    """What is not read, as a person would call it: a key, or a kind of scaling."""
    leaves = dict.fromkeys(p.rsplit("/", 1)[-1] for p in found.view.ignored)
    single = [k for k in leaves if k not in _BLOCKS]
    inner = [k for k in single if k != "rope_theta"]
    if inner or (single and not any(k in leaves for k in _BLOCKS)):
        yield from (quoted(k) for k in (inner or single))
    elif leaves or any("dynamic" in w for w in found.words):
        kinds = {s.rope_type for s in case.subject.built()} - {"default", "axial"}
        yield f"{' or '.join(sorted(kinds))} scaling" if kinds else "these position values"


def _pointer(found: Misreading, key: str) -> str | None:
    ignored = found.view.ignored
    return next((p for p in ignored if p.rsplit("/", 1)[-1] == key), next(iter(ignored), None))


def _stopped_at(case: Case) -> Iterator[Outcome]:
    stops: dict[str, list[str]] = {}
    for view in case.beside.views:
        reason = view.reason or ""
        # What an engine that was asked for refuses is reader-disagreement's to say.
        refuses = view.status == "refuses" and view.reader not in case.beside.asked
        if refuses and _OF_SPELLING.search(reason):
            stops.setdefault(reason, []).append(view.reader)
    for reason, names in stops.items():
        yield Outcome(
            status=Status.FAIL,
            severity=Severity.INFO,
            message=f"{listed(names)} {'stops' if len(names) == 1 else 'stop'} at this file: "
            f"{reason}.",
            evidence={"readers": names},
            fix="Nothing to mend where this engine is not used; it stops loudly.",
        )
