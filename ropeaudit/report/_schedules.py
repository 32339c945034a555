"""Schedules for people: one line each in an aligned table, and a picture of each spectrum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from ropeaudit.records import record
from ropeaudit.report._numbers import exact, layers, short
from ropeaudit.report._spectrum import Column, Spectrum, spectrum
from ropeaudit.report._terminal import Ink, View, ascii_only, pad, safe, width_of
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.geometry import max_cluster, under_rotated

_TITLES = (
    "schedule", "law", "base", "dims", "layers", "context", "cluster", "attention",
)  # fmt: skip
_CELLS = 64
_WIDE = 80
"""From this width on the axis names its unit."""


def table(ink: Ink, schedules: Sequence[Schedule], indent: str = "  ") -> None:
    """One line per schedule under dim titles; a column of layers only where it says something."""
    rows = [_row(s) for s in schedules]
    if not ink.view.unicode:
        rows = [tuple(map(ascii_only, row)) for row in rows]  # before widths are taken
    kept = [
        k
        for k, title in enumerate(_TITLES)
        if not (title == "layers" and all(row[k] == "all" for row in rows))
    ]
    widths = [max(width_of(r[k]) for r in (_TITLES, *rows)) for k in kept]
    titles = "  ".join(pad(_TITLES[k], w) for k, w in zip(kept, widths, strict=True))
    ink.line((f"{indent}{titles}", "dim"))
    for schedule, row in zip(schedules, rows, strict=True):
        cells: list[tuple[str, str | None]] = [(indent, None)]
        for k, w in zip(kept, widths, strict=True):
            cells.append((pad(row[k], w) + "  ", _style(_TITLES[k], schedule)))
        ink.line(*cells)


def picture(ink: Ink, schedule: Schedule, indent: str = "  ") -> None:
    """The spectrum against the lengths in use; below it each mark says how many channels turn."""
    values = schedule.inv_freq
    marks = _marks(schedule)
    word = " positions" if ink.view.width >= _WIDE else ""
    cells = max(8, min(_CELLS, ink.view.width - len(indent) - 24 - len(word)))
    lengths = [length for _, length in marks]
    found = spectrum(values, lengths, cells, unicode=ink.view.unicode)
    strange = sum(not math.isfinite(v) for v in values)
    if found is None:
        said = f"nothing turns: {sum(v == 0 for v in values)} of {len(values)} channels are 0"
        said += f", {strange} are NaN or infinite" if strange else ""
        ink.line((indent + said, "dim"))
        return
    head = f"{indent}{'λ' if ink.view.unicode else 'wave'} {short(found.shortest)} "
    parts: list[tuple[str, str | None]] = [(head, "dim")]
    for style, columns in groupby(found.columns, _paint):
        parts.append(("".join(c.sign for c in columns), style))
    rest = f", {found.static} never turn" if found.static else ""
    rest += f", {strange} NaN or infinite" if strange else ""
    ink.line(*parts, (f" {short(found.longest)}{word}{rest}", "dim"))
    _legend(ink, schedule, found, marks, len(head))


def _paint(column: Column) -> str:
    if column.mark is not None:
        return "bold"
    return "cyan" if column.turning else "dim"


def _legend(
    ink: Ink, schedule: Schedule, found: Spectrum, marks: Sequence[tuple[str, int]], start: int
) -> None:
    """What the marks mean, hung onto the marks themselves where there is room for it."""
    if not marks:
        return
    total = len(schedule.inv_freq)
    where = {c.mark: start + k for k, c in enumerate(found.columns) if c.mark is not None}
    hung = []
    for index in sorted(range(len(marks)), key=where.__getitem__):
        name, length = marks[index]
        turning = total - len(under_rotated(schedule.inv_freq, length))
        hung.append(Hung(where[index], turning, f"within {name} {length}"))
    first = f" of {total} channels turn "
    lines = beside(hung, first, ink.view) or stacked(hung, first, ink.view)
    for line in lines:
        ink.line((line, "dim"))
    if not lines:
        texts = (h.text(first if n == 0 else " ") for n, h in enumerate(hung))
        ink.paragraph(", ".join(texts), indent=2, style="dim")


@record()
class Hung:
    """A mark at a column, and what is said of its length."""

    column: int
    turning: int
    within: str

    def text(self, between: str) -> str:
        return f"{self.turning}{between}{self.within}"


def beside(hung: Sequence[Hung], first: str, view: View) -> list[str]:
    """One line: a text to the left of one mark, another to the right of the other; or nothing."""
    if len(hung) != 2:
        return []
    a, b = hung
    left, right = _left(a, first, view), _right(b, " ", view)
    if left is None or right is None or b.column <= a.column:
        return []
    return [left + " " * (b.column - a.column - 1) + right]


def stacked(hung: Sequence[Hung], first: str, view: View) -> list[str]:
    """A line each, the other marks drawn on beside it; nothing where one does not fit."""
    left_over, lines = list(hung), []
    bar = "│" if view.unicode else "|"
    between = first
    while left_over:
        last = left_over[-1]
        right = _right(last, between, view)
        left = _left(left_over[0], between, view)
        if right is not None:
            left_over.pop()
            lines.append(_with_bars("", left_over, bar).ljust(last.column) + right)
        elif left is not None:
            left_over.pop(0)
            lines.append(_with_bars(left, left_over, bar))
        else:
            return []
        between = " "
    return lines


def _with_bars(line: str, hung: Sequence[Hung], bar: str) -> str:
    for h in hung:
        line = line.ljust(h.column) + bar
    return line


def _left(hung: Hung, between: str, view: View) -> str | None:
    text = f"{hung.text(between)} {'┘' if view.unicode else '/'}"
    room = hung.column + 1 - width_of(text)
    return " " * room + text if room >= 2 else None


def _right(hung: Hung, between: str, view: View) -> str | None:
    text = f"{'└' if view.unicode else chr(92)} {hung.text(between)}"
    return text if hung.column + width_of(text) <= view.width else None


def _row(schedule: Schedule) -> tuple[str, ...]:
    cluster = max_cluster(schedule, ignore=schedule.static_channels)
    head, width = schedule.head_dim, schedule.rotary_dim
    dims = str(width) if head in (None, width) else f"{width} of {head}"
    if schedule.axes:
        dims += f" ({'+'.join(dict.fromkeys(safe(a.axis) for a in schedule.axes))})"
    return (
        safe(schedule.name),
        safe(schedule.rope_type),
        exact(schedule.rope_theta),
        dims,
        layers(schedule.layers),
        _context(schedule),
        str(cluster),
        _attention(schedule),
    )


def _style(title: str, schedule: Schedule) -> str | None:
    if title == "schedule":
        return "bold"
    if title == "cluster":
        healthy = max_cluster(schedule, ignore=schedule.static_channels) == 1
        return None if healthy else "red"
    return None


def _context(schedule: Schedule) -> str:
    c = schedule.context
    lengths = [str(n) for n in (c.trained, c.declared) if n]
    text = " → ".join(dict.fromkeys(lengths)) or "-"
    return f"{text}, window {c.window}" if c.window else text


def _attention(schedule: Schedule) -> str:
    text = f"×{schedule.attention_scaling:.6g}"
    if schedule.softmax_scale != 1.0:
        text += f" logits ×{schedule.softmax_scale:.6g}"
    return text


def _marks(schedule: Schedule) -> list[tuple[str, int]]:
    """Lengths that are worth a mark; the first one is what the layers were trained to see."""
    c = schedule.context
    if not schedule.is_text:
        return []
    trained = ("declared" if c.assumed else "trained", c.trained)
    named = [trained, ("declared", c.declared)]
    if c.window:
        narrow = c.trained is None or c.window < c.trained
        named.insert(0 if narrow else 2, ("window", c.window))
    seen: dict[int, str] = {}
    for name, length in named:
        if length and length > 6:
            seen.setdefault(length, name)
    return [(name, length) for length, name in seen.items()]
