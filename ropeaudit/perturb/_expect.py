"""Which rules must fire on a table, by what happened to it.

A variant is audited as a table that lies beside the config it was made from (``beside``), so a
displacement alone is found by RA401, whatever the table looks like.
"""

from __future__ import annotations

import math
from itertools import pairwise

from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import ulp_distance
from ropeaudit.schedule.geometry import clusters

Rules = frozenset[str]
NONE: Rules = frozenset()

_ULP = 4
"""Float32 steps that every comparison allows."""
_CLOSE = 0.01
"""Part of the mean log gap below which neighbours nearly coincide."""
_MIN_LADDER = 8


def _axes(base: Schedule) -> list[list[int]]:
    return [[k for k in g if k not in base.static_channels] for g in base.groups()]


def moved(base: Schedule, made: Schedule) -> Rules:
    """RA401 where a channel is more than a few ulp away from what the config means."""
    for a, b in zip(base.inv_freq, made.inv_freq, strict=True):
        if (ulp_distance(a, b) or 0) > _ULP:
            return frozenset({"RA401"})
    return NONE


def merged(base: Schedule, made: Schedule) -> Rules:
    """RA101 where two channels of one axis became equal."""
    found = clusters(made.inv_freq, _axes(base))
    return frozenset({"RA101"}) if found else NONE


def stopped(base: Schedule, made: Schedule) -> Rules:
    """RA104 where a channel that should turn is 0."""
    lost = any(v == 0 and k not in base.static_channels for k, v in enumerate(made.inv_freq))
    return frozenset({"RA104"}) if lost else NONE


def rising(base: Schedule, made: Schedule) -> Rules:
    """RA201 where a frequency of an axis lies above the one before it."""
    for axis in _axes(base):
        if any(made.inv_freq[i] < made.inv_freq[j] for i, j in pairwise(axis)):
            return frozenset({"RA201"})
    return NONE


def close(base: Schedule, made: Schedule) -> Rules:
    """RA102 where two different channels of an axis are a few float32 steps apart."""
    for axis in _axes(base):
        values = sorted(v for k in axis if (v := made.inv_freq[k]) > 0)
        if len(values) < 2:
            continue
        mean = math.log(values[-1] / values[0]) / (len(values) - 1)
        if any(0 < math.log(b / a) < _CLOSE * mean / 2 for a, b in pairwise(values)):
            return frozenset({"RA102"})
    return NONE


def uneven(base: Schedule, made: Schedule) -> Rules:
    """RA203 where a long enough ladder has left its law and cannot be geometric any more."""
    axes = _axes(base)
    if min(map(len, axes), default=0) < _MIN_LADDER:
        return NONE
    ladder = axes[0]
    offsets = sorted(
        math.log(made.inv_freq[k] / base.inv_freq[k])
        for k in ladder
        if made.inv_freq[k] > 0 and base.inv_freq[k] > 0
    )
    return frozenset({"RA203"}) if offsets and offsets[-1] - offsets[0] > 0.05 else NONE


def rescaled(base: Schedule, made: Schedule) -> Rules:
    """RA305 where the factor on cos and sin is another one."""
    a, b = base.attention_scaling, made.attention_scaling
    return frozenset({"RA305"}) if abs(a - b) > 1e-3 * abs(a) else NONE
