"""Schedules for people: one line each in an aligned table, and a picture of each spectrum."""

from __future__ import annotations

from collections.abc import Sequence

from ropeaudit.report._numbers import exact, layers, short
from ropeaudit.report._spectrum import Spectrum, spectrum
from ropeaudit.report._terminal import Ink, ascii_only, pad, safe, width_of
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.geometry import max_cluster, under_rotated

_TITLES = (
    "schedule", "law", "base", "dims", "layers", "context", "cluster", "attention",
)  # fmt: skip
_CELLS = 64


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
    marks = _marks(schedule)
    room = ink.view.width - len(indent) - 24
    cells = max(8, min(_CELLS, room))
    lengths = [length for _, length in marks]
    found = spectrum(schedule.inv_freq, lengths, cells, unicode=ink.view.unicode)
    if found is None:
        return
    sign = "λ" if ink.view.unicode else "wave"
    head = f"{indent}{sign} {short(found.shortest)} "
    parts: list[tuple[str, str | None]] = [(head, "dim")]
    for column in found.columns:
        style = "bold" if column.mark is not None else ("cyan" if column.turning else "dim")
        parts.append((column.sign, style))
    rest = f" + {found.static} that never turn" if found.static else ""
    ink.line(*parts, (f" {short(found.longest)}{rest}", "dim"))
    _legend(ink, schedule, found, marks, len(head))


def _legend(
    ink: Ink, schedule: Schedule, found: Spectrum, marks: Sequence[tuple[str, int]], start: int
) -> None:
    """What the marks mean, hung onto the marks themselves where there is room for it."""
    if not marks:
        return
    total = len(schedule.inv_freq)
    turning = {n: total - len(under_rotated(schedule.inv_freq, n)) for _, n in marks}
    where = {c.mark: start + k for k, c in enumerate(found.columns) if c.mark is not None}
    order = sorted(range(len(marks)), key=where.__getitem__)
    texts = []
    for number, index in enumerate(order):
        name, length = marks[index]
        of = f" of {total} turn" if number == 0 else ""
        texts.append(f"{turning[length]}{of} within {name} {length}")
    corners = ("└", "┘") if ink.view.unicode else ("\\", "/")
    first, last = where[order[0]], where[order[-1]]
    left, right = f"{texts[0]} {corners[1]}", f"{corners[0]} {texts[-1]}"
    if len(marks) == 1 and first + width_of(right) <= ink.view.width:
        ink.line((" " * first + right, "dim"))
    elif len(marks) == 1 and width_of(left) <= first + 1:
        ink.line((" " * (first + 1 - width_of(left)) + left, "dim"))
    elif (
        len(marks) == 2
        and width_of(left) <= first + 1
        and last > first
        and last + width_of(right) <= ink.view.width
    ):
        gap = " " * (last - first - 1)
        ink.line((" " * (first + 1 - width_of(left)) + left + gap + right, "dim"))
    else:
        ink.paragraph(", ".join(texts), indent=2, style="dim")


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
