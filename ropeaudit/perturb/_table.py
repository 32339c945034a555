"""What perturbations share: which channels take part, and the table they give back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ropeaudit.perturb._keys import POSITIONS
from ropeaudit.perturb.interface import Changed, Refused
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import f32s

LANDED = 5e-4
"""Log distance within which a moved value has landed on another channel."""
NUDGE = 1e-3
"""By how much, in log, such a value is moved on."""


def turning(schedule: Schedule) -> list[int]:
    """Channels that are not zero by design: only these are ever changed."""
    return [k for k in range(len(schedule.inv_freq)) if k not in schedule.static_channels]


def changed(
    schedule: Schedule, values: Mapping[int, float], found: Mapping[str, Any] | None = None
) -> Changed:
    """``schedule`` with new float64 values in some channels, each rounded to float32 once."""
    table = list(schedule.inv_freq)
    for k, value in zip(values, f32s(values.values()), strict=True):
        table[k] = value
    return Changed(schedules=(replace(schedule, inv_freq=tuple(table)),), found=found or {})


def require(schedule: Schedule, channels: Iterable[int]) -> None:
    """Raises Refused for a channel that is not there, or that the family keeps at zero."""
    count = len(schedule.inv_freq)
    for k in channels:
        if k >= count:
            raise Refused(f"there is no channel {k}: the table has channels 0 to {count - 1}")
        if k in schedule.static_channels:
            raise Refused(
                f"channel {k} is zero by design of '{schedule.rope_type}' and takes no part"
            )


def positive(schedule: Schedule, channels: Iterable[int]) -> list[float]:
    """The channels' frequencies; raises Refused for one that has no logarithm."""
    values = [schedule.inv_freq[k] for k in channels]
    for k, value in zip(channels, values, strict=True):
        if value <= 0:
            raise Refused(f"channel {k} is {value:g}, which has no place on a logarithmic scale")
    return values


def members(
    schedule: Schedule, at: str | int, codim: int, gap: int | None, dlog: float | None
) -> tuple[int, ...]:
    """Channels at, at+gap, .., at+(codim-1)*gap.

    ``dlog`` stands for the gap whose log distance from the first member comes nearest to it.
    ``high`` is the fast end, ``low`` the slow one, ``mid`` the middle between both.
    """
    if gap is None:
        gap = _gap_of(schedule, at, codim, dlog or 0.0)
    first = _first(schedule, at, (codim - 1) * gap)
    found = tuple(range(first, first + codim * gap, gap))
    require(schedule, found[-1:])  # the highest is the one that can be missing
    require(schedule, found)
    return found


def _first(schedule: Schedule, at: str | int, span: int) -> int:
    if at not in POSITIONS:
        return int(at)
    place = turning(schedule)
    room = len(place) - 1 - span
    if room < 0:
        raise Refused(
            f"{span + 1} channels in a row are needed and {len(place)} turn; take a smaller gap"
        )
    return place[{"high": 0, "mid": room // 2, "low": room}[str(at)]]


def _gap_of(schedule: Schedule, at: str | int, codim: int, dlog: float) -> int:
    values = schedule.inv_freq
    best: tuple[float, int, float] | None = None
    for gap in range(1, (len(values) - 1) // (codim - 1) + 1):
        try:
            first = _first(schedule, at, (codim - 1) * gap)
        except Refused:
            break
        second = first + gap
        if second >= len(values) or not (values[first] > 0 and values[second] > 0):
            continue
        apart = abs(math.log(values[first] / values[second]))
        off = abs(apart - dlog)
        if best is None or off < best[0]:
            best = off, gap, apart
    if best is None:
        raise Refused(f"no {codim} channels that turn follow each other from {at} on")
    off, gap, apart = best
    if off > dlog / 2:
        raise Refused(
            f"dlog is {dlog:.4g}, and the nearest that the table has is {apart:.4g} "
            f"(gap={gap}); take that gap or another dlog"
        )
    return gap


def landed(value: float, other: float) -> bool:
    """Whether ``value`` is too close to ``other``, a channel's frequency, to count as apart."""
    if value <= 0 or other <= 0:
        return value == other
    return abs(math.log(value / other)) < LANDED


def apart_from_all(
    schedule: Schedule, moved: Mapping[int, float], directions: Sequence[int]
) -> tuple[dict[int, float], list[dict[str, Any]]]:
    """``moved`` with every value that landed on another channel moved on by NUDGE in log.

    ``directions``: +1 or -1 for each value, the way it was going. Also returns what was done, for
    the recipe's record.
    """
    others = {k: v for k, v in enumerate(schedule.inv_freq) if k not in moved and 0 < v < math.inf}
    out: dict[int, float] = {}
    record: list[dict[str, Any]] = []
    for (k, value), way in zip(moved.items(), directions, strict=True):
        steps = 0
        rivals = [*others.values(), *out.values()]
        while any(landed(value, v) for v in rivals):
            value *= math.exp(way * NUDGE)
            steps += 1
        if steps:
            record.append({"channel": k, "moved_dlog": way * steps * NUDGE})
        out[k] = value
    return out, record
