"""What a variant did to its tables, in a few numbers."""

from __future__ import annotations

import math

from ropeaudit.perturb.variant import Variant
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.geometry import dlog, log_gaps, max_cluster, phase_drift


@record(kw_only=True)
class Measure:
    """Of one schedule against its base.

    ``max_cluster`` and ``smallest_log_gap`` (0 where channels coincide, None where fewer than two
    turn) are of the made table, on each axis apart, without channels that are zero by design.
    ``largest_dlog`` is the displacement ``ln(made / base)`` of greatest size, with its sign: -inf
    where a channel was set to 0. ``max_phase_drift`` is ``min(|made - base| * length, pi)`` in
    radians, None without a length; ``length`` is the trained one, within the attention window.
    """

    schedule: str
    max_cluster: int
    smallest_log_gap: float | None
    largest_dlog: float
    zeroed: int
    max_phase_drift: float | None
    length: int | None

    @property
    def max_abs_dlog(self) -> float:
        return abs(self.largest_dlog)


def measure(base: Schedule, made: Schedule) -> Measure:
    """The numbers of one schedule; both have the same channels."""
    pairs = list(zip(base.inv_freq, made.inv_freq, strict=True))
    moved = [dlog(a, b) for a, b in pairs]
    cluster = max_cluster(made, ignore=made.static_channels)
    length = trained(base)
    return Measure(
        schedule=made.name,
        max_cluster=cluster,
        smallest_log_gap=0.0 if cluster > 1 else _smallest_gap(made),
        largest_dlog=max(moved, key=_size, default=0.0),
        zeroed=sum(b == 0 != a for a, b in pairs),
        max_phase_drift=None
        if length is None
        else max((phase_drift(a, b, length) for a, b in pairs), default=0.0),
        length=length,
    )


def measures(variant: Variant) -> tuple[Measure, ...]:
    """One for each text schedule, and for any other that a step has changed."""
    changed = {id(s) for _, s in variant.changed()}
    return tuple(
        measure(b, s)
        for b, s in zip(variant.base, variant.schedules, strict=True)
        if s.is_text or id(s) in changed
    )


def trained(schedule: Schedule) -> int | None:
    """The trained length, limited by the attention window; None for what has no length."""
    context = schedule.context
    if not schedule.is_text or context.trained is None:
        return None
    return min(context.trained, context.window or context.trained)


def _size(value: float) -> float:
    return math.inf if math.isnan(value) else abs(value)  # a change of sign is beyond any log


def _smallest_gap(schedule: Schedule) -> float | None:
    values = schedule.inv_freq
    found = [
        gap
        for group in schedule.groups()
        for gap in log_gaps(values[k] for k in group if k not in schedule.static_channels)
    ]
    return min(found, default=None)
