"""Variants: what a recipe did to each table, for people and as ``ropeaudit/variant/1``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import UsageError
from ropeaudit.perturb.described import described
from ropeaudit.perturb.measure import Measure, measure, measures
from ropeaudit.perturb.recipe import Step
from ropeaudit.perturb.variant import Variant
from ropeaudit.records import record
from ropeaudit.report._numbers import plural, radians, ranges
from ropeaudit.report._plain import number_word, plain
from ropeaudit.report._schedules import picture
from ropeaudit.report._terminal import Ink, View, ascii_only, pad, safe, width_of
from ropeaudit.report._variants_encodings import cells_of, changes, where_of
from ropeaudit.report.json_v1 import FORMAT, TOOL, page
from ropeaudit.report.json_v1 import schedule as schedule_json
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.geometry import dlog, phase_drift
from ropeaudit.schedule.subject import Subject

if TYPE_CHECKING:
    from ropeaudit.perturb._encodings_measure import EncodingMeasure

FORMATS = ("console", "json", FORMAT)
_TITLES = ("schedule", "cluster", "log gap", "displacement", "phase drift")
_PICTURES = 4
"""Schedules whose spectrum is drawn before and after without being asked."""


@record()
class Output:
    """A place that a variant was written to: ``kind``, ``path``, what it cost, what to know."""

    kind: str
    path: str
    max_ulp: int = 0
    notes: tuple[str, ...] = ()


@record()
class Made:
    """One variant with where it was written."""

    variant: Variant
    written: tuple[Output, ...] = ()


def check_format(name: str) -> None:
    """Raises UsageError unless variants can be written in this format."""
    if name not in FORMATS:
        raise UsageError(
            f"format {name} is for findings; variants come as {' or '.join(FORMATS[:2])}"
        )


def render(
    name: str, subject: Subject, made: Sequence[Made], view: View, *, several: bool = False
) -> str:
    """The page of one variant, or of ``several`` (then a table), in the format ``name``."""
    if name != "console":
        return _json(subject, made, several)
    ink = Ink(view)
    known = (t for t in (subject.format, subject.model_type) if t and t != "unknown")
    ink.line((safe(subject.target), "bold"), (f"  {' · '.join(map(safe, known))}", "dim"))
    ink.line()
    if several:
        _table(ink, made)
    else:
        _single(ink, made[0])
    return ink.text()


def _json(subject: Subject, made: Sequence[Made], several: bool) -> str:
    """A single variant has its keys at the top; several stand in the list ``variants``."""
    top: dict[str, Any] = {"schema": "ropeaudit/variant/1", "tool": TOOL, "target": subject.target}
    if several:
        return page({**top, "variants": [document(m) for m in made]})
    return page({**top, **document(made[0])})


def document(made: Made) -> dict[str, Any]:
    """The keys of one variant: recipe, max_cluster, measures, schedules, written."""
    return {
        **described(made.variant, plain),
        "schedules": [schedule_json(s) for s in made.variant.schedules],
        "written": [
            {"kind": w.kind, "path": w.path, "max_ulp": w.max_ulp, "notes": list(w.notes)}
            for w in made.written
        ],
    }


def _single(ink: Ink, made: Made) -> None:
    variant = made.variant
    ink.line(("  recipe  ", "dim"), (safe(variant.recipe.text), "bold"))
    for step, found in zip(variant.recipe.steps, variant.found, strict=True):
        for said in _told(step, found):
            ink.paragraph(said, indent=10, style="dim")
    ink.line()
    _rows(ink, [("", m) for m in _measures(variant)])
    changes(ink, variant)
    changed = variant.changed()
    if not changed and variant.base:
        ink.line()
        ink.line(("  no table is changed", "dim"))
    shown = changed if ink.view.verbose else changed[:_PICTURES]
    for base, schedule in shown:
        for word, drawn in (("before", base), ("after", schedule)):
            ink.line()
            ink.line((f"  {safe(schedule.name)}", "bold"), (f" {word}", "dim"))
            picture(ink, drawn)
        if ink.view.verbose:
            _channels(ink, base, schedule)
    if len(shown) < len(changed):
        ink.line()
        ink.line((f"  {len(changed) - len(shown)} more changed tables (-v draws them)", "dim"))
    _written(ink, made.written)


def _told(step: Step, found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a step decided from the tables, in words; the same for several schedules once."""
    said: list[str] = []
    if len(found) > 1 and "encoding" in found[0]:
        # Each head has its own list: the first one tells, the rest is counted.
        found, rest = found[:1], len(found) - 1
        return [f"{s} and {plural(rest, 'more list')}" for s in _told(step, found)]
    for entry in found:
        words = []
        if "channels" in entry:
            at = f" at {entry['target']:.7g}" if "target" in entry else ""
            on = (
                f", where {ranges(entry['landed_on'])} already turned"
                if "landed_on" in entry
                else ""
            )
            words.append(f"channels {ranges(entry['channels'])}{at}{on}")
        words += [
            f"channel {n['channel']} moved on by {n['moved_dlog']:+g} in log, off another channel"
            for n in entry.get("nudged", ())
        ]
        if "original" in entry:
            words.append(f"original length {entry['original']}")
        if "sha256" in entry:
            words.append(f"factors of sha256 {entry['sha256'][:12]}")
        if words:
            said.append(f"{safe(step.text)}: {where_of(entry)}{'; '.join(words)}")
    return list(dict.fromkeys(said))


