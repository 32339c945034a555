"""A comparison of two targets as a page for people; the other formats stand beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ropeaudit._version import __version__
from ropeaudit.errors import UsageError
from ropeaudit.findings import Severity
from ropeaudit.records import replace
from ropeaudit.report import _numbers as show
from ropeaudit.report._diff_words import (
    as_read,
    displaced,
    heading,
    length_words,
    repeats,
    steps,
    summary,
    told,
)
from ropeaudit.report._displacement import displacement
from ropeaudit.report._kinds import IDLE, trouble
from ropeaudit.report._plain import numbers
from ropeaudit.report._schedules import table
from ropeaudit.report._terminal import Ink, View, pad, safe
from ropeaudit.report.json_v1 import FORMAT

if TYPE_CHECKING:
    from ropeaudit.diff.interface import Comparison, Pair
    from ropeaudit.schedule.core import Schedule
    from ropeaudit.schedule.subject import Subject

FORMATS = ("console", "json", FORMAT, "markdown")
_BADGES = {"same": "pass", "equivalent": "pass", "different": "fail", "unknown": "unknown"}
_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}
_CELLS = 64


def check_format(name: str) -> None:
    """Raises UsageError unless a comparison can be written in this format."""
    if name not in FORMATS:
        raise UsageError(
            f"format {name} is for findings; a comparison comes as console, json or markdown"
        )


def render(name: str, found: Comparison, view: View) -> str:
    """The comparison in a format; only the console uses the view."""
    if name in ("json", FORMAT):
        from ropeaudit.report._diff_json import render as as_json

        return as_json(found)
    if name == "markdown":
        from ropeaudit.report._diff_markdown import render as markdown

        return markdown(found)
    return _console(found, Ink(view))


def _console(found: Comparison, ink: Ink) -> str:
    verdict = found.verdict.value
    badge = "unreadable" if found.a.error or found.b.error else verdict
    severity = found.severity
    level = (" ", None) if severity is None else (f" {severity.label}", _COLORS[severity])
    style = "fail" if badge == "unreadable" else _BADGES[verdict]
    ink.line((f" {badge.upper()} ", style), level)
    for side, subject, given in zip("AB", (found.a, found.b), found.overrides, strict=True):
        _side(ink, side, subject, given)
    if found.a.error or found.b.error:
        for side, subject in (("A", found.a), ("B", found.b)):
            if subject.schedules:
                ink.line()
                ink.line((f"  {side} alone", "bold"))
                table(ink, subject.schedules, indent="    ")
    if found.readers:
        from ropeaudit.report._diff_readers import console

        console(ink, found, _pairs)
    else:
        _pairs(ink, found.pairs)
    if found.encodings:
        from ropeaudit.report import _diff_encodings

        _diff_encodings.console(ink, found)
    if found.unpaired or found.unpaired_encodings or found.undecided or found.notes:
        ink.line()
    for rest in found.unpaired_encodings:
        tone = "red" if rest.matters else "dim"
        text = f"{rest.side.upper()} {safe(rest.name)} is not compared: {rest.reason}"
        ink.paragraph(safe(text), indent=2, label="  ", style=tone)
    for left in found.unpaired:
        tone = "red" if left.matters else "dim"
        text = f"{left.side.upper()} {safe(left.schedule.name)} is not compared: "
        text += f"{as_read(left)}{left.reason}"
        ink.paragraph(safe(text), indent=2, label="  ", style=tone)
    for why in found.undecided:
        ink.paragraph(f"undecided: {safe(why)}", indent=2, label="  ", style="magenta")
    for note in found.notes:
        ink.paragraph(f"note: {safe(note)}", indent=2, label="  ", style="dim")
    ink.line()
    ink.line(
        (verdict, {"pass": "green", "fail": "red"}.get(_BADGES[verdict], "magenta")),
        (f"  {' · '.join(summary(found))}", None),
        (f"  · ropeaudit {__version__}", "dim"),
    )
    return ink.text()


def _pairs(ink: Ink, pairs: Sequence[Pair]) -> None:
    before: Pair | None = None
    for pair in pairs:
        _pair(ink, pair, again=before is not None and repeats(before, pair))
        before = pair


def _side(ink: Ink, side: str, subject: Subject, overrides: Sequence[str]) -> None:
    known = (t for t in (subject.format, subject.model_type) if t and t != "unknown")
    ink.line(
        (f"  {side}  ", "dim"),
        (safe(subject.target), "bold"),
        (f"  {' · '.join(map(safe, known))}", "dim"),
    )
    if overrides:
        ink.paragraph(f"with {', '.join(map(safe, overrides))}", indent=5, style="dim")
    if subject.error is not None:
        ink.paragraph(safe(subject.error.message), indent=5, style="red")
        place = trouble(subject)
        if place is not None:
            ink.paragraph(show.place(place), indent=9, label="     at")
    for note in subject.notes:
        empty = not (subject.schedules or subject.encodings)
        told = ink.view.verbose or empty or note.kind.startswith(IDLE)
        if told:
            ink.paragraph(f"note: {safe(note.message)}", indent=5, style="dim")


def _pair(ink: Ink, pair: Pair, *, again: bool) -> None:
    ink.line()
    style = {"different": _COLORS.get(pair.severity or Severity.INFO)}
    word = pair.likeness.value
    ink.line(
        (f"  {safe(heading(pair))}", "bold"),
        "  ",
        (word, style.get(word, "green")),
        (f"  at {length_words(pair)}", "dim"),
    )
    if word != "different" and not ink.view.verbose:
        if word == "equivalent":
            ink.line((f"    {steps(pair)}", "dim"))
        return
    if not again:
        _told(ink, pair)
    _picture(ink, pair)
    if ink.view.verbose:
        _channels(ink, pair)


def _told(ink: Ink, pair: Pair) -> None:
    table(ink, [_named("A", pair.a), _named("B", pair.b)], indent="    ")
    ink.line()
    for lost in pair.lost:
        name, _, rest = lost.text.partition(":")
        ink.paragraph(f"{safe(name)}:{safe(rest)}", indent=4, label="    ")
    for text in told(pair):
        ink.paragraph(text, indent=4, label="    ", style="dim")


def _named(side: str, schedule: Schedule) -> Schedule:
    return replace(schedule, component=f"{side} {schedule.component}")


def _picture(ink: Ink, pair: Pair) -> None:
    if not displaced(pair):
        return
    labels = ("log distance", "phase drift", "wavelength")
    wide = max(map(len, labels)) + 5
    cells = min(_CELLS, max(8, ink.view.width - wide - 22))
    found = displacement(
        pair.channels, pair.context, cells, show.short,
        unicode=ink.view.unicode, tolerance=pair.tolerance,
    )  # fmt: skip
    if found is None:
        return
    rows = (
        (found.log, f"up to {show.short(pair.max_abs_dlog)}"),
        (found.drift, f"up to {show.radians(pair.max_phase_drift)} rad"),
        (found.axis, "positions"),
    )
    ink.line()
    for label, (row, note), style in zip(labels, rows, ("cyan", "yellow", "dim"), strict=True):
        ink.line((pad(f"    {label}", wide), "dim"), (row, style), (f" {note}", "dim"))
    if found.still:
        ink.line((f"    {show.plural(found.still, 'channel')} turn on neither side", "dim"))


def _channels(ink: Ink, pair: Pair) -> None:
    ink.line()
    ink.line(("    channel             A             B       steps      ln(B/A)  drift", "dim"))
    for c in pair.channels:
        a, b = (_value(v) for v in (c.a, c.b))
        steps = "-" if c.ulp is None else str(c.ulp)
        drift = show.radians(c.phase_drift)
        ink.line(f"    {c.k:>7} {a:>13} {b:>13} {steps:>11} {_dlog(c.dlog):>12}  {drift}")


def _value(value: float | None) -> str:
    return "-" if value is None else str(_first(numbers([value])))


def _first(values: Sequence[float | str]) -> float | str:
    return values[0]


def _dlog(value: float) -> str:
    return show.short(value) if not math.isfinite(value) else f"{value:.6g}"
