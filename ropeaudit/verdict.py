"""What a run concludes: findings under rules, a verdict per subject, an exit code for the whole."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from ropeaudit.document import Document
from ropeaudit.facts import Location, Oddity
from ropeaudit.findings import Finding, Outcome, Severity, Skipped, Status, Verdict
from ropeaudit.packs import Pack, Rule
from ropeaudit.records import record
from ropeaudit.schedule.subject import Subject


@record(kw_only=True)
class SubjectReport:
    """One subject with what the rules said of it."""

    subject: Subject
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    suppressed: int = 0


@record(kw_only=True)
class Report:
    """A whole run. ``packs`` are the packs whose rules were applied."""

    packs: tuple[Pack, ...]
    subjects: tuple[SubjectReport, ...]
    fail_on: Severity = Severity.ERROR
    allow_unknown: bool = False
    skipped_targets: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of the subjects' verdicts; unknown when nothing was audited."""
        order = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN, Verdict.PASS)
        present = {s.verdict for s in self.subjects}
        return next((v for v in order if v in present), Verdict.UNKNOWN)

    @property
    def counts(self) -> dict[str, int]:
        """Subjects by verdict, findings by severity, unreadable and suppressed ones."""
        findings = [f for s in self.subjects for f in s.findings]
        found = {v.value: sum(s.verdict is v for s in self.subjects) for v in Verdict}
        for level in Severity:
            found[level.label] = sum(
                f.severity is level and f.status is Status.FAIL for f in findings
            )
        found["undecided"] = sum(f.status is Status.UNKNOWN for f in findings)
        found["unreadable"] = sum(s.subject.error is not None for s in self.subjects)
        found["suppressed"] = sum(s.suppressed for s in self.subjects)
        found["subjects"] = len(self.subjects)
        return found

    @property
    def exit_code(self) -> int:
        """2 unreadable input, 1 a finding at or above fail_on, 3 unknown or nothing audited, 0."""
        if any(s.subject.error for s in self.subjects):
            return 2
        if any(s.verdict is Verdict.FAIL for s in self.subjects):
            return 1
        if not self.subjects and self.skipped_targets:
            return 0
        if not any(s.subject.schedules or s.subject.encodings for s in self.subjects):
            return 3
        undecided = any(s.verdict is Verdict.UNKNOWN for s in self.subjects)
        return 3 if undecided and not self.allow_unknown else 0


def finding(outcome: Outcome, rule: Rule, subject: Subject) -> Finding:
    severity = rule.severity
    if outcome.severity is not None:
        severity = min(severity, outcome.severity)
    location = _with_line(outcome.location, subject)
    return Finding(
        rule=rule.id,
        name=rule.name,
        severity=severity,
        status=outcome.status,
        schedule=outcome.schedule,
        message=outcome.message,
        evidence=outcome.evidence,
        location=location,
        fix=outcome.fix or rule.fix or None,
        fingerprint=fingerprint(rule.id, outcome, location),
    )


def _with_line(location: Location | None, subject: Subject) -> Location | None:
    document = subject.reading.document if subject.reading else None
    if (
        location is None
        or location.line is not None
        or location.pointer is None
        or not isinstance(document, Document)
        or document.file != location.file
    ):
        return location
    return document.location(location.pointer)


def fingerprint(rule: str, outcome: Outcome, location: Location | None) -> str:
    """Identity of a finding across edits: rule, relative file, place and rounded evidence.

    Neither line nor message takes part, so moving a key or rewording changes nothing.
    """
    file = Path(location.file) if location else None
    if file is not None and file.is_absolute() and file.is_relative_to(Path.cwd()):
        file = file.relative_to(Path.cwd())
    place = (location.pointer or location.tensor or location.key) if location else None
    parts = [
        rule, outcome.schedule, file.as_posix() if file else None, place,
        _rounded(outcome.evidence),
    ]  # fmt: skip
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(k): _rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return [_rounded(v) for v in items]
    return value if isinstance(value, str | int | None) else str(value)


def judge(subject: Subject, findings: Sequence[Finding], fail_on: Severity) -> Verdict:
    """A subject's verdict.

    A model type that nobody knows may build anything: never a pass, unless the table itself is
    there (stored or live) and the rules have judged that.
    """
    failed = [f.severity for f in findings if f.status is Status.FAIL]
    if any(level >= fail_on for level in failed):
        return Verdict.FAIL
    generic = any(o.kind is Oddity.GENERIC_READING for o in subject.observations)
    guessed = generic and not (subject.stored() or _is_stored(subject))
    empty = not (subject.schedules or subject.encodings)
    if guessed or empty or any(f.status is Status.UNKNOWN for f in findings):
        return Verdict.UNKNOWN
    return Verdict.WARN if any(f >= Severity.WARNING for f in failed) else Verdict.PASS


def _is_stored(subject: Subject) -> bool:
    """Whether an encoding's parameters themselves are there."""
    facts = (f for e in subject.encodings for f in e.provenance)
    return any(f.location is not None and f.location.tensor for f in facts)
