"""The laws that treat channels by their wavelength, llama3 and yarn, and what all laws share.

All comparisons that involve pi or a logarithm are decided by enclosures; they cannot be equalities,
because pi is transcendental.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ropeaudit.verifier import numbers, terms
from ropeaudit.verifier.terms import Blend, Cutoff, Power, Ramp, Term, power

LENGTH = "original_max_position_embeddings"
Parameters = dict[str, Any]


class NoFormError(Exception):
    """The law has no closed form for these parameters."""


def ladder(base: Fraction, width: int, channels: int | None = None) -> list[Power]:
    """base**(-2k/width)."""
    count = (width + 1) // 2 if channels is None else channels
    return [power(Fraction(1), [(base, Fraction(-2 * k, width))]) for k in range(count)]


def scaled(theta: Power, by: Fraction) -> Power:
    return power(theta.coefficient * by, theta.factors)


def llama3(p: Parameters) -> list[Term]:
    factor, low, high = p["factor"], p["low_freq_factor"], p["high_freq_factor"]
    gain = 1 - 1 / factor
    found: list[Term] = []
    for theta in ladder(p["rope_theta"], p["rotary_dim"]):
        if factor == 1:
            found.append(theta)
        elif _fewer_turns(theta, p, low):
            found.append(scaled(theta, 1 / factor))
        elif high <= low or not _fewer_turns(theta, p, high):
            found.append(theta)
        else:
            constant = 1 / factor - low * gain / (high - low)
            found.append(Blend(theta, constant, p[LENGTH] * gain / (2 * (high - low))))
    return found


def _fewer_turns(theta: Power, p: Parameters, bound: Fraction) -> bool:
    """Whether theta turns less than ``bound`` times within the original length."""
    length, channels = p[LENGTH], (p["rotary_dim"] + 1) // 2
    for bits in numbers.precisions(numbers.most(channels)):
        lo, hi = terms.enclosure(theta, bits)
        pi_lo, pi_hi = numbers.pi(bits)
        if hi * length < 2 * pi_lo * bound:
            return True
        if lo * length > 2 * pi_hi * bound:
            return False
    raise AssertionError


def yarn(p: Parameters) -> list[Term]:
    base, width, factor = p["rope_theta"], p["rotary_dim"], p["factor"]
    if base == 1 or width % 2:
        raise NoFormError("yarn has no ramp for base 1 or an odd width")
    if p["beta_fast"] == p["beta_slow"] and not p["truncate"]:
        raise NoFormError("yarn's ramp is a thousandth wide and begins at a logarithm")
    if factor == 1:
        return [*ladder(base, width)]
    start, end = (Cutoff(width, p[LENGTH] / p[b], base) for b in ("beta_fast", "beta_slow"))
    below, above = _floor(start), _floor(end)
    low: Fraction | Cutoff = start
    high: Fraction | Cutoff = end
    if p["truncate"] or below < 0:
        low = max(below, Fraction(0))
    if p["truncate"] or above >= width - 1:
        high = min(above + 1, Fraction(width - 1))
    if isinstance(high, Fraction) and low == high:
        high += Fraction(1, 1000)
    thetas = ladder(base, width)
    return [_on_ramp(theta, Fraction(k), low, high, factor) for k, theta in enumerate(thetas)]


def _floor(end: Cutoff) -> Fraction:
    for bits in numbers.precisions():
        try:
            lo, hi = terms.ends(end, bits)
        except numbers.Undecided:  # ln of a base near 1 is not yet told from 0
            continue
        if math.floor(lo) == math.floor(hi):
            return Fraction(math.floor(lo))
    raise AssertionError


def _on_ramp(
    theta: Power, k: Fraction, low: Fraction | Cutoff, high: Fraction | Cutoff, factor: Fraction
) -> Term:
    """theta * (1 - r + r / factor) with r = clamp((k - low) / (high - low), 0, 1)."""
    if isinstance(low, Fraction) and isinstance(high, Fraction):
        rise = min(max((k - low) / (high - low), Fraction(0)), Fraction(1))
        return scaled(theta, 1 - rise + rise / factor)
    width = _sign(high, low)
    if _sign(k, low) * width <= 0:
        return theta
    if _sign(k, high) * width >= 0:
        return scaled(theta, 1 / factor)
    return Ramp(theta, int(k), low, high, factor)


def _sign(a: Fraction | Cutoff, b: Fraction | Cutoff) -> int:
    """The sign of a - b, which is 0 only between rationals."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return (a > b) - (a < b)
    for bits in numbers.precisions():
        try:
            (a_lo, a_hi), (b_lo, b_hi) = terms.ends(a, bits), terms.ends(b, bits)
        except numbers.Undecided:
            continue
        if a_lo > b_hi:
            return 1
        if a_hi < b_lo:
            return -1
    raise AssertionError
