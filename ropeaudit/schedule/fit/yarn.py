"""The parameters of a yarn table (Peng et al., 2309.00071).

The table shows the factor and the two channels where the ramp starts and ends. Length and turns
enter only through these ends, and with whole ends each of them may vary within an interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from ropeaudit.schedule.fit.cells import Cells
from ropeaudit.schedule.fit.decimals import decimals, digits, lengths, simplest
from ropeaudit.schedule.fit.guess import Guess, Match, first_fit
from ropeaudit.schedule.fit.ramps import Interval, Shape, meet

FAST, SLOW = 32.0, 1.0
"""The turns that yarn's authors chose; taken where the ramp's ends allow them."""
_NEAR = 3
_TRIES = 24


def yarn(found: Cells, shape: Shape, tolerance: float) -> Match | None:
    """The first of the candidates, the customary ones first, that reproduces the table."""
    return first_fit(islice(_candidates(shape), _TRIES), found, tolerance)


def _candidates(shape: Shape) -> Iterator[Guess]:
    whole = list(_whole_ends(shape))
    for customary in (True, False):
        for low, high, factor in whole:
            yield from _truncated(shape, low, high, factor, customary)
        for ends in _real_ends(shape):
            yield from _exact(shape, *ends, customary)


def _guess(
    shape: Shape, factor: float, original: float, fast: float, slow: float, cut: bool
) -> Guess:
    return Guess(
        rope_type="yarn",
        rope_theta=shape.base,
        rotary_dim=2 * len(shape.plain),
        parameters={
            "factor": factor,
            "original_max_position_embeddings": original,
            "beta_fast": fast,
            "beta_slow": slow,
            "truncate": cut,
        },
    )


def _fall(shape: Shape, low: float) -> Interval | None:
    """How much the ratio falls a channel, if the ramp starts at ``low``."""
    least, most = 0.0, math.inf
    for k in shape.inside:
        a, b = shape.blend(k)
        if k > low:
            least, most = max(least, (1 - b) / (k - low)), min(most, (1 - a) / (k - low))
    return (least, most) if least <= most else None


def _whole_ends(shape: Shape) -> Iterator[tuple[int, int, float]]:
    """Ramps with whole ends that pass through every channel in between, and their factor."""
    last = 2 * len(shape.plain) - 1
    for low in range(shape.kept - 1, max(shape.kept - 1 - _NEAR, -1), -1):
        fall = _fall(shape, low)
        if fall is None:
            continue
        if shape.finished:
            factors = _factors(shape.slow)
            for high in range(shape.divided, min(shape.divided + _NEAR, last) + 1):
                drop = (1 - shape.slow[1]) / (high - low), (1 - shape.slow[0]) / (high - low)
                if meet(drop, fall) is not None or not shape.inside:
                    yield from ((low, high, f) for f in factors[:1])
        elif shape.inside:
            yield from _unfinished(shape, low, fall)


def _unfinished(shape: Shape, low: int, fall: Interval) -> list[tuple[int, int, float]]:
    """A ramp that ends beyond the table: its end and the factor are known only together.

    The ends that 32 turns and one allow, the shortest factor first.
    """
    dim = 2 * len(shape.plain)
    found = []
    for high in range(len(shape.plain) - 1, dim):
        drop = fall[0] * (high - low), min(fall[1] * (high - low), 1 - 1e-9)
        if drop[0] < drop[1] and _shared(end_ranges(shape.base, dim, low, high)):
            found.append((low, high, simplest(1 / (1 - drop[0]), 1 / (1 - drop[1]))))
    return sorted(found, key=lambda f: digits(f[2]))[:4]


def _shared(ranges: tuple[Interval, Interval]) -> Interval | None:
    """Original lengths that give both ends with the customary turns."""
    fast, slow = ranges
    return meet((fast[0] * FAST, fast[1] * FAST), (slow[0] * SLOW, slow[1] * SLOW))


def _factors(ratio: Interval) -> list[float]:
    low, high = 1 / ratio[1], (1 / ratio[0] if ratio[0] > 0 else math.inf)
    return list(decimals(low, high, 3)) if high < math.inf else []


def turns_at(shape_base: float, dim: int, channel: float) -> float:
    """original / beta for a ramp end at ``channel`` (eq. 17 solved for the turns)."""
    power = channel * 2 * math.log(shape_base) / dim
    return 2 * math.pi * math.exp(power) if power < 700 else math.inf


def end_ranges(base: float, dim: int, low: int, high: int) -> tuple[Interval, Interval]:
    """original/beta_fast and original/beta_slow that truncate to these ends."""
    top = dim - 1
    fast = (
        turns_at(base, dim, low) if low > 0 else 0.0,
        turns_at(base, dim, low + 1) * (1 - 1e-12),
    )
    slow = (
        turns_at(base, dim, high - 1) * (1 + 1e-12) if high > 0 else 0.0,
        turns_at(base, dim, high) if high < top else math.inf,
    )
    return fast, slow


def _truncated(
    shape: Shape, low: int, high: int, factor: float, customary: bool
) -> Iterator[Guess]:
    fast, slow = ranges = end_ranges(shape.base, 2 * len(shape.plain), low, high)
    shared = _shared(ranges)
    if customary:
        if shared is not None:
            for original in lengths(max(shared[0], 1.0), min(shared[1], 1e9), 1):
                yield _guess(shape, factor, original, FAST, SLOW, True)
    elif shared is None:
        bounds = max(slow[0], 1.0) * SLOW, min(slow[1] * SLOW, 1e9)
        for original in lengths(*bounds, 1):
            least = original / fast[1]
            most = original / fast[0] if fast[0] else least * 4
            yield _guess(shape, factor, original, simplest(least, most), SLOW, True)


def _real_ends(shape: Shape) -> Iterator[tuple[Interval, Interval, float]]:
    """Bounds on the two ends of a ramp that was not truncated, and the factor."""
    if len(shape.inside) < 2:
        return
    first, last = shape.inside[0], shape.inside[-1]
    half = max(1, len(shape.inside) // 2)
    least, most = 0.0, math.inf
    for i in range(first, last + 1 - half):
        (a, b), (c, d) = shape.blend(i), shape.blend(i + half)
        least, most = max(least, (a - d) / half), min(most, (b - c) / half)
    if not 0 < least <= most:
        return
    low = _crossing(shape, (least, most), (1.0, 1.0))
    if low is None:
        return
    if not shape.finished:
        yield from _beyond(shape, low, (least, most))
        return
    high = _crossing(shape, (least, most), shape.slow)
    if high is not None:
        for factor in _factors(shape.slow)[:2]:
            yield low, high, factor


def _crossing(shape: Shape, fall: Interval, level: Interval) -> Interval | None:
    """Channels where the ramp's straight line may reach ``level``."""
    low, high = -math.inf, math.inf
    for k in shape.inside:
        a, b = shape.blend(k)
        under, over = a - level[1], b - level[0]
        low = max(low, k + under / (fall[1] if under > 0 else fall[0]))
        high = min(high, k + over / (fall[0] if over > 0 else fall[1]))
    return (low, high) if low <= high else None


