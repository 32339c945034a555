"""Divisors from which an engine rebuilds a wanted table as closely as float32 lets it.

An engine computes ``1 / (factor * base ** (2k/d))`` in float32, and for about a fifth of all
values no float32 factor gives them exactly. Chosen are the nearest values that can be reached, with
two promises: channels that are equal stay equal, and channels that differ stay different.

The choice is stable: a rebuilt table, given as the wanted one, gives the same factors.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence

from ropeaudit.records import record
from ropeaudit.schedule.families.interface import powers
from ropeaudit.schedule.float32 import Table, f32, ordinal, ulp_distance

NEAR_TIE = 0.08
"""A power this close to the middle of two float32 numbers (in steps) may round either way.

Of 25,296 powers, torch 2.13 rounds 333 to the farther neighbour, all within 0.066 of the middle.
"""
WINDOW = 3
"""Channels that must stay equal look for a value among this many neighbours, the wanted one in
them. The windows tile the line, so a value found in one is looked for in the same one again."""
OFFSETS = (0, 1, -1, 2, -2)
_SHIFTS = (0, 1, -1, 2, -2, 3, -3)
_LEAST = 2.0**-128
"""The reciprocal of anything smaller is beyond float32."""
_NORMAL = 2.0**-126
"""The smallest normal float32 number."""

Ways = tuple[float, ...]
"""The powers that an engine may have for one channel, the likely one first."""
Rebuild = Callable[[float, float], float]
"""What an engine computes from a factor and a power."""


@record()
class Choice:
    """Divisors, shape (channels,), and the table that an engine rebuilds from them."""

    factors: Table
    table: Table


def ways(base: float, dim: int) -> list[Ways]:
    """Float32 powers ``base ** (2k/dim)``; two where libraries may round differently."""
    base32 = f32(base)
    found: list[Ways] = []
    for k, power in enumerate(powers(base, dim)):
        exact = base32 ** f32(2 * k / dim)
        step = math.ldexp(1.0, math.frexp(exact)[1] - 24)
        off = (exact - power) / step
        risky = abs(off) > 0.5 - NEAR_TIE
        other = nudged(power, 1 if off > 0 else -1)
        found.append((power, other) if risky else (power,))
    return found


def single(factor: float, power: float) -> float:
    """As transformers, vLLM and SGLang compute it: product, then reciprocal, each in float32."""
    product = f32(factor * power)
    return f32(1.0 / product) if product else math.inf


def exact(factor: float, power: float) -> float:
    """The closed form that a GGUF file stands for, rounded once; ``power`` is float64."""
    value = f32(1.0 / (factor * power))
    return value if abs(value) >= _NORMAL else 0.0


def choose(
    wanted: Sequence[float],
    powers_of: Sequence[Ways],
    rebuild: Rebuild,
    *,
    still: float,
) -> Choice | None:
    """Factors for ``wanted``; None where the promises cannot be kept within two float32 steps.

    ``still`` is the factor of a channel that must not turn, i.e. whose frequency is 0.
    """
    factors = [still] * len(wanted)
    groups: dict[float, list[int]] = {}
    for k, value in enumerate(wanted):
        if value != 0:
            groups.setdefault(value, []).append(k)
    taken: set[float] = set()
    # Clusters have fewer places to go to, so they choose first.
    for value, channels in sorted(groups.items(), key=lambda g: len(g[1]) == 1):
        powers = [powers_of[k] for k in channels]
        place = _place_single if len(channels) == 1 else _place_cluster
        found = place(value, powers, rebuild, taken)
        if found is None:
            return None
        for k, factor in zip(channels, found, strict=True):
            factors[k] = factor
    rebuilt = (rebuild(f, p[0]) for f, p in zip(factors, powers_of, strict=True))
    return Choice(tuple(factors), tuple(rebuilt))


def _place_single(
    value: float, powers_of: Sequence[Ways], rebuild: Rebuild, taken: set[float]
) -> list[float] | None:
    """The value itself, if it can be had; else a near one that is near however powers round."""
    (own,) = powers_of
    spare = None
    for candidate in (nudged(value, n) for n in OFFSETS):
        if candidate in taken or not math.isfinite(candidate):
            continue
        factors = _factors(candidate, own[:1], rebuild)
        # Which factor it is depends on the candidate alone, so that the choice is stable.
        found = min(factors, key=lambda f: _spread(f, candidate, own, rebuild), default=None)
        if found is None:
            continue
        if candidate == value or _spread(found, value, own, rebuild) <= max(OFFSETS):
            taken.add(candidate)
            return [found]
        spare = spare or (candidate, found)
    if spare is None:
        return None
    taken.add(spare[0])
    return [spare[1]]


def _spread(factor: float, value: float, powers: Ways, rebuild: Rebuild) -> float:
    """Float32 steps by which the factor misses ``value``, whichever power an engine has."""
    steps = (ulp_distance(rebuild(factor, p), value) for p in powers)
    return max(math.inf if n is None else n for n in steps)


def _place_cluster(
    value: float, powers_of: Sequence[Ways], rebuild: Rebuild, taken: set[float]
) -> list[float] | None:
    """A factor for each channel, all giving one value near ``value`` that is not taken."""
    for candidate in _window(value):
        if candidate in taken or not math.isfinite(candidate):
            continue
        found = []
        for own in powers_of:
            factor = next(_factors(candidate, own, rebuild), None)
            if factor is None:
                break
            found.append(factor)
        else:
            taken.add(candidate)
            return found
    return None


def _window(value: float) -> Iterator[float]:
    at = ordinal(value)
    first = at - at % WINDOW
    return (nudged(value, n - at) for n in sorted(range(first, first + WINDOW), key=_near(at)))


def _near(at: int) -> Callable[[int], tuple[int, int]]:
    return lambda n: (abs(n - at), n)


def _factors(value: float, must: Ways, rebuild: Rebuild) -> Iterator[float]:
    """Float32 factors that give ``value`` with all of the powers, nearest the ideal one first.

    1 alone where it does: a channel that was not moved stays what the engine made of it before.
    """
    if all(rebuild(1.0, p) == value for p in must):
        yield 1.0
        return
    product = value * must[0]
    ideal = f32(1.0 / product) if abs(product) > _LEAST else math.inf
    if not math.isfinite(ideal):
        return
    for shift in _SHIFTS:
        factor = nudged(ideal, shift)
        if factor and math.isfinite(factor) and all(rebuild(factor, p) == value for p in must):
            yield factor


def nudged(value: float, steps: int) -> float:
    """The float32 that is ``steps`` float32 numbers above ``value``."""
    at = ordinal(value) + steps
    bits = at if at >= 0 else -at | 0x80000000
    number: float = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]
    return number
