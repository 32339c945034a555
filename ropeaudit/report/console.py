"""The page for people: verdict first, schedules, a picture of each spectrum, findings by severity.

Many targets make a short page: what passes is one line each, or one line in all. ``-v`` shows
everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ropeaudit._version import __version__
from ropeaudit.findings import Severity, Verdict
from ropeaudit.report import _numbers as show
from ropeaudit.report import _readers
from ropeaudit.report._findings import findings
from ropeaudit.report._kinds import kind, nearest_readers, summary, trouble
from ropeaudit.report._schedules import picture, table
from ropeaudit.report._terminal import Ink, View, safe

if TYPE_CHECKING:
    from ropeaudit.facts import Fact
    from ropeaudit.schedule.core import Schedule
    from ropeaudit.schedule.subject import Subject
    from ropeaudit.verdict import Report, SubjectReport

FORMAT = "console"

FEW = 5
"""Up to so many targets each get their schedules and pictures."""
MANY_PASSES = 30
"""From so many on, targets that pass are counted, not listed."""
MANY_PICTURES = 6
"""Tables of one target that are drawn without being asked."""
_INDENT = 4

_STYLES = {"unreadable": "fail", "nothing to audit": "none"}


def render(report: Report, view: View | None = None) -> str:
    """The whole report; ``view`` says how it may look (default: as for a file)."""
    ink = Ink(view or View())
    few = len(report.subjects) <= FEW or ink.view.verbose
    quiet_passes = not ink.view.verbose and _passes(report) >= MANY_PASSES
    least = min(report.fail_on, Severity.WARNING)  # what fails the gate is always shown
    blank = False
    for subject in report.subjects:
        dull = _is_dull(subject)
        if dull and quiet_passes:
            continue
        if blank and (few or not dull):
            ink.line()
        _subject(ink, subject, least=least, full=few)
        blank = True
    if quiet_passes:
        if ink.lines:
            ink.line()
        ink.line((f"{_passes(report):,} more targets pass without an error or a warning", "dim"))
    if report.skipped_targets:
        _skipped_targets(ink, report.skipped_targets)
    if ink.lines:
        ink.line()
    for said in nearest_readers(report):
        ink.paragraph(f"note: {safe(said)}", indent=2, style="dim")
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
        _encodings(ink, subject, tables=True)
        _readers.table(ink, subject)
        if ink.view.verbose:
            for schedule in subject.schedules:
                _values(ink, schedule.name, schedule.inv_freq)
                _sources(ink, schedule.name, schedule.provenance, subject)
            for encoding in subject.encodings:
                _sources(ink, encoding.name, encoding.provenance, subject)
            for schedule in _readers.schedules(subject):
                _values(ink, f"{schedule.reader} {schedule.name}", schedule.inv_freq)
    return ink.text()


def _passes(report: Report) -> int:
    return sum(map(_is_dull, report.subjects))


def _is_dull(subject: SubjectReport) -> bool:
    return subject.verdict is Verdict.PASS


def _subject(ink: Ink, report: SubjectReport, *, least: Severity, full: bool) -> None:
    word, style = _badge(report)
    subject = report.subject
    ink.line((f" {word} ", style), " ", *_heading(subject))
    _problem_or_notes(ink, subject)
    if full:
        _schedules(ink, subject, pictures=True)
        _encodings(ink, subject, tables=False)
    findings(ink, report, least=least, full=full)


def _heading(subject: Subject) -> tuple[tuple[str, str], ...]:
    known = (t for t in (subject.format, subject.model_type) if t and t != "unknown")
    return (safe(subject.target), "bold"), (f"  {' · '.join(map(safe, known))}", "dim")


def _badge(report: SubjectReport) -> tuple[str, str]:
    word = kind(report)
    return word.upper(), _STYLES.get(word, word)


def _problem_or_notes(ink: Ink, subject: Subject) -> None:
    if subject.error is not None:
        ink.paragraph(safe(subject.error.message), indent=_INDENT, style="red")
        place = trouble(subject)
        if place is not None:
            ink.paragraph(show.place(place), indent=_INDENT + 4, label=" " * _INDENT + "at")
    for note in subject.notes:
        ink.paragraph(f"note: {safe(note.message)}", indent=_INDENT, style="dim")


def _schedules(ink: Ink, subject: Subject, *, pictures: bool) -> None:
    if not subject.schedules:
        return
    ink.line()
    table(ink, subject.schedules)
    if not pictures:
        return
    same: dict[object, list[Schedule]] = {}
    for schedule in subject.schedules:
        same.setdefault((schedule.inv_freq, schedule.context), []).append(schedule)
    drawn = list(same.values())
    shown = drawn if ink.view.verbose else drawn[:MANY_PICTURES]
    for group in shown:
        ink.line()
        if len(subject.schedules) > 1:
            ink.line((f"  {', '.join(safe(s.name) for s in group)}", "bold"))
        picture(ink, group[0])
    if len(shown) < len(drawn):
        ink.line()
        ink.line((f"  {len(drawn) - len(shown)} more tables (-v draws them)", "dim"))


def _encodings(ink: Ink, subject: Subject, *, tables: bool) -> None:
    if subject.encodings:  # hardly any target has one
        from ropeaudit.report._encodings import encodings

        encodings(ink, subject, tables=tables)


def _skipped_targets(ink: Ink, targets: Sequence[str]) -> None:
    if not ink.view.verbose:
        ink.line((f"{show.plural(len(targets), 'target')} skipped as not recognised", "dim"))
        return
    for target in targets:
        ink.line((f"skipped as not recognised: {safe(target)}", "dim"))


def _summary(ink: Ink, report: Report) -> None:
    if not report.subjects:
        ink.line("nothing audited", (f"  · ropeaudit {__version__}", "dim"))
        return
    packs = ", ".join(f"{safe(p.name)} {safe(p.version)}" for p in report.packs)
    ink.line(
        (report.verdict.value, _verdict_color(report.verdict)),
        (f"  {' · '.join(summary(report))}", None),
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
