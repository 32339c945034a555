"""A conversion for people and as ``ropeaudit/conversion/1``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.convert.interface import SCHEMA, Converted
from ropeaudit.errors import UsageError
from ropeaudit.records import field, record
from ropeaudit.report._numbers import plural
from ropeaudit.report._plain import plain
from ropeaudit.report._terminal import Ink, View, pad, safe, width_of
from ropeaudit.report.json_v1 import FORMAT, TOOL, page

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

FORMATS = ("console", "json", FORMAT)
_ROWS = 8
"""Heads that a page shows without being asked."""


@record(kw_only=True)
class Done:
    """A conversion with where it was written; ``tensors``: name to dtype and shape."""

    made: Converted
    path: str | None = None
    tensors: Mapping[str, tuple[str, Sequence[int]]] = field(default_factory=dict)
    projections: Mapping[str, str] | None = None


def check_format(name: str) -> None:
    """Raises UsageError unless conversions can be written in this format."""
    if name not in FORMATS:
        raise UsageError(f"format {name} is for findings; conversions come as console or json")


def render(name: str, done: Done, view: View) -> str:
    """The page in the format ``name``."""
    return _console(done, view) if name == "console" else page(document(done))


def metadata(done: Done) -> str:
    """The document as one line, for the file itself."""
    return json.dumps(document(done), allow_nan=False)


def document(done: Done) -> dict[str, Any]:
    """The keys of one conversion."""
    made = done.made
    source = made.source
    return {
        "schema": SCHEMA,
        "tool": TOOL,
        "to": made.to,
        "source": {
            "target": source.target,
            "name": source.name,
            "origin": source.origin,
            "kind": source.kind,
            "heads": source.heads,
            "key_heads": source.key_heads,
            "head_dim": source.size,
            "layers": None if source.layers is None else list(source.layers),
            "scale": source.scale,
        },
        "positions": _positions(made),
        "unit": source.unit,
        "frequencies": made.frequencies.tolist(),
        "residual": plain(made.residual),
        "path": done.path,
        "tensors": [
            {"name": name, "dtype": dtype, "shape": list(shape)}
            for name, (dtype, shape) in done.tensors.items()
        ],
        "projections": None if done.projections is None else dict(done.projections),
        "notes": [*source.notes, *made.notes],
    }


def _positions(made: Converted) -> dict[str, Any]:
    from ropeaudit.encodings import _conversion
    from ropeaudit.encodings.core import Positions

    source, count = made.source, len(made.frequencies)
    names = source.axes or (("p",) if count == 1 else tuple(f"axis{a}" for a in range(count)))
    plain = Positions(step=(1.0,) * count, extent=(None,) * count, integer=source.integer)
    return _conversion.written(names, source.positions or plain)


def _console(done: Done, view: View) -> str:
    made, source = done.made, done.made.source
    ink = Ink(view)
    ink.line((safe(source.target), "bold"), (f"  {safe(source.name)} · {safe(source.kind)}", "dim"))
    said = "exact" if made.residual == 0 else f"to {made.residual:.2g} of the largest entry"
    ink.line(("  to         ", "dim"), (made.to, "bold"), (f"  {said}", "dim"))
    axes, layers, heads, planes = made.frequencies.shape
    parts = [plural(heads, "head"), f"{source.size} channels, {plural(planes, 'plane')}"]
    parts = ([f"{axes} axes"] if axes > 1 else []) + (
        [plural(layers, "layer")] if layers > 1 else []
    ) + parts  # fmt: skip
    ink.line(("  holds      ", "dim"), " · ".join(parts))
    ink.line()
    _table(ink, _rows(made.frequencies, source.unit), view.verbose)
    for name, (dtype, shape) in done.tensors.items():
        ink.line(("  tensor     ", "dim"), f"{safe(name)}  {dtype} {list(shape)}")
    if done.path is not None:
        ink.line(("  written    ", "dim"), safe(done.path))
    for note in dict.fromkeys((*source.notes, *made.notes)):
        ink.paragraph(f"note: {safe(note)}", indent=2, style="dim")
    return ink.text()


def _rows(frequencies: Array, unit: str) -> list[list[str]]:
    """Largest and smallest frequencies, a row for each axis, layer and head."""
    axes, layers, heads, planes = frequencies.shape
    rows = [["axis", "layer", "head", f"frequencies ({unit})"]]
    for axis in range(axes):
        for layer in range(layers):
            for head in range(heads):
                values = [f"{v:.6g}" for v in frequencies[axis, layer, head]]
                shown = values if planes <= 6 else [*values[:3], "…", *values[-2:]]
                rows.append([str(axis), str(layer), str(head), "  ".join(shown)])
    kept = [column for column, size in enumerate((axes, layers, heads, 2)) if size > 1]
    return [[row[column] for column in kept] for row in rows]


def _table(ink: Ink, rows: Sequence[Sequence[str]], verbose: bool) -> None:
    shown = rows if verbose else rows[: _ROWS + 1]
    widths = [max(map(width_of, column)) for column in zip(*shown, strict=True)]
    for number, row in enumerate(shown):
        line = "  ".join(pad(c, w) for c, w in zip(row, widths, strict=True))
        ink.line((f"    {line}", "dim" if number == 0 else None))
    if len(rows) > len(shown):
        ink.line((f"    {len(rows) - len(shown):,} more; -v shows all", "dim"))
    ink.line()
