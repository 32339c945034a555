"""Tables that are plain at the fast end and divided by one factor at the slow end.

The leading channels give the base, the trailing ones the factor, those in between the ramp: linear
in the channel for yarn, linear in the frequency for llama3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ropeaudit.errors import InvalidValue
from ropeaudit.records import record
from ropeaudit.schedule.families.interface import powers, reciprocal
from ropeaudit.schedule.fit.cells import UNIT, Cells
from ropeaudit.schedule.fit.geometric import bases
from ropeaudit.schedule.fit.guess import exponents

Interval = tuple[float, float]
SLACK = 6 * UNIT
"""Relative error of a scaled table: a few float32 roundings more than a plain one has."""
_BLEND = 8 * UNIT
"""Absolute error of a ratio between: the engine's shares are differences of float32 numbers."""
_MIN_CHANNELS = 4
_LEAST_BASE = 2.0
"""Ramps are laid out by the logarithm of the base."""


@record()
class Shape:
    """A table over a plain ladder: ``ratio[k]`` bounds stored / plain.

    Channels below ``kept`` are plain; those from ``divided`` on agree on the ratio ``slow``
    (``divided`` is the channel count where none does).
    """

    base: float
    plain: tuple[float, ...]
    ratio: tuple[Interval, ...]
    kept: int
    divided: int
    slow: Interval

    @property
    def inside(self) -> range:
        return range(self.kept, self.divided)

    @property
    def finished(self) -> bool:
        """Whether a channel shows the whole factor."""
        return self.divided < len(self.plain)

    def between(self, k: int) -> bool:
        """Whether a channel is clearly neither plain nor divided, whatever the last digit."""
        low, high = self.ratio[k]
        return high < 1 - 1e-3 and low > self.slow[1] * (1 + 1e-3)

    def blend(self, k: int) -> Interval:
        """Bounds on the ratio of a channel in between."""
        low, high = self.ratio[k]
        return low - _BLEND, high + _BLEND


def shapes(found: Cells, tolerance: float) -> Iterator[Shape]:
    """Readings of a table as a ramp, for each short base that its plain channels allow."""
    if len(found.values) < _MIN_CHANNELS or min(found.high) == -math.inf:
        return
    width = 2 * len(found.values)
    tried: set[float] = set()
    for slack in (SLACK, 2 * (tolerance + 2) * UNIT):
        for interval in _intervals(found, width, slack):
            for base in bases(interval):
                if base not in tried and base >= _LEAST_BASE:
                    tried.add(base)
                    yield from _readings(found, base, width, slack)


def _intervals(found: Cells, width: int, slack: float) -> Iterator[Interval]:
    """Bounds on ``ln base``: of the plain channels, with the slope of the divided ones, and with
    the last channels dropped, which may be scaled by less than a rounding.
    """
    exps = exponents((width,), len(found.values))
    if not found.low[0] - slack <= 0 <= found.high[0] + slack:
        return
    runs: list[Interval] = []
    low, high = -math.inf, math.inf
    for e, least, most in zip(exps[1:], found.low[1:], found.high[1:], strict=True):
        low, high = max(low, (-most - slack) / e), min(high, (-least + slack) / e)
        if not low <= high:
            break
        runs.append((low, high))
    slope = _slope(found, exps, slack)
    for kept in runs[::-1][:4]:
        if slope is not None:
            both = max(kept[0], slope[0]), min(kept[1], slope[1])
            if both[0] <= both[1] < 85:
                yield both
        if kept[1] < 85:
            yield kept


def _slope(found: Cells, exps: Sequence[float], slack: float) -> Interval | None:
    """Bounds on ``ln base`` from how the last channels fall; None for fewer than three."""
    low, high = -math.inf, math.inf
    last, count = len(exps) - 1, 1
    for k in range(last - 1, -1, -1):
        step = exps[last] - exps[k]
        least = (found.low[k] - found.high[last] - 2 * slack) / step
        most = (found.high[k] - found.low[last] + 2 * slack) / step
        if max(low, least) > min(high, most):
            break
        low, high, count = max(low, least), min(high, most), count + 1
    return (low, high) if count >= 3 else None


def _readings(found: Cells, base: float, width: int, slack: float) -> Iterator[Shape]:
    """None unless the table leaves the plain ladder after its first channels, never to return."""
    try:
        plain = reciprocal(powers(base, width))
    except InvalidValue:
        return
    logs = [math.log(v) if v > 0 else math.inf for v in plain]
    ratio = [
        (math.exp(min(low - log - slack, 700)), math.exp(min(high - log + slack, 700)))
        for log, low, high in zip(logs, found.low, found.high, strict=True)
    ]
    channels = len(ratio)
    kept = next((k for k, (a, b) in enumerate(ratio) if not a <= 1 <= b), channels)
    falling = all(ratio[k][0] <= ratio[k - 1][1] for k in range(max(kept, 1), channels))
    if not 1 <= kept < channels or not falling or ratio[-1][0] >= 1:
        return
    slow, divided = ratio[-1], channels - 1
    while divided > kept and (both := meet(ratio[divided - 1], slow)) is not None:
        slow, divided = both, divided - 1
    if slow[0] > 0:
        yield Shape(base, tuple(plain), tuple(ratio), kept, divided, slow)
    if divided == channels - 1 and divided > kept:  # the ramp may as well go on
        yield Shape(base, tuple(plain), tuple(ratio), kept, channels, (0.0, ratio[-1][1]))


def meet(a: Interval, b: Interval) -> Interval | None:
    """What two intervals share."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else None