def _beyond(
    shape: Shape, low: Interval, fall: Interval
) -> Iterator[tuple[Interval, Interval, float]]:
    """The same for a ramp that ends beyond the table, with the customary turns."""
    dim = 2 * len(shape.plain)
    more = math.log(FAST / SLOW) * len(shape.plain) / math.log(shape.base)
    high = min(low[0] + more, dim - 1), min(low[1] + more, dim - 1)
    drop = fall[0] * (high[0] - low[0]), fall[1] * (high[1] - low[1])
    if drop[1] < 1:
        for factor in decimals(1 / (1 - drop[0]), 1 / (1 - drop[1]), 2):
            yield low, high, factor


def _exact(
    shape: Shape, low: Interval, high: Interval, factor: float, customary: bool
) -> Iterator[Guess]:
    dim = 2 * len(shape.plain)
    fast = turns_at(shape.base, dim, low[0]), turns_at(shape.base, dim, low[1])
    slow = turns_at(shape.base, dim, high[0]), turns_at(shape.base, dim, high[1])
    if high[1] >= dim - 1:  # ends are kept within the width
        slow = slow[0], math.inf
    shared = _shared((fast, slow))
    if customary:
        if shared is not None:
            for original in lengths(*shared, 3):
                yield _guess(shape, factor, original, FAST, SLOW, False)
    elif shared is None and slow[1] < math.inf:
        for original in lengths(slow[0] * SLOW, slow[1] * SLOW, 3):
            beta = simplest(original / fast[1], original / fast[0])
            yield _guess(shape, factor, original, beta, SLOW, False)
