"""What named engines make of a target: a row each beside the reference, and the same as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.report._plain import plain
from ropeaudit.report._terminal import Ink, ascii_only, pad, safe, width_of, wrap

if TYPE_CHECKING:
    from ropeaudit.schedule.core import Schedule
    from ropeaudit.schedule.subject import Subject
    from ropeaudit.schedule.views import Distance, View

_TITLES = ("reader", "log", "phase", "attention", "softmax", "verdict")
_NARROWEST = 36
"""Cells that the words of a verdict need beside the numbers; else they stand below them."""
_ALWAYS = frozenset({"nearest_reader", "crashes"})
"""Kinds of notes that matter whatever the verdict; -v shows the others."""
_STYLES = {"same": "green", "differs": "red", "refuses": "yellow", "not covered": "dim"}


def schedules(subject: Subject) -> Iterator[Schedule]:
    """The engines' schedules, without those of the reference when it was asked for too."""
    known = {(s.reader, s.name) for s in subject.schedules if s.reader}
    for view in subject.views:
        yield from (s for s in view.schedules if (s.reader, s.name) not in known)


def members(subject: Subject) -> dict[str, Any]:
    """The key ``readers`` of a subject in JSON; nothing where no engine was asked for."""
    if not subject.views:
        return {}
    return {"readers": {view.reader: _member(view) for view in subject.views}}


def _member(view: View) -> dict[str, Any]:
    return {
        "status": view.status,
        "reason": view.reason,
        "version": view.version,
        "how": view.how,
        "ignored": list(view.ignored),
        "against_reference": None if view.distance is None else _distance(view.distance),
        "notes": [{"kind": n.kind, "message": n.message} for n in view.notes],
    }


def _distance(found: Distance) -> dict[str, Any]:
    return {
        "same": found.same,
        "words": list(found.words),
        "max_abs_dlog": plain(found.max_abs_dlog),
        "max_phase_drift": plain(found.max_phase_drift),
        "length": found.length,
        "attention": plain(found.attention),
        "softmax": plain(found.softmax),
        "layers": list(found.layers),
        "width": found.width,
        "pairing": found.pairing,
        "schedules": {name: plain(dict(m)) for name, m in found.schedules.items()},
    }


def table(ink: Ink, subject: Subject) -> None:
    """A row an engine: distances from the reference, and what it does in words."""
    if not subject.views:
        return
    ink.line()
    rows = [_cells(view) for view in subject.views]
    said = [_sentences(view, full=ink.view.verbose) for view in subject.views]
    titles = _TITLES
    if not ink.view.unicode:
        rows = [tuple(map(ascii_only, row)) for row in rows]
        said = [[ascii_only(s) for s in sentences] for sentences in said]
    widths = [max(width_of(r[k]) for r in (titles, *rows)) for k in range(len(titles) - 1)]
    start = 2 + sum(widths) + 2 * len(widths)
    beside = ink.view.width - start >= _NARROWEST
    heads = [pad(t, w) for t, w in zip(titles, widths, strict=False)]
    ink.line((f"  {'  '.join([*heads, titles[-1]] if beside else heads)}", "dim"))
    for held in _alike(subject.views, said):
        lines = ["  ".join(pad(c, w) for c, w in zip(rows[k], widths, strict=True)) for k in held]
        lines[1:] = [safe(rows[k][0]) for k in held[1:]]
        style = _STYLES[_word(subject.views[held[0]])]
        _row(ink, lines, said[held[0]], style, start if beside else None)


def _alike(views: Sequence[View], said: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """Indices of views in a row that build nothing, for the same reason: they are told once."""
    held: list[int] = []
    for k, view in enumerate(views):
        if held and (view.distance or views[held[0]].distance or said[k] != said[held[0]]):
            yield held
            held = []
        held.append(k)
    if held:
        yield held


def _row(
    ink: Ink, names: Sequence[str], sentences: Sequence[str], style: str, start: int | None
) -> None:
    """Names with numbers, and the sentences beside them from column ``start`` or else below."""
    indent = 6 if start is None else start
    room = max(20, ink.view.width - indent)
    styled = [
        (line, style if k == 0 else "dim")
        for k, sentence in enumerate(sentences)
        for line in wrap(sentence, room)
    ]
    if start is None:
        for name in names:
            ink.line(f"  {name}")
        names = []
    for k in range(max(len(names), len(styled))):
        left = f"  {names[k]}" if k < len(names) else ""
        if k < len(styled):
            ink.line(pad(left, indent), styled[k])
        else:
            ink.line(left)


def _word(view: View) -> str:
    if view.status != "ok":
        return view.status.replace("_", " ")
    return "same" if view.distance is None or view.distance.same else "differs"


def _cells(view: View) -> tuple[str, ...]:
    found = view.distance
    if found is None:
        return (safe(view.reader), "-", "-", "-", "-")
    return (
        safe(view.reader),
        "width" if found.max_abs_dlog is None else _short(found.max_abs_dlog),
        "π" if found.max_phase_drift == math.pi else _short(found.max_phase_drift),
        _ratio(found.attention),
        _ratio(found.softmax),
    )


def _short(value: float) -> str:
    """Two significant digits; what comes from float32 alone is 0."""
    return "0" if value < 1e-5 else f"{value:.2g}"


def _ratio(value: float | None) -> str:
    return "?" if value is None else f"×{value:.4g}"


def _sentences(view: View, *, full: bool) -> list[str]:
    """The verdict first, then what the engine does not read, and notes: all with ``full``."""
    word = _word(view)
    if view.status != "ok":
        first = f"{word}: {safe(view.reason or 'no reason is known')}"
    elif view.distance is None:
        first = "built, with nothing to compare it with"
    elif word == "same":
        first = "same (the reference)" if _is_reference(view) else word
    else:
        first = f"differs: {safe(', '.join(view.distance.words))}"
    told = [first]
    if view.ignored:
        told.append(f"does not read {safe(', '.join(view.ignored))}")
    notes = [n for n in view.notes if full or n.kind in _ALWAYS]
    return [*told, *(f"note: {safe(n.message)}" for n in notes)]


def _is_reference(view: View) -> bool:
    from ropeaudit.readers.engines.known import REFERENCE

    return view.reader == REFERENCE
