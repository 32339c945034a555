"""A table as the engine computes it in float32, step by step, on exact rationals.

Every step is one rounding of an exact result, apart from those that a C library takes (powers and
logarithms in float64): there the exact value is enclosed, and where it lies too near the middle
between two float32 to say what a library makes of it, both count. A table is therefore a list of
*choices*, the possible values of each channel, nearly always one. The order of operations is that
of transformers 5.24, modeling_rope_utils.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ropeaudit.verifier import numbers
from ropeaudit.verifier.formats import rounded
from ropeaudit.verifier.laws import MAX_CHANNELS
from ropeaudit.verifier.terms import Cutoff, ends

Choices = list[Fraction]
Parameters = dict[str, Any]

BITS = 160
"""Precision of the powers; float32 needs 24 and the margin of a C library 50."""
MARGIN = Fraction(1, 1 << 50)
"""Relative error that a power or logarithm of a C library is granted."""


class Overflow(Exception):
    """A step leaves the range of float32, or divides by zero."""


def f64(value: Fraction) -> Fraction:
    return _finite(value, "float64")


def f32(value: Fraction) -> Fraction:
    return _finite(value, "float32")


def narrow(value: Fraction) -> Fraction:
    """A float64 result put into a float32: rounded twice."""
    return f32(f64(value))


def _finite(value: Fraction, dtype: str) -> Fraction:
    found = rounded(value, dtype)
    if isinstance(found, str):
        raise Overflow
    return found


def _inverse(value: Fraction) -> Fraction:
    if not value:
        raise Overflow
    return narrow(1 / value)


def _each(values: Iterable[Fraction], step: Callable[[Fraction], Fraction]) -> Choices:
    return sorted({step(value) for value in values})


def _choices(lo: Fraction, hi: Fraction) -> Choices:
    """float32 values that a library may give for a float64 result within [lo, hi]."""
    wide = MARGIN * max(abs(lo), abs(hi))
    return sorted({f32(lo - wide), f32(hi + wide)})


@lru_cache(maxsize=8)
def powers(base: Fraction, width: int, channels: int) -> list[Choices]:
    """base**(2k/width): base and exponent in float32, the power rounded to float32."""
    rounded_base = narrow(base)
    if not rounded_base:
        raise Overflow
    found = []
    for k in range(channels):
        exponent = narrow(Fraction(2 * k, width))
        found.append(_choices(*numbers.product([(rounded_base, exponent)], BITS)))
    return found


def _geometric(p: Parameters, width: int, channels: int) -> list[Choices]:
    return [_each(c, _inverse) for c in powers(p["rope_theta"], width, channels)]


def _channels(p: Parameters) -> int:
    return int(p["rotary_dim"] + 1) // 2


def default(p: Parameters) -> list[Choices]:
    return _geometric(p, p["rotary_dim"], _channels(p))


def _divided(table: list[Choices], factor: Fraction) -> list[Choices]:
    divisor = narrow(factor)
    if not divisor:
        raise Overflow
    return [_each(c, lambda v: narrow(v / divisor)) for c in table]


def linear(p: Parameters) -> list[Choices]:
    return _divided(default(p), p["factor"])


def proportional(p: Parameters) -> list[Choices]:
    width = p["rotary_dim"]
    channels = width // 2
    turning = min(math.floor(f64(f64(p["partial_rotary_factor"]) * width) / 2), channels)
    table = _geometric(p, width, turning)
    return [*_divided(table, p["factor"]), *([Fraction(0)] for _ in range(channels - turning))]


def llama3(p: Parameters) -> list[Choices]:
    """Wavelengths against two bounds; between them (1 - s) theta / factor + s theta."""
    original = f64(p["original_max_position_embeddings"])
    low, high = f64(p["low_freq_factor"]), f64(p["high_freq_factor"])
    turn = narrow(2 * numbers.pi(BITS)[0])
    longest, shortest = narrow(original / low), narrow(original / high)
    factor, length, start, span = narrow(p["factor"]), f32(original), f32(low), narrow(high - low)
    if not factor:
        raise Overflow

    def scaled(theta: Fraction) -> Fraction:
        wavelength = narrow(_inverse(theta) * turn)
        if wavelength > longest:
            return narrow(theta / factor)
        if wavelength < shortest or not span:
            return theta
        smooth = narrow(narrow(narrow(_inverse(wavelength) * length) - start) / span)
        slow = narrow(narrow(narrow(1 - smooth) * theta) / factor)
        return narrow(slow + narrow(smooth * theta))

    return [_each(c, scaled) for c in default(p)]


def yarn(p: Parameters) -> list[Choices]:
    """Kept and divided frequencies mixed by a ramp between two channels."""
    width = p["rotary_dim"]
    factor = narrow(p["factor"])
    if width % 2 or not factor:
        raise Overflow
    ramps = [(start, span) for start, span in _ramps(p) if span]
    turns = powers(p["rope_theta"], width, width // 2)
    return [
        sorted({_mixed(t, factor, k, *ramp) for t in choices for ramp in ramps})
        for k, choices in enumerate(turns)
    ]


def _mixed(turns: Fraction, factor: Fraction, k: int, start: Fraction, span: Fraction) -> Fraction:
    rise = min(max(narrow(narrow(k - start) / span), Fraction(0)), Fraction(1))
    keep = narrow(1 - rise)
    drop = narrow(1 - keep)
    divided = _inverse(narrow(factor * turns))
    return narrow(narrow(divided * drop) + narrow(_inverse(turns) * keep))


def _ramps(p: Parameters) -> list[tuple[Fraction, Fraction]]:
    """Start and width of the ramp in float32, as far as a library's logarithm leaves a choice."""
    width, original = p["rotary_dim"], f64(p["original_max_position_embeddings"])
    base = f64(p["rope_theta"])
    if base == 1:
        raise Overflow
    found = []
    for low in _cutoffs(width, original, f64(p["beta_fast"]), base):
        for high in _cutoffs(width, original, f64(p["beta_slow"]), base):
            first: Fraction = Fraction(math.floor(low)) if p["truncate"] else low
            last: Fraction = Fraction(math.ceil(high)) if p["truncate"] else high
            first, last = max(first, Fraction(0)), min(last, Fraction(width - 1))
            if first == last:
                last = f64(last + f64(Fraction(1, 1000)))
            found.append((f32(first), narrow(last - first)))
    return sorted(set(found))


