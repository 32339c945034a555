"""Pairs of learned encodings for people, and as the key ``encodings`` of ``ropeaudit/diff/1``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ropeaudit.findings import Severity
from ropeaudit.report import _numbers as show
from ropeaudit.report._plain import plain
from ropeaudit.report._terminal import Ink, safe
from ropeaudit.report._variants_encodings import far_end

if TYPE_CHECKING:
    from ropeaudit.diff._encodings_interface import (
        EncodingPair,
        EncodingUnit,
        HeadDiff,
        QuantityDiff,
    )
    from ropeaudit.diff.interface import Comparison

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}
_HEADS = 8
"""Layers and heads that a page lists without being asked."""
_UNITS = 2000
"""Units that -v lists of one quantity."""
_PLACES = ("layer", "head", "axis")


def heading(pair: EncodingPair) -> str:
    """``positional_encoder``, or ``text against positional_encoder``."""
    return pair.a if pair.a == pair.b else f"{pair.a} against {pair.b}"


def length_words(pair: EncodingPair) -> str:
    """Where phases are taken, and who says so."""
    if not pair.extent:
        return "no place: they have no common axes"
    source = {"reference": "nothing states an extent"}.get(pair.extent_source, pair.extent_source)
    return f"{far_end(pair.extent)} ({source})"


def sentences(pair: EncodingPair) -> list[str]:
    """Each quantity that was compared, in one line."""
    return [_sentence(q, pair) for q in pair.quantities]


def _sentence(q: QuantityDiff, pair: EncodingPair) -> str:
    if q.max_ulp == 0:
        return f"{q.quantity}: equal in {q.count:,} values"
    parts = [f"log distance up to {_size(q.max_abs_dlog)}"]
    if q.max_phase_drift is not None:
        parts.append(f"phase drift up to {show.radians(q.max_phase_drift)} rad")
    if q.max_bias_drift is not None:
        parts.append(f"up to {show.short(q.max_bias_drift)} in the logits")
    if not q.differing:
        steps = show.plural(q.max_ulp, "float32 step")
        parts.append(f"within rounding ({steps}, {pair.tolerance} allowed, noise of the source)")
        return f"{q.quantity}: {', '.join(parts)}"
    heads = sum(h.differing > 0 for h in q.heads)
    lists = "" if heads < 2 else f", in {heads:,} heads"
    return f"{q.quantity}: {q.differing:,} of {q.count:,} values differ{lists}; {', '.join(parts)}"


def _size(value: float) -> str:
    return show.short(value) if math.isfinite(value) else "infinity"


def at(entry: HeadDiff | EncodingUnit) -> str:
    """``layer 3, head 2``."""
    named = [(n, getattr(entry, n, None)) for n in _PLACES]
    return ", ".join(f"{n} {v}" for n, v in named if v is not None) or "all heads"


def worst_heads(q: QuantityDiff, count: int) -> list[HeadDiff]:
    """The layers and heads that differ most, first."""
    told = [h for h in q.heads if h.differing]
    # Those that only rounding tells apart stay in their order.
    return sorted(told, key=lambda h: (-float(f"{h.max_abs_dlog:.6g}"), -h.max_drift))[:count]


def console(ink: Ink, found: Comparison) -> None:
    """Every pair of encodings: its verdict, what was lost, and where it differs most."""
    for pair in found.encodings:
        ink.line()
        word = pair.likeness.value
        style = None if pair.severity is None else _COLORS[pair.severity]
        ink.line(
            (f"  {safe(heading(pair))}", "bold"),
            "  ",
            (word, style or ("green" if word in ("same", "equivalent") else "magenta")),
            (f"  at {safe(length_words(pair))}", "dim"),
        )
        for lost in pair.lost:
            ink.paragraph(safe(lost.text), indent=4, label="    ")
        for note in pair.notes:
            ink.paragraph(f"note: {safe(note.text)}", indent=4, label="    ", style="dim")
        if word != "same" or ink.view.verbose:
            for text in sentences(pair):
                ink.paragraph(safe(text), indent=4, label="    ", style="dim")
        for q in pair.quantities:
            if q.differing:
                _heads(ink, q)
            if ink.view.verbose:
                _units(ink, q)


def _heads(ink: Ink, q: QuantityDiff) -> None:
    told = sum(h.differing > 0 for h in q.heads)
    if told < 2 or q.quantity == "slope":  # a head has one slope
        return
    shown = worst_heads(q, told if ink.view.verbose else _HEADS)
    ink.line()
    for h in shown:
        drift = f"  {show.radians(h.max_drift)} rad" if q.quantity == "frequency" else ""
        text = f"log distance {_size(h.max_abs_dlog)}{drift}  {show.plural(h.differing, 'value')}"
        ink.line((f"    {safe(at(h))}", "bold"), (f"  {safe(text)}", "dim"))
    if len(shown) < told:
        ink.line((f"    {told - len(shown)} more heads (-v lists them)", "dim"))


def _units(ink: Ink, q: QuantityDiff) -> None:
    if q.units:
        ink.line()
    for u in q.units[:_UNITS]:
        drift = "" if u.drift is None else f"  {show.radians(u.drift)} rad"
        told = f"{_vector(u.a)} -> {_vector(u.b)}  ln {_dlog(u.dlog)}{drift}"
        ink.line((f"    {safe(at(u))}, {q.quantity} {u.index}", None), (f"  {safe(told)}", "dim"))
    if len(q.units) > _UNITS:
        ink.line((f"    {len(q.units) - _UNITS:,} more (the JSON lists all)", "dim"))


def _vector(values: tuple[float, ...]) -> str:
    text = ", ".join(f"{v:.7g}" for v in values)
    return f"({text})" if len(values) > 1 else text


def _dlog(value: float) -> str:
    return f"{value:+.5g}" if math.isfinite(value) else str(plain(value))


def rows(found: Comparison) -> Iterator[tuple[str, ...]]:
    """Cells of the table of pairs in Markdown."""
    for pair in found.encodings:
        level = pair.severity
        yield (
            heading(pair),
            pair.likeness.value if level is None else f"different ({level.label})",
            far_end(pair.extent) or "-",
            f"{max((q.max_ulp for q in pair.quantities), default=0):,}",
            _size(pair.max_abs_dlog),
            f"{show.radians(pair.max_phase_drift)} rad" if _turns(pair) else "-",
        )


def _turns(pair: EncodingPair) -> bool:
    return any(q.max_phase_drift is not None for q in pair.quantities)


def members(found: Comparison) -> dict[str, Any]:
    """The keys ``encodings`` and ``unpaired_encodings``."""
    return {
        "encodings": [_pair_json(p) for p in found.encodings],
        "unpaired_encodings": [
            {"side": u.side, "encoding": u.name, "reason": u.reason, "difference": u.matters}
            for u in found.unpaired_encodings
        ],
    }


def _pair_json(pair: EncodingPair) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "kind": list(pair.kinds),
        "verdict": pair.likeness.value,
        "severity": None if pair.severity is None else pair.severity.label,
        "extent": list(pair.extent),
        "extent_source": pair.extent_source,
        "ulp": pair.tolerance,
        "max_abs_dlog": plain(pair.max_abs_dlog),
        "max_phase_drift": plain(pair.max_phase_drift),
        "basis_distance": plain(pair.basis_distance),
        "quantities": [_quantity_json(q) for q in pair.quantities],
        "lost": [s.text for s in pair.lost],
        "kinds": [s.name for s in pair.lost],
        "notes": [s.text for s in pair.notes],
    }


def _quantity_json(q: QuantityDiff) -> dict[str, Any]:
    return {
        "quantity": q.quantity,
        "verdict": q.likeness.value,
        "values": q.count,
        "differing": q.differing,
        "max_abs_dlog": plain(q.max_abs_dlog),
        "max_phase_drift": plain(q.max_phase_drift),
        "max_bias_drift": plain(q.max_bias_drift),
        "max_ulp": q.max_ulp,
        "worst": None if q.worst is None else _unit_json(q.worst),
        "heads": [
            {
                "layer": h.layer,
                "head": h.head,
                "max_abs_dlog": plain(h.max_abs_dlog),
                "max_drift": plain(h.max_drift),
                "max_ulp": h.max_ulp,
                "differing": h.differing,
            }
            for h in q.heads
        ],
        "units": [_unit_json(u) for u in q.units],
    }


def _unit_json(u: EncodingUnit) -> dict[str, Any]:
    return {
        "layer": u.layer,
        "head": u.head,
        "axis": u.axis,
        "index": u.index,
        "a": plain(u.a),
        "b": plain(u.b),
        "ulp": u.ulp,
        "dlog": plain(u.dlog),
        "phase_drift": plain(u.drift),
    }
