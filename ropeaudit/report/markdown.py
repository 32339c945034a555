"""Markdown: for a step summary, a pull request or an issue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit._version import __version__
from ropeaudit.errors import quoted
from ropeaudit.findings import Finding, Severity, Status
from ropeaudit.report import _numbers as show
from ropeaudit.report._kinds import (
    idle_overrides,
    kind,
    nearest_readers,
    rank,
    summary,
    told_once,
    trouble,
    undecidable,
)

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Encoding
    from ropeaudit.verdict import Report, SubjectReport

FORMAT = "markdown"

MAX_BYTES = 900_000
"""GitHub refuses a step summary above 1 MiB."""


def render(report: Report) -> str:
    """Verdict, a table of targets, then each target's findings, worst first."""
    parts = [
        f"## ropeaudit: {report.verdict.value}",
        "",
        ", ".join(summary(report)),
        "",
        "| verdict | target | errors | warnings | infos |",
        "|---|---|---:|---:|---:|",
        *map(_row, report.subjects),
        "",
    ]
    for subject in report.subjects:
        parts += _details(subject, min(report.fail_on, Severity.WARNING))
    parts += [line for said in nearest_readers(report) for line in (f"Note: {text(said)}", "")]
    packs = ", ".join(f"{code(p.name)} {code(p.version)}" for p in report.packs)
    parts.append(f"ropeaudit {__version__}, rules {packs}")
    return _limited(parts)


def _row(report: SubjectReport) -> str:
    counts = [
        sum(f.severity is level and f.status is Status.FAIL for f in report.findings)
        for level in (Severity.ERROR, Severity.WARNING, Severity.INFO)
    ]
    target = code(report.subject.target).replace("|", "\\|")
    cells = [kind(report), target, *map(str, counts)]
    return f"| {' | '.join(cells)} |"


def _details(report: SubjectReport, least: Severity) -> list[str]:
    subject = report.subject
    shown = [f for f in report.findings if f.severity >= least or f.status is Status.UNKNOWN]
    idle = idle_overrides(subject)
    encoded = bool(subject.schedules or subject.encodings)
    if not (shown or idle) and subject.error is None and encoded:
        return []
    lines = [f"### {code(subject.target)}", ""]
    if subject.error is not None:
        place = trouble(subject)
        at = "" if place is None else f", at {code(str(place))}"
        lines += [f"{text(subject.error.message)}{at}", ""]
    elif not encoded:
        lines += [*(text(n.message) for n in subject.notes), ""]
    lines += [f"- **note**: {text(said)}" for said in idle if encoded]
    lines += map(_encoding, subject.encodings)
    alone, together = undecidable(sorted(shown, key=rank))
    lines += [_item(f) for f in alone]
    lines += map(_one_for_all, together)
    return [*lines, ""] if shown or idle else lines


def _encoding(encoding: Encoding) -> str:
    from ropeaudit.report._encodings import describe, look_at

    return f"- **encoding** {code(encoding.name)}: {text(describe(look_at(encoding)))}"


def _item(finding: Finding) -> str:
    word = "unknown" if finding.status is Status.UNKNOWN else finding.severity.label
    parts = [f"- **{word}** {code(finding.rule)} {text(finding.name)}: {text(finding.message)}"]
    if finding.location is not None:
        parts.append(f"  - at {code(str(finding.location))}")
    if finding.evidence:
        parts.append(f"  - evidence {code(show.evidence(finding.evidence, full=False))}")
    if finding.fix:
        parts.append(f"  - fix: {text(finding.fix)}")
    return "\n".join(parts)


def _one_for_all(group: list[Finding]) -> str:
    rules, said = told_once(group)
    place = group[0].location
    at = [] if place is None else [f"  - at {code(str(place))}"]
    return "\n".join([f"- **unknown** {code(rules)}: {text(said)}", *at])


def code(value: str) -> str:
    """Foreign text as a code span that no content can leave."""
    plain = quoted(value, 2000)
    runs = [len(run) for run in "".join(c if c == "`" else " " for c in plain).split()]
    fence = "`" * (max(runs, default=0) + 1)
    space = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{space}{plain}{space}{fence}"


def text(value: str) -> str:
    """Foreign text as plain words: whatever Markdown or HTML would make of it is escaped."""
    return quoted(value, 2000).translate(_ESCAPES)


_ESCAPES = {
    **{ord(sign): f"\\{sign}" for sign in "\\`*_[]#|~"},
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    ord("&"): "&amp;",
    ord("@"): "@\u200b",  # nobody is to be notified by a model's name
}


def _limited(parts: list[str]) -> str:
    kept: list[str] = []
    size = 0
    for part in parts:
        size += len(part.encode("utf-8", "replace")) + 1
        if size > MAX_BYTES:
            kept.append("\n(cut here: the whole report is in the job's log)")
            break
        kept.append(part)
    return "\n".join(kept) + "\n"
