"""Products of rational powers in a normal form that decides equality and rational ratios.

Let c_1..c_m be pairwise coprime integers > 1, none a perfect power, such that every radicand is a
product of their integer powers (:func:`coprime_base`). A :class:`Power` is then
``q * prod c_i**x_i`` with q rational and, integer parts moved into q, 0 <= x_i < 1: ``x`` is its
class. No factoring is needed, so radicands of hundreds of digits do no harm.

Classes decide. Let two nonzero Powers have a rational ratio, so that r = prod c_i**d_i is rational
with d the difference of their classes. Raise r to a common denominator N of the d_i: by unique
factorisation a prime p of c_i (of no other c_j, they are coprime) has in r**N the exponent
N d_i v_p(c_i) and, r being rational, a multiple of N. So d_i v_p(c_i) is an integer for every p;
the gcd of the v_p(c_i) is 1, since c_i is no perfect power; so d_i is an integer, and
-1 < d_i < 1 makes it 0.

Positive radicals whose ratios are irrational are linearly independent over the rationals
(Besicovitch, J. London Math. Soc. 15, 1940), and pi is transcendental (Lindemann 1882), so its
powers are independent over the algebraic numbers. Hence the products of a radical (one for each
class) and a power of pi are a basis, and a Power or PiBlend is a sparse vector over it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from ropeaudit.exact.integers import exact_root
from ropeaudit.exact.terms import PiBlend, Power

Class = tuple[Fraction, ...]
Vector = dict[tuple[Class, int], Fraction]
"""Coefficients by (class, power of pi); zero coefficients are left out."""


@lru_cache(maxsize=1024)
def perfect_power(value: int) -> tuple[int, int]:
    """(m, k) with ``m ** k == value`` and k as large as can be; value > 1."""
    exponent, degree = 1, 2
    while value.bit_length() > degree:
        # A root found is tried again for the same degree: k may contain a prime more than once.
        root = exact_root(value, degree)
        if root is None:
            degree = _next_prime(degree)
        else:
            value, exponent = root, exponent * degree
    return value, exponent


def _next_prime(number: int) -> int:
    number += 1
    while any(number % d == 0 for d in range(2, math.isqrt(number) + 1)):
        number += 1
    return number


def coprime_base(values: Iterable[int]) -> tuple[int, ...]:
    """Pairwise coprime integers > 1, no perfect powers, whose products make up all ``values``.

    Refined by greatest common divisors; the product of all that is held falls with each step.
    Sorted. ``values`` are positive.
    """
    base: list[int] = []
    waiting = [v for v in set(values) if v > 1]
    while waiting:
        value = waiting.pop()
        for i, held in enumerate(base):
            common = math.gcd(value, held)
            if common == 1:
                continue
            if value != held:
                del base[i]
                parts = common, held // common, value // common
                waiting.extend(part for part in parts if part > 1)
            break
        else:
            base.append(value)
    return tuple(sorted({perfect_power(value)[0] for value in base}))


class Radicals:
    """The normal forms of one schedule, over a base that fits all radicands of ``powers``."""

    def __init__(self, powers: Iterable[Power]) -> None:
        radicands = {radicand for power in powers for radicand, _ in power.factors}
        ends = (end for r in radicands for end in (r.numerator, r.denominator))
        self.base = coprime_base(ends)
        self.one: Class = (Fraction(0),) * len(self.base)
        self._exponents = {r: self._split(r) for r in radicands}

    def _split(self, radicand: Fraction) -> list[tuple[int, int]]:
        """(place in the base, exponent) of what ``radicand`` is made of."""
        found = []
        for place, prime in enumerate(self.base):
            exponent = _valuation(radicand.numerator, prime)
            exponent -= _valuation(radicand.denominator, prime)
            if exponent:
                found.append((place, exponent))
        return found

    def normal(self, power: Power) -> tuple[Class, Fraction]:
        """(class, rational coefficient) of a Power over the radicands given at the start.

        Zero has the class of the rationals and the coefficient 0.
        """
        if not power.coefficient:
            return self.one, power.coefficient
        exponents = list(self.one)
        for radicand, exponent in power.factors:
            for place, times in self._exponents[radicand]:
                exponents[place] += exponent * times
        return self._carry(exponents, power.coefficient)

    def _carry(self, exponents: list[Fraction], coefficient: Fraction) -> tuple[Class, Fraction]:
        """Integer parts of the exponents moved into the coefficient."""
        for place, exponent in enumerate(exponents):
            whole = exponent.numerator // exponent.denominator
            if whole:
                exponents[place] = exponent - whole
                part = self.base[place] ** abs(whole)
                coefficient *= Fraction(part) if whole > 0 else Fraction(1, part)
        return tuple(exponents), coefficient

    def vector(self, term: Power | PiBlend) -> Vector:
        """``term`` over the basis (class, power of pi); {} is zero."""
        if isinstance(term, Power):
            kind, coefficient = self.normal(term)
            return {(kind, 0): coefficient} if coefficient else {}
        theta = self.vector(term.theta)
        blend = {(kind, -1): value * term.slope for (kind, _), value in theta.items()}
        blend[self.one, 0] = term.constant
        return self.product(theta, blend)

    def product(self, a: Vector, b: Vector) -> Vector:
        """The product of two vectors."""
        out: Vector = {}
        for (kind_a, pi_a), value_a in a.items():
            for (kind_b, pi_b), value_b in b.items():
                exponents = [x + y for x, y in zip(kind_a, kind_b, strict=True)]
                kind, value = self._carry(exponents, value_a * value_b)
                key = kind, pi_a + pi_b
                out[key] = out.get(key, Fraction(0)) + value
        return {key: value for key, value in out.items() if value}


def _valuation(value: int, divisor: int) -> int:
    count = 0
    quotient, rest = divmod(value, divisor)
    while not rest:
        count += 1
        quotient, rest = divmod(quotient, divisor)
    return count


def rational_value(power: Power) -> Fraction | None:
    """The value of a Power that is rational, else None."""
    if all(exponent.denominator == 1 for _, exponent in power.factors):
        value = power.coefficient
        for radicand, exponent in power.factors:
            value *= radicand**exponent.numerator
        return value
    kind, value = Radicals((power,)).normal(power)
    return None if any(kind) else value


def rank(vectors: Iterable[Vector]) -> int:
    """Dimension of what ``vectors`` span over the rationals: exact elimination, sparse."""
    numbers: dict[tuple[Class, int], int] = {}
    rows: dict[int, dict[int, Fraction]] = {}
    for vector in vectors:
        row = {numbers.setdefault(key, len(numbers)): value for key, value in vector.items()}
        while row:
            lead = min(row)
            held = rows.get(lead)
            if held is None:
                rows[lead] = row
                break
            scale = row[lead] / held[lead]
            for key, value in held.items():
                left = row.get(key, Fraction(0)) - scale * value
                if left:
                    row[key] = left
                else:
                    row.pop(key, None)
    return len(rows)


def ratio(a: Vector, b: Vector) -> Fraction | None:
    """a/b where it is rational and both are nonzero, else None."""
    if not a or a.keys() != b.keys():
        return None
    first = next(iter(a))
    quotient = a[first] / b[first]
    return quotient if all(value == quotient * b[key] for key, value in a.items()) else None
