"""What the numbers of a table look like: clusters, gaps, turns, phases. Pure functions of floats.

Lengths are in positions, angles in radians, gaps in natural-log units unless a name says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

TWO_PI = 2 * math.pi


def clusters(values: Sequence[float], groups: Iterable[Sequence[int]]) -> list[list[int]]:
    """Channel sets with exactly equal values inside one group, largest first, singletons left out.

    NaN equals nothing. Time O(n) per group.
    """
    found: list[list[int]] = []
    for group in groups:
        seen: dict[float, list[int]] = {}
        for k in group:
            if values[k] == values[k]:
                seen.setdefault(values[k] + 0.0, []).append(k)  # -0.0 joins 0.0
        found.extend(members for members in seen.values() if len(members) > 1)
    return sorted(found, key=lambda m: (-len(m), m))


def max_cluster(schedule: Schedule, *, ignore: frozenset[int] = frozenset()) -> int:
    """Size of the largest set of equal frequencies on one axis; 1 is the healthy value.

    ``ignore``: channels left out, e.g. zeros that the family defines.
    """
    groups = [[k for k in g if k not in ignore] for g in schedule.groups()]
    found = clusters(schedule.inv_freq, groups)
    return len(found[0]) if found else 1


@record()
class GapSummary:
    """Distribution of log gaps between neighbouring frequencies sorted in value."""

    min: float
    q1: float
    median: float
    q3: float
    max: float
    mean: float
    cv: float
    """Coefficient of variation: standard deviation over mean (0 for a geometric table)."""

    def as_dict(self) -> dict[str, float]:
        return {k: getattr(self, k) for k in ("min", "q1", "median", "q3", "max", "mean", "cv")}


def log_gaps(values: Iterable[float]) -> list[float]:
    """``ln`` differences between neighbours of the positive finite values, sorted; length n-1."""
    logs = sorted(math.log(v) for v in values if 0 < v < math.inf)
    return [b - a for a, b in pairwise(logs)]


def summarise(gaps: Sequence[float]) -> GapSummary | None:
    """Quartiles by linear interpolation; None for an empty sequence."""
    if not gaps:
        return None
    ordered = sorted(gaps)

    def quantile(q: float) -> float:
        position = q * (len(ordered) - 1)
        low = math.floor(position)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (position - low)

    mean = math.fsum(ordered) / len(ordered)
    variance = math.fsum((g - mean) ** 2 for g in ordered) / len(ordered)
    cv = math.sqrt(variance) / mean if mean else math.inf
    return GapSummary(
        ordered[0], quantile(0.25), quantile(0.5), quantile(0.75), ordered[-1], mean, cv
    )


def turns(theta: float, length: float) -> float:
    """Full turns that a channel makes within ``length`` positions."""
    return theta * length / TWO_PI


def under_rotated(values: Iterable[float], length: float) -> list[int]:
    """Channels with ``theta * length < 2 pi``: they never complete a turn. Zeros included."""
    return [k for k, v in enumerate(values) if abs(v) * length < TWO_PI]


def critical_dim(values: Sequence[float], length: float) -> int:
    """Twice the channels that complete a turn within ``length``, in 0..2n.

    For a geometric table this equals ``2 ceil(d/2 log_b(L / 2 pi))`` clamped to [0, d] (Liu et al.,
    2310.05209); counting works on any table.
    """
    return 2 * sum(1 for v in values if abs(v) * length >= TWO_PI)


def phase_drift(a: float, b: float, length: float) -> float:
    """``min(|a - b| * length, pi)``: how far two frequencies part within ``length`` positions."""
    drift = abs(a - b) * length
    return math.pi if not drift < math.pi else drift


def dlog(a: float, b: float) -> float:
    """``ln(b / a)``; -inf when b is 0, +inf when only a is 0, NaN for other signs."""
    if a == b:
        return 0.0
    if a > 0 and b > 0:
        return math.log(b) - math.log(a) if not (a == math.inf or b == math.inf) else math.nan
    if a > 0 and b == 0:
        return -math.inf
    if a == 0 and b > 0:
        return math.inf
    return math.nan


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """(first, last) of each run of consecutive indices, in ascending order."""
    found: list[tuple[int, int]] = []
    for n in sorted(set(numbers)):
        if found and n == found[-1][1] + 1:
            found[-1] = found[-1][0], n
        else:
            found.append((n, n))
    return found


def spans(numbers: Iterable[int], dash: str = "-") -> list[str]:
    """Each run of consecutive indices as text: ``0-3``, ``7``."""
    return [str(a) if a == b else f"{a}{dash}{b}" for a, b in runs(numbers)]
