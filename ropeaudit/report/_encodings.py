"""Encodings for people and for JSON: a line of what each is, and its spectrum layer by layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.report import _numbers as show
from ropeaudit.report._encoding_columns import table
from ropeaudit.report._plain import numbers, plain
from ropeaudit.report._terminal import Ink, ascii_only, pad, safe, width_of
from ropeaudit.schedule.float32 import f32

if TYPE_CHECKING:
    from ropeaudit.checks.encodings._look import Look
    from ropeaudit.encodings.core import Encoding, Spectrum
    from ropeaudit.schedule.subject import Subject

MANY_ROWS = 32
"""Rows of one table that are printed without being asked."""
_DIGITS = 12
"""Eigenvalues are no better, and their last digits differ between machines."""


def describe(look: Look) -> str:
    """What it is, in one line: kind, layers and heads, units and axes, format."""
    encoding, spectrum = look.encoding, look.spectrum
    layers = "all layers" if encoding.layers is None else show.plural(len(encoding.layers), "layer")
    said = [
        *([] if encoding.kind == encoding.name else [safe(encoding.kind)]),
        f"{layers} × {show.plural(encoding.heads, 'head')} of {encoding.head_dim} channels",
        f"{_counted(look)} a head{_on(look)}",
        safe(encoding.dtype),
    ]
    if spectrum.order > 1 and not look.is_bias:
        said.insert(3, f"order {spectrum.order}, {spectrum.tau} shear")
    if spectrum.multiplicity > 1:
        said.insert(3, f"each on {spectrum.multiplicity} planes")
    if spectrum.static:
        verb = "turns" if spectrum.static == 1 else "turn"
        said.insert(3, f"{show.plural(spectrum.static, 'channel')} never {verb}")
    return " · ".join(said)


def _counted(look: Look) -> str:
    """``32 planes``, ``16 planes and 8 blocks``, ``1 slope``: units of a head by what they are."""
    spectrum = look.spectrum
    if not spectrum.joint:
        noun = "plane of each branch" if look.is_tree else "frequency of each axis"
        return _units(look.shape[2], noun)
    blocks = look.blocks & ~look.added & (spectrum.order > 1)
    kinds = {"plane": ~blocks & ~look.added, "block": blocks, "slope": look.added}
    return " and ".join(_units(int(k.sum()), noun) for noun, k in kinds.items() if k.any())


def _units(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    first, _, rest = noun.partition(" ")
    many = f"{first[:-1]}ies" if first.endswith("y") else f"{first}s"
    return f"{count} {many} {rest}".rstrip()


def _on(look: Look) -> str:
    names = look.encoding.axes
    return "" if len(names) == 1 else f" ({', '.join(map(safe, names))})"


def encodings(ink: Ink, subject: Subject, *, tables: bool = False) -> None:
    """Every encoding of a subject: its line; with ``tables`` its spectrum, with -v every unit."""
    for encoding in subject.encodings:
        look = look_at(encoding)
        ink.line()
        ink.line(("  " + safe(encoding.name), "bold"))
        ink.paragraph(describe(look), indent=4)
        for note in encoding.notes:
            ink.paragraph(f"note: {safe(note.message)}", indent=4, style="dim")
        settings = _settings(encoding)
        if settings and tables:
            ink.paragraph(settings, indent=4, style="dim")
        if tables:
            _table(ink, look)
        if tables and ink.view.verbose:
            _every_unit(ink, look)


def _settings(encoding: Encoding) -> str:
    """``theta 10000, method jordan_rope (assumed)``."""
    return ", ".join(
        f"{safe(k)} {_value(v)}{' (assumed)' if k in encoding.assumed else ''}"
        for k, v in sorted(encoding.settings.items())
        if isinstance(v, bool | int | float | str)
    )


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else safe(value)


def _table(ink: Ink, look: Look) -> None:
    titles, rows = table(look)
    lines = [titles, *(r.cells for r in rows)]
    if not ink.view.unicode:
        lines = [tuple(map(ascii_only, line)) for line in lines]
    widths = [max(map(width_of, column)) for column in zip(*lines, strict=True)]
    shown = len(lines) if ink.view.verbose else MANY_ROWS + 1
    for number, line in enumerate(lines[:shown]):
        text = "  ".join(pad(c, w) for c, w in zip(line, widths, strict=True))
        ink.line((f"    {text}", "dim" if number == 0 else None))
    if len(lines) > shown:
        ink.line((f"    {len(lines) - shown} more layers (-v shows them)", "dim"))


def _every_unit(ink: Ink, look: Look) -> None:
    layers, heads, _, _ = look.shape
    for layer in range(layers):
        for head in range(heads):
            ink.line()
            ink.line((f"    {look.at(layer, head)}", "bold"), (f" {_legend(look)}", "dim"))
            texts = [_unit(look.spectrum, layer, head, u) for u in range(look.shape[2])]
            width = max(map(len, texts)) + 2
            per_line = max(1, (ink.view.width - 12) // width)
            for start in range(0, len(texts), per_line):
                row = "".join(t.rjust(width) for t in texts[start : start + per_line])
                ink.line((f"    {start:>4} ", "dim"), row)


def _legend(look: Look) -> str:
    if look.is_bias:
        return "slope"
    names = [f"w {a}" for a in look.encoding.axes] if look.shape[3] > 1 else ["w"]
    names += [t for t, v in _beside(look.spectrum) if v.any()]
    return f"{', '.join(names)}; {look.spectrum.unit}"


def _beside(spectrum: Spectrum) -> tuple[tuple[str, Any], ...]:
    return ("gamma", spectrum.gamma), ("eta", spectrum.eta)


def _unit(spectrum: Spectrum, layer: int, head: int, unit: int) -> str:
    parts = [float(x) for x in spectrum.w[layer, head, unit]]
    bias = bool(spectrum.sector) and spectrum.sector[unit] == "bias"
    beside = [float(v[layer, head, unit]) for _, v in _beside(spectrum) if v.any()]
    values = beside if bias else parts + beside
    text = ", ".join(f"{v:.6g}" for v in values)
    return f"({text})" if len(values) > 1 else text


def encoding_json(encoding: Encoding) -> dict[str, Any]:
    """One encoding as JSON: what it is, where positions stand, and every unit of its spectrum."""
    positions = encoding.positions
    return {
        "name": encoding.name,
        "kind": encoding.kind,
        "head_dim": encoding.head_dim,
        "heads": encoding.heads,
        "layers": None if encoding.layers is None else list(encoding.layers),
        "axes": list(encoding.axes),
        "dtype": encoding.dtype,
        "settings": plain(dict(encoding.settings)),
        "assumed": sorted(encoding.assumed),
        "positions": {
            "step": list(positions.step),
            "extent": list(positions.extent),
            "integer": positions.integer,
            "trained": _listed(positions.trained),
            "used": _listed(positions.used),
        },
        "spectrum": _spectrum_json(look_at(encoding)),
        "notes": [{"kind": n.kind, "message": n.message} for n in encoding.notes],
    }


def _listed(steps: Sequence[int] | None) -> list[int] | None:
    return None if steps is None else list(steps)


def _spectrum_json(look: Look) -> dict[str, Any]:
    spectrum = look.spectrum
    found: dict[str, Any] = {
        "unit": spectrum.unit,
        "order": spectrum.order,
        "multiplicity": spectrum.multiplicity,
        "joint": spectrum.joint,
        "tau": spectrum.tau,
        "eta_scale": float(spectrum.eta_scale),
        "static": spectrum.static,
        "units": list(_units_json(look)),
    }
    if spectrum.directions:
        found["directions"] = {
            name: [[decimals(head) for head in layer] for layer in values.tolist()]
            for name, values in sorted(spectrum.directions.items())
        }
    return found


def _units_json(look: Look) -> Iterator[Mapping[str, Any]]:
    spectrum = look.spectrum
    layers, heads, units, axes = look.shape
    sectors = spectrum.sector or ("rotary",) * units
    # All at once: looking for the shortest decimals is dear to begin.
    w, gamma, eta = (
        iter(decimals(v.ravel().tolist())) for v in (spectrum.w, spectrum.gamma, spectrum.eta)
    )
    for i in range(layers):
        for h in range(heads):
            for u in range(units):
                yield {
                    "layer": look.layer(i),
                    "head": look.head(h),
                    "index": u,
                    "w": [next(w) for _ in range(axes)],
                    "gamma": next(gamma),
                    "eta": next(eta),
                    "sector": sectors[u],
                }


def decimals(values: Sequence[float]) -> list[float | str]:
    """float32 values as their shortest decimals, computed ones to twelve digits."""
    return [
        v if isinstance(v, str) or f32(v) == f32(x) == x else float(f"{x:.{_DIGITS}g}")
        for v, x in zip(numbers(values), values, strict=True)
    ]


def look_at(encoding: Encoding) -> Look:
    """With its spectrum, computed when somebody asks."""
    from ropeaudit.checks.encodings._look import Look

    return Look(encoding)