def _table(ink: Ink, made: Sequence[Made]) -> None:
    """One line for each variant and schedule."""
    rows = [(m.variant.recipe.text, found) for m in made for found in _measures(m.variant)]
    _rows(ink, rows, several=True)
    ink.line()
    ink.line((f"  {plural(len(made), 'variant')}", "dim"))


def _measures(variant: Variant) -> tuple[Measure | EncodingMeasure, ...]:
    return (*measures(variant), *(m for e in variant.encodings for m in e.measures))


def _rows(
    ink: Ink, rows: Sequence[tuple[str, Measure | EncodingMeasure]], *, several: bool = False
) -> None:
    titles = ("recipe", *_TITLES) if several else _TITLES
    cells = [((safe(recipe), *_cells(m)) if several else _cells(m)) for recipe, m in rows]
    if not ink.view.unicode:
        cells = [tuple(map(ascii_only, row)) for row in cells]
    widths = [max(map(width_of, column)) for column in zip(titles, *cells, strict=True)]
    head = "  ".join(pad(t, w) for t, w in zip(titles, widths, strict=True))
    ink.line((f"  {head}", "dim"))
    for (_, m), row in zip(rows, cells, strict=True):
        styles = {titles[0]: "bold", "cluster": "red" if m.max_cluster > 1 else None}
        parts = [
            (pad(text, w) + "  ", styles.get(title))
            for title, text, w in zip(titles, row, widths, strict=True)
        ]
        ink.line("  ", *parts)


def _cells(m: Measure | EncodingMeasure) -> tuple[str, ...]:
    if not isinstance(m, Measure):
        return cells_of(m)
    gap = "-" if m.smallest_log_gap is None else f"{m.smallest_log_gap:.4g}"
    if m.zeroed:
        moved = f"-inf, {m.zeroed} set to 0"
    else:
        moved = f"{m.largest_dlog:+.4g}" if m.largest_dlog else "0"
    drift = "-" if m.max_phase_drift is None else f"{_phase(m.max_phase_drift)} at {m.length}"
    return safe(m.schedule), str(m.max_cluster), gap, moved, drift


def _phase(value: float) -> str:
    return f"{radians(value)} rad"


def _channels(ink: Ink, base: Schedule, made: Schedule) -> None:
    """Every channel that moved: both values, the log displacement, the phase drift."""
    length = measure(base, made).length
    ink.line()
    heads = ("channel", "before", "after", "dlog", "drift")
    ink.line(("  " + "".join(t.rjust(w) for t, w in zip(heads, _WIDTHS, strict=True)), "dim"))
    for k, (a, b) in enumerate(zip(base.inv_freq, made.inv_freq, strict=True)):
        if a == b:
            continue
        drift = "-" if length is None else radians(phase_drift(a, b, length))
        cells = (str(k), _value(a), _value(b), _value(dlog(a, b), 5), drift)
        ink.line("  ", "".join(t.rjust(w) for t, w in zip(cells, _WIDTHS, strict=True)))


_WIDTHS = (7, 15, 15, 13, 11)


def _value(value: float, digits: int = 9) -> str:
    return f"{value:.{digits}g}" if math.isfinite(value) else number_word(value)


def _written(ink: Ink, written: Sequence[Output]) -> None:
    for output in written:
        ink.line()
        off = f", within {output.max_ulp} ulp of the wanted table" if output.max_ulp else ""
        ink.line(
            ("  written  ", "dim"), (safe(output.path), "bold"), (f"  {output.kind}{off}", "dim")
        )
        for note in output.notes:
            ink.paragraph(f"note: {safe(note)}", indent=11, style="dim")
