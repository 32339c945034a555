"""What became of a target, and in which order and how often a page tells its findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ropeaudit.findings import Finding, Severity, Status
from ropeaudit.report._numbers import plural

if TYPE_CHECKING:
    from ropeaudit.facts import Location
    from ropeaudit.schedule.subject import Subject
    from ropeaudit.verdict import Report, SubjectReport

KINDS = ("unreadable", "fail", "unknown", "nothing to audit", "warn", "pass")
"""Each target is one of these; in the order in which they count."""


def kind(report: SubjectReport) -> str:
    """The verdict, or why there is none."""
    if report.subject.error is not None:
        return "unreadable"
    if not (report.subject.schedules or report.subject.encodings or report.findings):
        return "nothing to audit"
    return report.verdict.value


def summary(report: Report) -> list[str]:
    """``3 targets``, how many of each kind, and how many findings of each severity."""
    counts = report.counts
    kinds = Counter(map(kind, report.subjects))
    levels = [s.label for s in sorted(Severity, reverse=True) if counts[s.label]]
    undecided = counts["undecided"]
    return [
        plural(counts["subjects"], "target"),
        *(f"{kinds[k]:,} {k}" for k in KINDS if kinds[k]),
        *(plural(counts[level], level) for level in levels),
        *([f"{plural(undecided, 'rule')} undecided"] if undecided else []),
    ]


def rank(finding: Finding) -> int:
    """Errors, then what could not be decided, then the others: as verdicts weigh them."""
    if finding.status is Status.UNKNOWN:
        return 1
    return 0 if finding.severity is Severity.ERROR else 2 + Severity.WARNING - finding.severity


_CANNOT = " cannot be decided: "


def undecidable(findings: Sequence[Finding]) -> tuple[list[Finding], list[list[Finding]]]:
    """Findings that stand alone, and groups that could not be decided for one and the same reason.

    A table with one NaN leaves half of the rules undecided; the reason is told once.
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for f in findings:
        if f.status is Status.UNKNOWN and _CANNOT in f.message:
            reason = f.message.partition(_CANNOT)[2]
            groups.setdefault((f.schedule, f.location, reason), []).append(f)
    together = [group for group in groups.values() if len(group) > 1]
    grouped = {id(f) for group in together for f in group}
    return [f for f in findings if id(f) not in grouped], together


def told_once(group: Sequence[Finding]) -> tuple[str, str]:
    """The rules of such a group, and its one sentence."""
    rules = ", ".join(dict.fromkeys(f.rule for f in group))
    return rules, f"Cannot be decided: {group[0].message.partition(_CANNOT)[2]}"


IDLE = ("override_", "option_")
"""Beginnings of the kinds of notes that say so."""


def nearest_readers(report: Report) -> tuple[str, ...]:
    """What is said, once in a run, of a version whose rules are not known."""
    notes = (n for s in report.subjects for v in s.subject.views for n in v.notes)
    return tuple(dict.fromkeys(n.message for n in notes if n.kind == "nearest_reader"))


def idle_overrides(subject: Subject) -> list[str]:
    """What was asked for on the command line and did nothing: no page may leave that out."""
    return [n.message for n in subject.notes if n.kind.startswith(IDLE)]


def trouble(subject: Subject) -> Location | None:
    """Where in its file the value stands that makes a target unreadable, if that is known."""
    where = subject.error.where if subject.error else None
    document = subject.reading.document if subject.reading else None
    if where is None or document is None or not where.startswith("/"):
        return None
    found: Location = document.location(where)
    return found
