"""Findings for people: errors first, the same thing said once, what says little counted.

A block a finding: severity, rule and schedules, then message, place, evidence and fix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from ropeaudit.findings import Finding, Severity, Status
from ropeaudit.records import record
from ropeaudit.report import _numbers as show
from ropeaudit.report._kinds import rank, told_once, undecidable
from ropeaudit.report._misread import is_of_others, lines
from ropeaudit.report._terminal import Ink, safe

if TYPE_CHECKING:
    from ropeaudit.verdict import SubjectReport

_INDENT = 4
_LABEL = 10
_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def findings(ink: Ink, report: SubjectReport, *, least: Severity, full: bool) -> None:
    """Findings of one subject from ``least`` on, or all with ``-v``; the rest is counted.

    What is undecided is always told. ``full``: blank lines between findings, and the count.
    """
    others = [
        f
        for f in report.findings
        if is_of_others(f) and not ink.view.verbose and (full or f.severity >= least)
    ]
    told = [f for f in report.findings if f not in others]
    shown = [
        f for f in told if ink.view.verbose or f.severity >= least or f.status is Status.UNKNOWN
    ]
    alone, together = (shown, []) if ink.view.verbose else undecidable(shown)
    blocks: list[tuple[int, Callable[[], None]]] = [
        (rank(said.finding), partial(_finding, ink, said))
        for said in _merged(sorted(alone, key=rank), rules_apart=ink.view.verbose)
    ]
    blocks += [(rank(group[0]), partial(_undecidable, ink, group)) for group in together]
    if others:
        blocks.append((min(map(rank, others)), partial(lines, ink, others, _COLORS)))
    blocks.sort(key=lambda block: block[0])  # stable: rules stay in their order
    for _, draw in blocks:
        if full:
            ink.line()
        draw()
    _rest(ink, report, [f for f in told if f not in shown], full=full)


def _rest(ink: Ink, report: SubjectReport, hidden: Sequence[Finding], *, full: bool) -> None:
    """What is counted, not shown: infos, rules that do not apply, suppressed findings."""
    start = len(ink.lines)
    if hidden and full:
        names = Counter(f"{f.rule} {safe(f.name)}" for f in hidden)
        listed = ", ".join(n if c == 1 else f"{n} ×{c}" for n, c in names.items())
        ink.paragraph(f"{show.plural(len(hidden), 'info')} (-v shows): {listed}",
                      indent=2, style="dim")  # fmt: skip
    if report.skipped and full:
        _skipped_rules(ink, report)
    if report.suppressed:
        ink.line((f"  {show.plural(report.suppressed, 'finding')} suppressed", "dim"))
    if len(ink.lines) > start and full:
        ink.lines.insert(start, "")


def _undecidable(ink: Ink, group: Sequence[Finding]) -> None:
    first = group[0]
    rules, said = told_once(group)
    where = f"  {safe(first.schedule)}" if first.schedule else ""
    ink.line("  ", ("unknown", "magenta"), " ", (rules, "bold"), (where, "cyan"))
    ink.paragraph(f"{safe(said)} (-v shows each)", indent=_INDENT)
    if first.location:
        place = show.place(first.location)
        ink.paragraph(place, indent=_INDENT + _LABEL, label=" " * _INDENT + "at")


@record()
class _Said:
    """A finding with the schedules and the other rules of which the same is said."""

    finding: Finding
    schedules: list[str]
    also: list[str]


def _merged(findings: Sequence[Finding], *, rules_apart: bool) -> list[_Said]:
    """What is said once: the same of several schedules, or by several rules, the worst first."""
    groups: dict[tuple[object, ...], _Said] = {}
    for f in findings:
        rule = (f.rule, f.fix) if rules_apart else None
        what = (rule, f.status, f.message, f.location, repr(f.evidence))
        said = groups.setdefault(what, _Said(f, [], []))
        name = safe(f.schedule) if f.schedule else None
        if name and name not in said.schedules:
            said.schedules.append(name)
        if f.rule != said.finding.rule and f.rule not in said.also:
            said.also.append(f.rule)
    return list(groups.values())


def _finding(ink: Ink, said: _Said) -> None:
    finding = said.finding
    undecided = finding.status is Status.UNKNOWN
    word = "unknown" if undecided else finding.severity.label
    color = "magenta" if undecided else _COLORS[finding.severity]
    where = f"  {', '.join(said.schedules)}" if said.schedules else ""
    name = "".join([f" {safe(finding.name)}", *(f", {rule}" for rule in said.also)])
    ink.line("  ", (word, color), " ", (finding.rule, "bold"), name, (where, "cyan"))
    ink.paragraph(safe(finding.message), indent=_INDENT)
    rows = [
        ("at", show.place(finding.location) if finding.location else ""),
        ("evidence", show.evidence(finding.evidence, full=ink.view.verbose)),
        ("fix", safe(finding.fix or "")),
    ]
    for label, text in rows:
        if text:
            ink.paragraph(text, indent=_INDENT + _LABEL, label=" " * _INDENT + label)


def _skipped_rules(ink: Ink, report: SubjectReport) -> None:
    if not ink.view.verbose:
        rules = ", ".join(_spans(_applied_nowhere(report)))
        if rules:
            ink.paragraph(f"not applicable (-v says why): {rules}", indent=2, style="dim")
        return
    for skipped in report.skipped:
        text = f"{skipped.rule} not applicable: {safe(skipped.reason)}"
        ink.paragraph(text, indent=2, style="dim")


def _spans(rules: Sequence[str]) -> Iterator[str]:
    """``RA701–RA711`` for more than two ids in a row, of which a page of encodings has many."""

    def begin(item: tuple[int, str]) -> int | str:
        index, rule = item
        number = rule.removeprefix("RA")
        return int(number) - index if number != rule and number.isdecimal() else rule

    for _, group in groupby(enumerate(rules), key=begin):
        row = [rule for _, rule in group]
        yield from [f"{row[0]}–{row[-1]}"] if len(row) > 2 else row


def _applied_nowhere(report: SubjectReport) -> list[str]:
    """Rules that were skipped for the whole subject, and not only for some of its schedules."""
    names = {s.name for s in report.subject.schedules}
    names |= {e.name for e in report.subject.encodings}
    skipped: dict[str, set[str]] = {}
    for s in report.skipped:
        name = s.reason.partition(": ")[0]
        skipped.setdefault(s.rule, set()).update({name} if name in names else names)
    found = {f.rule for f in report.findings}
    return [rule for rule, of in skipped.items() if of >= names and rule not in found]
