"""Engines that nobody asked for and that would misread a file: a line each, not a block each."""

from __future__ import annotations

from collections.abc import Sequence

from ropeaudit.findings import Finding, Severity, Status
from ropeaudit.report._terminal import Ink, pad, safe, width_of

_INDENT = 4


def is_of_others(finding: Finding) -> bool:
    """Whether it says what an engine builds that the user did not ask for."""
    evidence = finding.evidence
    other = evidence.get("asked") is False and "differs" in evidence
    return finding.status is Status.FAIL and other


def lines(ink: Ink, findings: Sequence[Finding], colors: dict[Severity, str]) -> None:
    """A heading with the gravest severity, and each engine with what it does otherwise."""
    gravest = max(f.severity for f in findings)
    first = findings[0]
    said = "engines that would build another schedule (-v says more)"
    ink.line(
        "  ", (gravest.label, colors[gravest]), " ", (first.rule, "bold"), f" {safe(first.name)}: ",
        (said, "dim"),
    )  # fmt: skip
    rows = [(safe(r), f) for f in findings for r in f.evidence["readers"]]
    width = max(width_of(name) for name, _ in rows)
    for name, finding in rows:
        ink.paragraph(
            safe(", ".join(finding.evidence["differs"])),
            indent=_INDENT + width + 2,
            label=" " * _INDENT + pad(name, width),
        )
