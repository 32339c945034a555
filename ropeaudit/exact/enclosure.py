"""Rational bounds of a closed form, as narrow as asked.

A bound holds because integers say so (see :mod:`ropeaudit.exact.intervals`); asking for more bits
makes it narrower and never less certain.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from ropeaudit.exact import intervals
from ropeaudit.exact.intervals import (
    Interval,
    add,
    log,
    multiply,
    negative,
    power,
    rational,
    reciprocal,
    root,
)
from ropeaudit.exact.radicals import rational_value
from ropeaudit.exact.terms import Cutoff, PiBlend, Power, Term

MOST_BITS = 2048
"""Bits to which a question is asked before it is given up."""
_FLOOR, _WORK = 256, 1 << 18
ROUNDS = 5
"""Doublings of the working precision before a value that cancels is left as wide as it is."""


def enclose(term: Term, bits: int) -> tuple[Fraction, Fraction]:
    """Rationals lo <= value <= hi with ``hi - lo <= 2**-bits * |value|``; lo == hi where rational.

    Raises ValueError for a term that has no value (a ramp without width, a logarithm of zero).
    """
    exact = rational_value(term) if isinstance(term, Power) else None
    if exact is not None:
        return exact, exact
    return intervals.ends(_narrow(lambda prec: _value(term, prec), bits))


def cutoff(end: Cutoff, bits: int) -> tuple[Fraction, Fraction]:
    """Bounds of a ramp's end; raises ValueError where its logarithms do not exist."""
    return intervals.ends(_narrow(lambda prec: _cutoff(end, prec), bits))


def pi(bits: int) -> tuple[Fraction, Fraction]:
    """Bounds of pi, relative width at most ``2**-bits``."""
    return intervals.ends(intervals.pi(bits))


def affordable(channels: int) -> int:
    """Bits for a question about each of so many channels: fewer than MOST_BITS above 128 of them.

    Half of what a verifier may take, so that it finds what was found here.
    """
    bits = MOST_BITS
    while bits > _FLOOR and bits * channels > _WORK:
        bits //= 2
    return bits


def _narrow(work: Callable[[int], Interval], bits: int) -> Interval:
    """What ``work`` gives at the first working precision that is good enough."""
    prec = bits + intervals.GUARD
    for _ in range(ROUNDS):
        try:
            found = work(prec)
        except ZeroDivisionError:
            prec *= 2
            continue
        lo, hi, _ = found
        if (hi - lo) << bits <= min(abs(lo), abs(hi)) and (lo > 0) == (hi > 0):
            return found
        prec *= 2
    raise ValueError(f"no enclosure within {prec // 2} bits")


def _power(term: Power, prec: int) -> Interval:
    out = rational(term.coefficient, prec)
    for radicand, exponent in term.factors:
        # p/q of the power costs p's bits of the root's accuracy.
        degree, times = exponent.denominator, exponent.numerator
        base = root(radicand, degree, prec + abs(times).bit_length() + 2)
        out = multiply(out, power(base, times, prec), prec)
    return out


def _value(term: Term, prec: int) -> Interval:
    if isinstance(term, Power):
        return _power(term, prec)
    theta = _power(term.theta, prec)
    if isinstance(term, PiBlend):
        slope = multiply(rational(term.slope, prec), theta, prec)
        part = multiply(slope, reciprocal(intervals.pi(prec), prec), prec)
        return multiply(theta, add(rational(term.constant, prec), part), prec)
    if term.low == term.high:
        raise ValueError("the ramp has no width")
    low, high = _end(term.low, prec), _end(term.high, prec)
    start = add(rational(Fraction(term.channel), prec), negative(low))
    rise = multiply(start, reciprocal(add(high, negative(low)), prec), prec)
    drop = rational(1 / term.factor - 1, prec)
    return multiply(theta, add((1, 1, 0), multiply(rise, drop, prec)), prec)


def _end(end: Fraction | Cutoff, prec: int) -> Interval:
    return rational(end, prec) if isinstance(end, Fraction) else _cutoff(end, prec)


@lru_cache(maxsize=64)
def _cutoff(end: Cutoff, prec: int) -> Interval:
    if end.turns <= 0 or end.base <= 0 or end.base == 1:
        raise ValueError("the ramp's end is a logarithm that does not exist")
    circle = multiply((2, 2, 0), intervals.pi(prec), prec)
    turns = add(log(rational(end.turns, prec), prec), negative(log(circle, prec)))
    over = multiply(rational(Fraction(end.dim, 2), prec), turns, prec)
    return multiply(over, reciprocal(log(rational(end.base, prec), prec), prec), prec)
