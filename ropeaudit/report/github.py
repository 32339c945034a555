"""GitHub workflow commands: one annotation a finding, worst first.

GitHub shows about ten annotations of a step; so ten are written, and one more that says how many
there are in all. Everything is in the step summary (format ``markdown``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.errors import quoted
from ropeaudit.findings import Finding, Severity, Status
from ropeaudit.report._numbers import plural

if TYPE_CHECKING:
    from ropeaudit.verdict import Report

FORMAT = "github"
MACHINE = True

SHOWN = 10
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report) -> str:
    """Annotations, worst first, then a line with the verdict."""
    found: list[tuple[int, str]] = []
    for subject in report.subjects:
        target = subject.subject.target
        error = subject.subject.error
        if error is not None:
            found.append((4, _command("error", "unreadable", quoted(error.message, 1000), target)))
        found += [(_rank(f), _annotation(f, target)) for f in subject.findings]
    found.sort(key=lambda pair: -pair[0])  # stable: equals stay in the order of the targets
    lines = [line for _, line in found[:SHOWN]]
    if len(found) > SHOWN:
        total = plural(len(found), "finding")
        lines.append(_command("notice", "ropeaudit", f"{total} in all, {SHOWN} of them annotated"))
    lines.append(f"ropeaudit: {report.verdict.value}, {plural(len(report.subjects), 'target')}")
    return "\n".join(lines) + "\n"


def _rank(finding: Finding) -> int:
    """Failures by severity; what is undecided ranks with warnings."""
    return Severity.WARNING if finding.status is Status.UNKNOWN else finding.severity


def _annotation(finding: Finding, target: str) -> str:
    undecided = finding.status is Status.UNKNOWN
    kind = "warning" if undecided else _COMMANDS[finding.severity]
    title = f"{finding.rule} {finding.name}{' (undecided)' if undecided else ''}"
    place = finding.location
    inner = (place.pointer or place.tensor or place.key) if place else None
    parts = [quoted(finding.message, 2000)]
    if inner:
        parts.append(f"At {quoted(inner, 300)}.")
    if finding.fix:
        parts.append(f"Fix: {quoted(finding.fix, 500)}")
    file = place.file if place else target
    return _command(kind, title, "\n".join(parts), file, place.line if place else None)


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
