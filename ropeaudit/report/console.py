"""The page for people: verdict first, schedules, a picture of each spectrum, findings by severity.

Many targets make a short page: what passes is one line each, or one line in all. ``-v`` shows
everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ropeaudit._version import __version__
from ropeaudit.findings import Finding, Severity, Status, Verdict
from ropeaudit.report import _numbers as show
from ropeaudit.report._schedules import picture, table
from ropeaudit.report._terminal import Ink, View, safe

if TYPE_CHECKING:
    from ropeaudit.facts import Fact
    from ropeaudit.schedule.core import Schedule
    from ropeaudit.schedule.subject import Subject
    from ropeaudit.verdict import Report, SubjectReport

FORMAT = "console"
MACHINE = False

FEW = 5
"""Up to so many targets each get their schedules and pictures."""
MANY_PASSES = 30
"""From so many on, targets that pass are counted, not listed."""
MANY_PICTURES = 6
"""Tables of one target that are drawn without being asked."""
_INDENT = 4
_LABEL = 10

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def render(report: Report, view: View | None = None) -> str:
    """The whole report; ``view`` says how it may look (default: as for a file)."""
    ink = Ink(view or View())
    few = len(report.subjects) <= FEW or ink.view.verbose
    quiet_passes = not ink.view.verbose and _passes(report) >= MANY_PASSES
    blank = False
    for subject in report.subjects:
        dull = _is_dull(subject)
        if dull and quiet_passes:
            continue
        if blank and (few or not dull):
            ink.line()
        _subject(ink, subject, full=few)
        blank = True
    if quiet_passes:
        ink.line((f"{_passes(report):,} more targets pass without an error or a warning", "dim"))
    if report.skipped_targets:
        _skipped_targets(ink, report.skipped_targets)
    if ink.lines:
        ink.line()
    _summary(ink, report)
    return ink.text()


def render_schedules(subjects: Sequence[Subject], view: View | None = None) -> str:
    """What ``show`` prints: every schedule of every subject."""
    ink = Ink(view or View())
    for subject in subjects:
        if ink.lines:
            ink.line()
        ink.line(*_heading(subject))
        _problem_or_notes(ink, subject)
        _schedules(ink, subject, pictures=True)
        if ink.view.verbose:
            for schedule in subject.schedules:
                _values(ink, schedule.name, schedule.inv_freq)
                _sources(ink, schedule.name, schedule.provenance, subject)
    return ink.text()


def _passes(report: Report) -> int:
    return sum(map(_is_dull, report.subjects))


def _is_dull(subject: SubjectReport) -> bool:
    return subject.verdict is Verdict.PASS


def _subject(ink: Ink, report: SubjectReport, *, full: bool) -> None:
    word, style = _badge(report)
    subject = report.subject
    ink.line((f" {word} ", style), " ", *_heading(subject))
    _problem_or_notes(ink, subject)
    if full:
        _schedules(ink, subject, pictures=True)
    if full and report.findings:
        ink.line()
    _findings(ink, report, full=full)


def _heading(subject: Subject) -> tuple[tuple[str, str], ...]:
    known = (t for t in (subject.format, subject.model_type) if t and t != "unknown")
    return (safe(subject.target), "bold"), (f"  {' · '.join(map(safe, known))}", "dim")


def _badge(report: SubjectReport) -> tuple[str, str]:
    if report.subject.error is not None:
        return "UNREADABLE", "fail"
    if not report.subject.schedules and not report.findings:
        return "NOTHING TO AUDIT", "none"
    return report.verdict.value.upper(), report.verdict.value


def _problem_or_notes(ink: Ink, subject: Subject) -> None:
    if subject.error is not None:
        ink.paragraph(safe(subject.error.message), indent=_INDENT, style="red")
    for note in subject.notes:
        ink.paragraph(f"note: {safe(note.message)}", indent=_INDENT, style="dim")


def _schedules(ink: Ink, subject: Subject, *, pictures: bool) -> None:
    if not subject.schedules:
        return
    ink.line()
    table(ink, subject.schedules)
    if not pictures:
        return
    first: dict[tuple[float, ...], Schedule] = {}
    for schedule in subject.schedules:
        first.setdefault(schedule.inv_freq, schedule)
    drawn = list(first.values())
    shown = drawn if ink.view.verbose else drawn[:MANY_PICTURES]
    for schedule in shown:
        ink.line()
        if len(subject.schedules) > 1:
            ink.line(("  " + safe(schedule.name), "bold"))
        picture(ink, schedule)
    if len(shown) < len(drawn):
        ink.line()
        ink.line((f"  {len(drawn) - len(shown)} more tables (-v draws them)", "dim"))


def _findings(ink: Ink, report: SubjectReport, *, full: bool) -> None:
    shown = [
        f
        for f in report.findings
        if ink.view.verbose or f.severity > Severity.INFO or f.status is Status.UNKNOWN
    ]
    for number, (finding, schedules) in enumerate(_merged(shown)):
        if number and full:
            ink.line()
        _finding(ink, finding, schedules)
    hidden = [f for f in report.findings if f not in shown]
    if hidden and full:
        if shown:
            ink.line()
        names = Counter(f"{f.rule} {safe(f.name)}" for f in hidden)
        listed = ", ".join(n if c == 1 else f"{n} ×{c}" for n, c in names.items())
        ink.paragraph(f"{show.plural(len(hidden), 'info')} (-v shows): {listed}",
                      indent=2, style="dim")  # fmt: skip
    if report.skipped and full:
        _skipped_rules(ink, report)
    if report.suppressed:
        ink.line((f"  {show.plural(report.suppressed, 'finding')} suppressed", "dim"))


def _merged(findings: Sequence[Finding]) -> list[tuple[Finding, list[str]]]:
    """Findings that say the same of several schedules, as one with all their names."""
    groups: dict[tuple[object, ...], tuple[Finding, list[str]]] = {}
    for f in findings:
        said = (f.rule, f.status, f.severity, f.message, f.location, repr(f.evidence), f.fix)
        names = groups.setdefault(said, (f, []))[1]
        if f.schedule:
            names.append(safe(f.schedule))
    return list(groups.values())


def _finding(ink: Ink, finding: Finding, schedules: Sequence[str]) -> None:
    undecided = finding.status is Status.UNKNOWN
    word = "unknown" if undecided else finding.severity.label
    color = "magenta" if undecided else _COLORS[finding.severity]
    where = f"  {', '.join(schedules)}" if schedules else ""
    ink.line(
        "  ", (word, color), " ", (finding.rule, "bold"), f" {safe(finding.name)}", (where, "cyan")
    )
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
        rules = ", ".join(dict.fromkeys(s.rule for s in report.skipped))
        ink.paragraph(f"not applicable (-v says why): {rules}", indent=2, style="dim")
        return
    for skipped in report.skipped:
        text = f"{skipped.rule} not applicable: {safe(skipped.reason)}"
        ink.paragraph(text, indent=2, style="dim")


def _skipped_targets(ink: Ink, targets: Sequence[str]) -> None:
    if not ink.view.verbose:
        ink.line((f"{show.plural(len(targets), 'target')} skipped as not recognised", "dim"))
        return
    for target in targets:
        ink.line((f"skipped as not recognised: {safe(target)}", "dim"))


def _summary(ink: Ink, report: Report) -> None:
    counts = report.counts
    if not report.subjects:
        ink.line("nothing audited", (f"  · ropeaudit {__version__}", "dim"))
        return
    parts = [show.plural(counts["subjects"], "target")]
    parts += [f"{counts[v.value]:,} {v.value}" for v in Verdict if counts[v.value]]
    if counts["unreadable"]:
        parts.append(f"{counts['unreadable']:,} unreadable")
    levels = [s for s in sorted(Severity, reverse=True) if counts[s.label]]
    parts += [show.plural(counts[s.label], s.label) for s in levels]
    packs = ", ".join(f"{safe(p.name)} {safe(p.version)}" for p in report.packs)
    ink.line(
        (report.verdict.value, _verdict_color(report.verdict)),
        (f"  {' · '.join(parts)}", None),
        (f"  · ropeaudit {__version__}, rules {packs}", "dim"),
    )


def _verdict_color(verdict: Verdict) -> str:
    return {"fail": "red", "unknown": "magenta", "warn": "yellow", "pass": "green"}[verdict.value]


def _values(ink: Ink, name: str, values: Sequence[float]) -> None:
    from ropeaudit.report._plain import numbers

    ink.line()
    ink.line((f"  {safe(name)}", "bold"), (" inv_freq, radians per position", "dim"))
    texts = [v if isinstance(v, str) else repr(v) for v in numbers(values)]
    width = max(map(len, texts)) + 2
    per_line = max(1, (ink.view.width - 12) // width)
    for start in range(0, len(texts), per_line):
        row = "".join(t.rjust(width) for t in texts[start : start + per_line])
        ink.line((f"  {start:>6} ", "dim"), row)


def _sources(ink: Ink, name: str, facts: Sequence[Fact], subject: Subject) -> None:
    document = subject.reading.document if subject.reading else None
    ink.line()
    ink.line((f"  {safe(name)}", "bold"), (" where each value came from", "dim"))
    for fact in facts:
        location = fact.location
        if location and location.pointer and document and document.file == location.file:
            location = document.location(location.pointer)  # with its line
        place = show.place(location) if location else fact.origin.value
        text = f"{safe(fact.field)} = {show.cut(safe(fact.value), 100)}"
        ink.line(f"    {text}", (f"  {place}", "dim"))
