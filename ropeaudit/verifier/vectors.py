"""Terms as vectors over Q, on which questions of equality and of rational ratios are decided.

Over pairwise coprime integers c_1, c_2, ... that are no perfect powers, every Power of a schedule
is rational * prod c_i**x_i with 0 <= x_i < 1. The tuple of the x_i is its class: positive radicals
of different classes are linearly independent over Q (Besicovitch 1940), also with powers of pi in
front, which is transcendental (Lindemann 1882). So a Power or Blend is a vector with one rational
coordinate for each (class, power of pi), and equal numbers have equal vectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from ropeaudit.verifier.numbers import coprime_base
from ropeaudit.verifier.terms import Blend, Power, Ramp, Term

Axis = tuple[tuple[Fraction, ...], int]
Vector = dict[Axis, Fraction]


class Space:
    """The vectors of one schedule."""

    def __init__(self, terms: Iterable[Term]) -> None:
        powers = [t if isinstance(t, Power) else t.theta for t in terms]
        radicands = {radicand for power in powers for radicand, _ in power.factors}
        self.base = coprime_base(n for r in sorted(radicands) for n in (r.numerator, r.denominator))
        self.trivial: Axis = ((Fraction(0),) * len(self.base), 0)
        self._exponents = {r: self._valuations(r) for r in radicands}

    def _valuations(self, radicand: Fraction) -> tuple[int, ...]:
        found = []
        for integer in self.base:
            count = 0
            for part, sign in ((radicand.numerator, 1), (radicand.denominator, -1)):
                while part % integer == 0:
                    part //= integer
                    count += sign
            found.append(count)
        return tuple(found)

    def vector(self, term: Term) -> Vector | None:
        """The vector of a term; None for a Ramp, which has logarithms in it."""
        if isinstance(term, Ramp):
            return None
        if isinstance(term, Power):
            return self._radical(term)
        theta = self._radical(term.theta)
        found = {axis: value * term.constant for axis, value in theta.items()}
        for (kind, _), value in self.product(theta, theta).items():
            found[kind, -1] = value * term.slope
        return {axis: value for axis, value in found.items() if value}

    def _radical(self, power: Power) -> Vector:
        exponents = [Fraction(0)] * len(self.base)
        for radicand, exponent in power.factors:
            for place, valuation in enumerate(self._exponents[radicand]):
                exponents[place] += exponent * valuation
        return self._reduced(exponents, 0, power.coefficient)

    def _reduced(self, exponents: Sequence[Fraction], pi: int, value: Fraction) -> Vector:
        for integer, exponent in zip(self.base, exponents, strict=True):
            value *= Fraction(integer) ** math.floor(exponent)
        return {(tuple(e - math.floor(e) for e in exponents), pi): value} if value else {}

    def product(self, a: Vector, b: Vector) -> Vector:
        """The product of two numbers."""
        found: Vector = {}
        for (kind_a, pi_a), x in a.items():
            for (kind_b, pi_b), y in b.items():
                exponents = [p + q for p, q in zip(kind_a, kind_b, strict=True)]
                for axis, value in self._reduced(exponents, pi_a + pi_b, x * y).items():
                    found[axis] = found.get(axis, Fraction(0)) + value
        return {axis: value for axis, value in found.items() if value}


def key(vector: Vector) -> Any:
    """What equal vectors, and only they, have in common."""
    return frozenset(vector.items())


def direction(vector: Vector) -> tuple[Any, Fraction]:
    """What rational multiples of a vector have in common, and the multiple that it is."""
    lead = vector[min(vector)]
    return key({axis: value / lead for axis, value in vector.items()}), lead


def dimension(vectors: Iterable[Vector]) -> int:
    """Dimension of the span over Q, by elimination on the smallest axis of each vector."""
    rows: dict[Axis, Vector] = {}
    for vector in vectors:
        left = dict(vector)
        while left:
            axis = min(left)
            row = rows.get(axis)
            if row is None:
                rows[axis] = left
                break
            scale = left[axis] / row[axis]
            for place, value in row.items():
                rest = left.get(place, Fraction(0)) - scale * value
                if rest:
                    left[place] = rest
                else:
                    left.pop(place, None)
    return len(rows)


def has_pi(terms: Iterable[Term]) -> bool:
    return any(isinstance(t, Blend) for t in terms)


def has_logarithms(terms: Iterable[Term]) -> bool:
    return any(isinstance(t, Ramp) for t in terms)
