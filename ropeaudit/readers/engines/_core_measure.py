"""How far two tables are apart: in log, in phase within a length, and in their factors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.geometry import dlog, phase_drift

Pair = tuple[Schedule, Schedule]
"""A schedule of an engine and the reference's that serves the same layers."""


@record()
class Measure:
    """Numbers of one of the engine's schedules against all that it answers to."""

    dlog: float | None
    drift: float
    attention: float
    softmax: float

    def as_dict(self) -> dict[str, float | None]:
        return {
            "max_abs_dlog": self.dlog,
            "max_phase_drift": self.drift,
            "attention": self.attention,
            "softmax": self.softmax,
        }


def measured(pairs: Sequence[Pair], asked: int | None) -> Measure:
    """The numbers of ``pairs``; phases at ``asked``, None for the length that each table is for."""
    dlogs = [d for a, b in pairs if (d := max_dlog(a, b)) is not None]
    return Measure(
        max(dlogs, default=None),
        max(_drift(a, b, asked) for a, b in pairs),
        extreme(_ratio(a.attention_scaling, b.attention_scaling) for a, b in pairs),
        extreme(_ratio(a.softmax_scale, b.softmax_scale) for a, b in pairs),
    )


def max_dlog(a: Schedule, b: Schedule) -> float | None:
    """Largest log distance of a channel; None for tables of different widths."""
    if len(a.inv_freq) != len(b.inv_freq):
        return None
    if a.inv_freq == b.inv_freq:
        return 0.0
    return max(_size(dlog(x, y)) for x, y in zip(a.inv_freq, b.inv_freq, strict=True))


def _size(value: float) -> float:
    return math.inf if math.isnan(value) else abs(value)


def widths_differ(a: Schedule, b: Schedule) -> bool:
    return len(a.inv_freq) != len(b.inv_freq) or a.rotary_dim != b.rotary_dim


def _drift(a: Schedule, b: Schedule, asked: int | None) -> float:
    """How far the phases part within the length that the table is for; 0 where none is known."""
    length = _length(b, asked)
    if length is None or a.inv_freq == b.inv_freq:
        return 0.0
    if len(a.inv_freq) != len(b.inv_freq):
        return math.pi
    return max(phase_drift(x, y, length) for x, y in zip(a.inv_freq, b.inv_freq, strict=True))


def _length(schedule: Schedule, asked: int | None) -> int | None:
    if not schedule.is_text:
        return None
    variant = schedule.variant or ""
    if variant.startswith("@") and variant[1:].isdecimal():
        return int(variant[1:])
    context = schedule.context
    if variant == "short":  # a longer sequence turns by the other list
        return min((n for n in (context.trained, asked) if n is not None), default=None)
    return asked or context.declared or context.trained


def _ratio(ours: float, theirs: float) -> float:
    return ours / theirs if theirs else (1.0 if ours == theirs else math.inf)


def extreme(ratios: Iterable[float]) -> float:
    """The ratio farthest from 1."""
    return max(ratios, key=lambda r: abs(math.log(r)) if 0 < r < math.inf else math.inf)
