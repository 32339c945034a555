"""Plain ladders: ``base ** (-2k/d)``, divided by one factor at most.

Each value, with the reals that round to it, bounds ``ln base``; what all bounds leave is an
interval, and the shortest decimal in it is the base. No median and no least squares: a wrong law
leaves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ropeaudit.records import record
from ropeaudit.schedule.fit.cells import UNIT, Cells
from ropeaudit.schedule.fit.decimals import decimals, digits
from ropeaudit.schedule.fit.guess import AXES, ENGINES, Guess, Match, exponents, match
from ropeaudit.schedule.float32 import f32

SIMPLER = 3
"""Digits that a base must save to be preferred to one that fits more closely."""
_TRIES = 6
WIDTHS = (64, 80, 96, 128, 192, 256, 512)


@record()
class Level:
    """How far engines may be off: relative error before the last rounding, and steps after it."""

    slack: float
    allowed: float


def levels(tolerance: float) -> tuple[Level, ...]:
    """From one engine's own rounding to the widest difference that counts as the same table."""
    steps = ((1.1, 0.0), (2.2, 1.0), (5.0, ENGINES), (2 * (tolerance + 1), tolerance))
    return tuple(Level(slack * UNIT, min(allowed, tolerance)) for slack, allowed in steps)


def base_interval(
    found: Cells, exps: Sequence[float], slack: float, log_factor: float = 0.0
) -> tuple[float, float] | None:
    """Bounds on ``ln base`` from all channels with an exponent; None where they contradict."""
    low, high = -math.inf, math.inf
    for e, least, most in zip(exps, found.low, found.high, strict=True):
        if e:
            low = max(low, (-most - log_factor - slack) / e)
            high = min(high, (-least - log_factor + slack) / e)
            if low > high:
                return None
        elif not least - slack <= -log_factor <= most + slack:
            return None
    return (low, high) if low <= high < 85 and low > -85 else None


def bases(interval: tuple[float, float], limit: int = _TRIES) -> Iterator[float]:
    """Short decimals whose float32 may lie in an interval of ``ln base``."""
    low, high = interval
    return decimals(math.exp(low) * (1 - UNIT), math.exp(high) * (1 + UNIT), limit)


def ladder(
    found: Cells, dims: Sequence[int], tolerance: float, factors: Sequence[float] = (1.0,)
) -> Match | None:
    """The simplest base that reproduces the table over widths ``dims``, at the least distance.

    ``factors``: divisors to try. A base that saves many digits and still lies within what two
    engines differ by is preferred to a closer one.
    """
    stages = levels(tolerance)
    for at, stage in enumerate(stages):
        closest = _at_level(found, dims, stage, factors)
        if closest is not None:
            return _simpler(closest, found, dims, stages[2:] if at < 2 else (), factors)
    return None


def _simpler(
    closest: Match,
    found: Cells,
    dims: Sequence[int],
    wider: Sequence[Level],
    factors: Sequence[float],
) -> Match:
    count = digits(closest.guess.rope_theta)
    if wider and count > SIMPLER:
        return _at_level(found, dims, wider[0], factors, count - SIMPLER) or closest
    return closest


def _at_level(
    found: Cells,
    dims: Sequence[int],
    stage: Level,
    factors: Sequence[float],
    most: int = 99,
) -> Match | None:
    exps = exponents(dims, len(found.values))
    for factor in factors:
        interval = base_interval(found, exps, stage.slack, math.log(f32(factor)))
        for base in bases(interval) if interval else ():
            if digits(base) > most:
                break
            given: dict[str, object] = {} if factor == 1 else {"factor": factor}
            if len(dims) > 1:
                given[AXES] = list(dims)
            guess = Guess(
                rope_type="default" if factor == 1 else "linear",
                rope_theta=base,
                rotary_dim=sum(dims),
                parameters=given,
            )
            tried = match(guess, found, stage.allowed)
            if tried is not None and tried.fits:
                return tried
    return None


def plain(found: Cells, width: int, tolerance: float) -> Match | None:
    """``default`` over ``width``, or over another width whose base is far simpler."""
    own = ladder(found, (width,), tolerance)
    if own is None or digits(own.guess.rope_theta) < 5:
        return own
    rate = math.log(own.guess.rope_theta) / width
    for other in dict.fromkeys((width - 1, 2 * width, 4 * width, width // 2, *WIDTHS)):
        if other >= 2 and other != width and rate * other < 80:
            tried = ladder(found, (other,), min(tolerance, ENGINES))
            if tried is not None and digits(base := tried.guess.rope_theta) <= 2 and base >= 100:
                return tried
    return own


def divided(found: Cells, width: int, tolerance: float) -> Match | None:
    """``linear``; None where channel 0 says that the factor may be 1."""
    if not found.values[0]:
        return None
    for stage in levels(tolerance):
        slack = stage.slack + UNIT  # the factor itself is rounded to float32
        low, high = -found.high[0] - slack, -found.low[0] + slack
        if low <= 0 <= high or not -85 < low <= high < 85:
            return None
        factors = tuple(decimals(math.exp(low), math.exp(high), 4))
        tried = ladder(found, (width,), stage.allowed, factors)
        if tried is not None:
            return tried
    return None


def padded(found: Cells, tolerance: float) -> Match | None:
    """``proportional``: a ladder over the whole head, zeros behind it."""
    channels = len(found.values)
    turning = channels
    while turning and not found.values[turning - 1]:
        turning -= 1
    if turning in (channels, 0):
        return None
    part = found.part(range(turning))
    own = ladder(part, (2 * channels,), tolerance) or divided(part, 2 * channels, tolerance)
    if own is None:
        return None
    share = next(
        v
        for v in decimals(turning / channels, (turning + 0.999) / channels, 64)
        if int(v * 2 * channels // 2) == turning
    )
    guess = Guess(
        rope_type="proportional",
        rope_theta=own.guess.rope_theta,
        rotary_dim=2 * channels,
        parameters={**own.guess.parameters, "partial_rotary_factor": share},
    )
    tried = match(guess, found, max(own.max_ulp, 1.0))
    return tried if tried is not None and tried.fits else None
