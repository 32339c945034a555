"""GitHub workflow commands: one annotation a finding, worst first.

GitHub shows about ten annotations of a step; so ten are written, and one more that says how many
there are in all. What is for information only marks no line, unless the gate fails on it: every
healthy model has some. All that gets a line here is in the step summary too (``markdown``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.errors import quoted
from ropeaudit.findings import Finding, Severity, Status
from ropeaudit.report._kinds import (
    idle_overrides,
    kind,
    nearest_readers,
    told_once,
    trouble,
    undecidable,
)
from ropeaudit.report._numbers import plural

if TYPE_CHECKING:
    from ropeaudit.verdict import Report

FORMAT = "github"

SHOWN = 10
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report) -> str:
    """Annotations, worst first, then a line with the verdict."""
    found: list[tuple[int, str]] = []
    least = min(report.fail_on, Severity.WARNING)
    for subject in report.subjects:
        target = subject.subject.target
        error = subject.subject.error
        if error is not None:
            place = trouble(subject.subject)
            spot = (place.file, place.line) if place else (target, None)
            found.append((4, _command("error", "unreadable", quoted(error.message, 1000), *spot)))
        elif kind(subject) == "nothing to audit":
            why = " ".join(n.message for n in subject.subject.notes) or "no rotary schedule"
            found.append((2, _command("warning", "nothing to audit", quoted(why, 1000), target)))
        found += [
            (2, _command("warning", "override", quoted(said, 1000), target))
            for said in idle_overrides(subject.subject)
        ]
        alone, together = undecidable(
            [f for f in subject.findings if f.severity >= least or f.status is Status.UNKNOWN]
        )
        found += [(_rank(f), _annotation(f, target)) for f in alone]
        found += [(_rank(group[0]), _one_for_all(group, target)) for group in together]
    found += [
        (2, _command("warning", "reader", quoted(said, 1000))) for said in nearest_readers(report)
    ]
    found.sort(key=lambda pair: -pair[0])  # stable: equals stay in the order of the targets
    lines = [line for _, line in found[:SHOWN]]
    if len(found) > SHOWN:
        total = plural(len(found), "finding")
        lines.append(_command("notice", "ropeaudit", f"{total} in all, {SHOWN} of them annotated"))
    told = [f"ropeaudit: {report.verdict.value}", plural(len(report.subjects), "target")]
    if report.counts["info"] and least > Severity.INFO:
        told.append(plural(report.counts["info"], "info"))
    lines.append(", ".join(told))
    return "\n".join(lines) + "\n"


def _rank(finding: Finding) -> int:
    """Failures by severity; what is undecided ranks with warnings."""
    return Severity.WARNING if finding.status is Status.UNKNOWN else finding.severity


def _annotation(finding: Finding, target: str) -> str:
    undecided = finding.status is Status.UNKNOWN
    word = "warning" if undecided else _COMMANDS[finding.severity]
    title = f"{finding.rule} {finding.name}{' (undecided)' if undecided else ''}"
    place = finding.location
    inner = (place.pointer or place.tensor or place.key) if place else None
    parts = [quoted(finding.message, 2000)]
    if inner:
        parts.append(f"At {quoted(inner, 300)}.")
    if finding.fix:
        parts.append(f"Fix: {quoted(finding.fix, 500)}")
    return _command(word, title, "\n".join(parts), *_spot(finding, target))


def _one_for_all(group: list[Finding], target: str) -> str:
    rules, said = told_once(group)
    return _command("warning", f"{rules} (undecided)", quoted(said, 2000), *_spot(group[0], target))


def _spot(finding: Finding, target: str) -> tuple[str, int | None]:
    place = finding.location
    return (place.file, place.line) if place else (target, None)


def _command(kind: str, title: str, text: str, file: str = "", line: int | None = None) -> str:
    properties = []
    if file and file != "-":
        properties.append(f"file={_property(quoted(file, 4096))}")
        properties += [f"line={line}"] if line else []
    properties.append(f"title={_property(quoted(title))}")
    return f"::{kind} {','.join(properties)}::{escape(text)}"


def escape(text: str) -> str:
    """Message text: the percent sign first, or the escapes themselves would be escaped."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return escape(text).replace(":", "%3A").replace(",", "%2C")