def _cutoffs(width: int, original: Fraction, turns: Fraction, base: Fraction) -> list[Fraction]:
    """Both ends of what float64 may give for the channel at which the ramp starts or ends."""
    lo, hi = ends(Cutoff(width, original / turns, base), BITS)
    # The quotient under the logarithm is rounded before the logarithm is taken.
    wide = MARGIN * max(abs(lo), abs(hi), abs(width / numbers.ln(base, BITS)[0]))
    return [f64(lo - wide), f64(hi + wide)]


ENGINES: dict[str, tuple[Callable[[Parameters], list[Choices]], tuple[str, ...]]] = {
    "default": (default, ()),
    "linear": (linear, ("factor",)),
    "llama3": (
        llama3,
        *(("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),),
    ),
    "yarn": (
        yarn,
        *(("factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "truncate"),),
    ),
    "proportional": (proportional, ("factor", "partial_rotary_factor")),
}
"""Laws that ``recovery`` knows, each with its parameters beside rope_theta and rotary_dim."""


def table(law: str, p: Parameters) -> list[Choices] | None:
    """The engine's table, or None where a step leaves float32. At most MAX_CHANNELS channels."""
    assert p["rotary_dim"] <= 2 * MAX_CHANNELS
    try:
        return ENGINES[law][0](p)
    except Overflow:
        return None
