"""YaRN's closed form: which end of the ramp is a whole channel, and what lies between them."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from ropeaudit.errors import InvalidValue
from ropeaudit.exact.enclosure import cutoff
from ropeaudit.exact.inputs import ExactInputs
from ropeaudit.exact.terms import ClosedForm, Cutoff, Power, Ramp, Term
from ropeaudit.schedule.families import _exact

End = Fraction | Cutoff

GAP = Fraction(1, 1000)
"""Width of a ramp whose ends fall together."""


def closed_form(inputs: ExactInputs) -> ClosedForm:
    """Raises InvalidValue where the engine builds no table, and for a ramp that no term spells.

    A cutoff is never a whole number: else pi would be algebraic. So it can always be rounded, and
    compared with a channel, by an enclosure that is narrow enough.
    """
    original = inputs.positive("original_max_position_embeddings")
    factor = _factor(inputs, original)
    beta_fast = _turns(inputs, "beta_fast", Fraction(32))
    beta_slow = _turns(inputs, "beta_slow", Fraction(1))
    truncate = inputs.flag("truncate", True)
    dim, base = inputs.rotary_dim, inputs.rope_theta
    if dim % 2:
        raise InvalidValue(
            f"yarn over {dim} dimensions has no ramp; expected an even rotary width",
            where="partial_rotary_factor",
        )
    ladder = _exact.plain(inputs)
    if base == 1:
        raise InvalidValue("yarn needs a base other than 1; correct it", where="rope_theta")
    if beta_fast == beta_slow and not truncate:
        raise InvalidValue(
            "yarn without truncate and with equal betas has a ramp of a thousandth of a channel "
            "beside a logarithm, for which there is no closed form",
            where="beta_fast",
        )
    ends = (Cutoff(dim, original / beta, base) for beta in (beta_fast, beta_slow))
    low, high = _ends(*ends, truncate=truncate)
    terms = [_ramped(theta, k, low, high, factor) for k, theta in enumerate(ladder)]
    return _exact.closed(
        "yarn",
        inputs,
        terms,
        factor=factor,
        original_max_position_embeddings=original,
        beta_fast=beta_fast,
        beta_slow=beta_slow,
        truncate=truncate,
    )


def _factor(inputs: ExactInputs, original: Fraction) -> Fraction:
    if inputs.scaling.get("factor") is None and inputs.max_position_embeddings:
        return inputs.max_position_embeddings / original
    return inputs.positive("factor")


def _turns(inputs: ExactInputs, key: str, default: Fraction) -> Fraction:
    return inputs.positive(key, default) if inputs.number(key, default) else default


def _ends(fast: Cutoff, slow: Cutoff, *, truncate: bool) -> tuple[End, End]:
    """Start and end of the ramp after rounding and clamping."""
    first, last = Fraction(0), Fraction(fast.dim - 1)
    low: End = max(Fraction(_floor(fast)), first) if truncate else fast
    high: End = min(Fraction(_floor(slow) + 1), last) if truncate else slow
    if isinstance(low, Cutoff) and _floor(low) < first:
        low = first
    if isinstance(high, Cutoff) and _floor(high) >= last:
        high = last
    if isinstance(high, Fraction) and low == high:
        high += GAP
    return low, high


def _ramped(theta: Power, k: int, low: End, high: End, factor: Fraction) -> Term:
    """``theta * (1 - rise + rise / factor)``, ``rise = clamp((k - low) / (high - low), 0, 1)``."""
    if isinstance(low, Fraction) and isinstance(high, Fraction):
        rise = min(max((k - low) / (high - low), Fraction(0)), Fraction(1))
        return _exact.times(theta, 1 - rise + rise / factor)
    if factor == 1:
        return theta
    if k in (low, high):  # a whole end: the rise is 0 or 1 there
        return theta if k == low else _exact.times(theta, 1 / factor)
    after_low, after_high = _beyond(k, low), _beyond(k, high)
    if after_low == after_high:
        # 0 before the ramp and 1 behind it; the other way round where it runs backwards.
        forward = _precedes(low, high)
        return _exact.times(theta, 1 / factor) if after_low == forward else theta
    return Ramp(theta, k, low, high, factor)


@lru_cache(maxsize=16)
def _floor(end: Cutoff) -> int:
    """The cutoff rounded down, by enclosures."""
    for bits in _exact.PRECISIONS:
        lo, hi = cutoff(end, bits)
        if math.floor(lo) == math.floor(hi):
            return math.floor(lo)
    raise _exact.undecided("where yarn's ramp starts or ends", "original_max_position_embeddings")


def _beyond(k: int, end: End) -> bool:
    """Whether channel ``k`` lies behind ``end`` or on it."""
    return k >= end if isinstance(end, Fraction) else k > _floor(end)


def _precedes(low: End, high: End) -> bool:
    """Whether the ramp runs forwards. Two logarithms of one base are ordered as their turns are,
    or the other way round for a base below 1."""
    if isinstance(low, Cutoff) and isinstance(high, Cutoff):
        return (low.turns < high.turns) == (low.base > 1)
    if isinstance(low, Cutoff):
        assert isinstance(high, Fraction)
        return _floor(low) < high
    assert isinstance(high, Cutoff)
    return _floor(high) >= low
