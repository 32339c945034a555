"""What a recipe did to learned encodings: a row each, the whereabouts, and every list with -v."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ropeaudit.report._numbers import plural, radians, short
from ropeaudit.report._terminal import Ink, safe
from ropeaudit.schedule.geometry import dlog

if TYPE_CHECKING:
    from ropeaudit.perturb._encodings_lists import Listed
    from ropeaudit.perturb._encodings_measure import EncodingMeasure
    from ropeaudit.perturb.variant import Variant


def cells_of(m: EncodingMeasure) -> tuple[str, ...]:
    """Name, cluster, log gap, displacement and drift, as a schedule has them."""
    name = safe(m.encoding) if m.quantity == "frequency" else f"{safe(m.encoding)} {m.quantity}"
    gap = "-" if m.smallest_log_gap is None else f"{m.smallest_log_gap:.4g}"
    if m.zeroed:
        moved = f"-inf, {m.zeroed} set to 0"
    else:
        moved = f"{m.largest_dlog:+.4g}" if m.largest_dlog else "0"
    drift = "-"
    if m.extent is not None and m.max_phase_drift is not None:
        drift = f"{radians(m.max_phase_drift)} rad at {far_end(m.extent)}"
    elif m.extent is not None and m.max_bias_drift is not None:
        drift = f"{short(m.max_bias_drift)} in the logits at {far_end(m.extent)}"
    return name, str(m.max_cluster), gap, moved, drift


def far_end(extent: tuple[float, ...]) -> str:
    """``1023``, or ``13 x 13`` for several axes."""
    return " x ".join(f"{e:g}" for e in extent)


def where_of(entry: Mapping[str, Any]) -> str:
    """Which list an entry of ``found`` is about; empty for schedules."""
    named = [f"{n} {entry[n]}" for n in ("layer", "head", "axis") if n in entry]
    return f"{safe(', '.join(named))}, " if "encoding" in entry and named else ""


def changes(ink: Ink, variant: Variant) -> None:
    """Where the largest displacement is, and with -v what became of every list."""
    for made in variant.encodings:
        for m in made.measures:
            if m.channel is None:
                continue
            named = (("layer", m.layer), ("head", m.head), ("axis", m.axis))
            at = ", ".join(f"{n} {v}" for n, v in named if v is not None)
            ink.line()
            text = f"largest displacement at {f'{at}, ' if at else ''}channel {m.channel}"
            lists = plural(m.lists, "list")
            ink.line((f"  {safe(m.encoding)}", "bold"), (f" {safe(text)} ({lists})", "dim"))
            if ink.view.verbose:
                for item in made.lists:
                    if item.quantity == m.quantity:
                        _list(ink, item)
        if not made.changed:
            ink.line()
            ink.line((f"  {safe(made.base.name)}", "bold"), (" is not changed", "dim"))


def _list(ink: Ink, item: Listed) -> None:
    moved = [(k, a, b) for k, (a, b) in enumerate(zip(item.base, item.now, strict=True)) if a != b]
    if not moved:
        return
    ink.line((f"    {safe(item.place or 'all heads')}", "bold"), (f" {item.quantity}", "dim"))
    for k, a, b in moved:
        size = dlog(abs(a), abs(b))
        told = f"{size:+.5g}" if math.isfinite(size) else ("-inf" if size < 0 else "inf")
        ink.line(f"      {k:>5} {a:>15.9g} {b:>15.9g} {told:>13}")
