"""Closed forms of single channels: what they are, how they are spelled, and enclosures of them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from ropeaudit.verifier import numbers
from ropeaudit.verifier.numbers import Enclosure

Factor = tuple[Fraction, Fraction]


class Power(NamedTuple):
    """coefficient * prod radicand**exponent, positive or zero."""

    coefficient: Fraction
    factors: tuple[Factor, ...] = ()


class Blend(NamedTuple):
    """theta * (constant + slope * theta / pi)."""

    theta: Power
    constant: Fraction
    slope: Fraction


class Cutoff(NamedTuple):
    """dim * ln(turns / (2 pi)) / (2 ln base); never rational, since pi is transcendental."""

    dim: int
    turns: Fraction
    base: Fraction


class Ramp(NamedTuple):
    """theta * (1 - r + r / factor), r = (channel - low) / (high - low)."""

    theta: Power
    channel: int
    low: Fraction | Cutoff
    high: Fraction | Cutoff
    factor: Fraction


Term = Power | Blend | Ramp


def power(coefficient: Fraction, factors: Iterable[Factor] = ()) -> Power:
    """A Power without factors that equal 1."""
    kept = tuple((r, e) for r, e in factors if e and r != 1)
    return Power(coefficient, kept if coefficient else ())


def quotient(top: Power, bottom: Power) -> Power:
    """top / bottom: exponents of a radicand subtracted, those of ``top`` first."""
    exponents = dict(top.factors)
    for radicand, exponent in bottom.factors:
        exponents[radicand] = exponents.get(radicand, Fraction(0)) - exponent
    return power(top.coefficient / bottom.coefficient, exponents.items())


def spelled(term: Term) -> dict[str, Any]:
    """The JSON of a term."""
    if isinstance(term, Power):
        factors = [[str(radicand), str(exponent)] for radicand, exponent in term.factors]
        return {"coefficient": str(term.coefficient), "factors": factors}
    if isinstance(term, Blend):
        return {
            "theta": spelled(term.theta),
            "constant": str(term.constant),
            "slope": str(term.slope),
        }
    return {
        "theta": spelled(term.theta),
        "channel": term.channel,
        "low": _end(term.low),
        "high": _end(term.high),
        "factor": str(term.factor),
    }


def _end(end: Fraction | Cutoff) -> str | dict[str, Any]:
    if isinstance(end, Fraction):
        return str(end)
    return {"dim": end.dim, "turns": str(end.turns), "base": str(end.base)}


def enclosure(term: Term, bits: int) -> Enclosure:
    """Two rationals with the term between them. Raises Undecided if ``bits`` are too few."""
    if isinstance(term, Power):
        if not term.factors:
            return term.coefficient, term.coefficient
        lo, hi = numbers.product(term.factors, bits)
        return lo * term.coefficient, hi * term.coefficient
    theta = enclosure(term.theta, bits)
    if isinstance(term, Blend):
        turns = divided(theta, numbers.pi(bits))
        weight = plus((term.constant, term.constant), times(turns, (term.slope, term.slope)))
    else:
        low, high = ends(term.low, bits), ends(term.high, bits)
        rise = divided(minus((Fraction(term.channel),) * 2, low), minus(high, low))
        loss = 1 - 1 / term.factor
        weight = minus((Fraction(1), Fraction(1)), times(rise, (loss, loss)))
    return times(theta, weight)


@lru_cache(maxsize=64)
def ends(end: Fraction | Cutoff, bits: int) -> Enclosure:
    """An end of yarn's ramp."""
    if isinstance(end, Fraction):
        return end, end
    pi_lo, pi_hi = numbers.pi(bits)
    least = numbers.ln(end.turns / (2 * pi_hi), bits)[0]
    most = numbers.ln(end.turns / (2 * pi_lo), bits)[1]
    lo, hi = divided((least, most), numbers.ln(end.base, bits))
    return lo * end.dim / 2, hi * end.dim / 2


def plus(a: Enclosure, b: Enclosure) -> Enclosure:
    return a[0] + b[0], a[1] + b[1]


def minus(a: Enclosure, b: Enclosure) -> Enclosure:
    return a[0] - b[1], a[1] - b[0]


def times(a: Enclosure, b: Enclosure) -> Enclosure:
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def divided(a: Enclosure, b: Enclosure) -> Enclosure:
    """a / b. Raises Undecided where b may be 0."""
    if b[0] <= 0 <= b[1]:
        raise numbers.Undecided
    return times(a, (1 / b[1], 1 / b[0]))
