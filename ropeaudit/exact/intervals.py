"""Interval arithmetic on integers: (lo, hi, exponent) stands for [lo, hi] * 2**exponent.

Every operation rounds outward by integer floor and ceiling, and roots, pi and logarithms come from
integer root finding and from series with a proven remainder, so an enclosure rests on integer
arithmetic alone. mpmath's interval context would not do: it rounds an approximation whose own error
it does not bound (mpmath 1.3.0 at 30 bits puts ln 425210 outside its interval).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from ropeaudit.exact.integers import iroot

Interval = tuple[int, int, int]
GUARD = 8


def rational(value: Fraction, prec: int) -> Interval:
    """``value`` to ``prec`` significant bits; exact where its denominator is a power of two."""
    num, den = value.numerator, value.denominator
    if den & (den - 1) == 0:
        return num, num, 1 - den.bit_length()
    shift = max(prec + den.bit_length() - abs(num).bit_length(), 0)
    lo = (num << shift) // den
    return lo, lo + 1, -shift


def ends(x: Interval) -> tuple[Fraction, Fraction]:
    """The two ends as rationals."""
    lo, hi, exponent = x
    if exponent >= 0:
        return Fraction(lo << exponent), Fraction(hi << exponent)
    scale = 1 << -exponent
    low = Fraction(lo, scale)
    return low, low if hi == lo else Fraction(hi, scale)


def trim(x: Interval, prec: int) -> Interval:
    """At most ``prec`` bits at each end, rounded outward."""
    lo, hi, exponent = x
    shift = max(lo.bit_length(), hi.bit_length()) - prec
    if shift <= 0:
        return x
    return lo >> shift, -(-hi >> shift), exponent + shift


def add(x: Interval, y: Interval) -> Interval:
    """The sum, exact."""
    if x[2] < y[2]:
        x, y = y, x
    shift = x[2] - y[2]
    return (x[0] << shift) + y[0], (x[1] << shift) + y[1], y[2]


def negative(x: Interval) -> Interval:
    return -x[1], -x[0], x[2]


def multiply(x: Interval, y: Interval, prec: int) -> Interval:
    """The product to ``prec`` bits."""
    (a, b, e), (c, d, f) = x, y
    if a >= 0 and c >= 0:
        return trim((a * c, b * d, e + f), prec)
    products = (a * c, a * d, b * c, b * d)
    return trim((min(products), max(products), e + f), prec)


def reciprocal(x: Interval, prec: int) -> Interval:
    """1/x to ``prec`` bits; raises ZeroDivisionError where ``x`` contains 0."""
    lo, hi, exponent = x
    if lo <= 0 <= hi:
        raise ZeroDivisionError("the interval contains 0")
    bits = prec + max(lo.bit_length(), hi.bit_length())
    one = 1 << bits
    return trim((one // hi, -(-one // lo), -bits - exponent), prec)


def power(x: Interval, exponent: int, prec: int) -> Interval:
    """``x ** exponent`` for x > 0, to nearly ``prec`` bits."""
    prec += abs(exponent).bit_length() + 2
    out, square, left = (1, 1, 0), x, abs(exponent)
    while left:
        if left & 1:
            out = multiply(out, square, prec)
        left >>= 1
        if left:
            square = multiply(square, square, prec)
    return reciprocal(out, prec) if exponent < 0 else out


@lru_cache(maxsize=4096)
def root(radicand: Fraction, degree: int, prec: int) -> Interval:
    """``radicand ** (1/degree)`` for radicand > 0, to ``prec`` bits; exact where it can be.

    The odd part of the degree first, then square roots: their radicands stay short.
    """
    odd = degree
    while odd % 2 == 0:
        odd //= 2
    x = _root(radicand, odd, prec + 2)
    while odd < degree:
        x, odd = _square_root(x, prec + 2), 2 * odd
    return x


def _root(radicand: Fraction, degree: int, prec: int) -> Interval:
    """x**degree <= value < (x + 1)**degree, which integers decide."""
    num, den = radicand.numerator, radicand.denominator
    size = num.bit_length() - den.bit_length()
    shift = prec - (size - 1) // degree
    up, down = max(shift, 0) * degree, max(-shift, 0) * degree
    num, den = num << up, den << down
    x = iroot(num // den, degree)
    return x, x if x**degree * den == num else x + 1, -shift


def _square_root(x: Interval, prec: int) -> Interval:
    lo, hi, exponent = x
    shift = max(2 * prec + 2 - lo.bit_length(), 0)
    shift += (exponent - shift) % 2
    low, high = math.isqrt(lo << shift), math.isqrt(hi << shift)
    high += high * high != hi << shift
    return low, high, (exponent - shift) // 2


@lru_cache(maxsize=64)
def pi(prec: int) -> Interval:
    """pi by Machin's formula, 16 arctan(1/5) - 4 arctan(1/239)."""
    shift = prec + 2 * GUARD + prec.bit_length()
    (a, b), (c, d) = _arctan(5, shift), _arctan(239, shift)
    return trim((16 * a - 4 * d, 16 * b - 4 * c, -shift), prec + 2)


def _arctan(inverse: int, shift: int) -> tuple[int, int]:
    """Bounds of ``2**shift * arctan(1/inverse)``.

    Each term of the alternating series is floored, so it errs by less than 1, and the terms left
    out are less than 1 together.
    """
    power, square = (1 << shift) // inverse, inverse * inverse
    total, j = 0, 0
    while power:
        term = power // (2 * j + 1)
        total += -term if j & 1 else term
        power //= square
        j += 1
    return total - j - 1, total + j + 1


def log(x: Interval, prec: int) -> Interval:
    """ln(x) for x > 0, to an absolute error of about 2**-prec beside the width of ``x``."""
    lo, hi, exponent = x
    low = _log(lo, exponent, prec)
    high = low if hi == lo else _log(hi, exponent, prec)
    shift = max(-low[2], -high[2])
    return low[0] << (shift + low[2]), high[1] << (shift + high[2]), -shift


def _log(mantissa: int, exponent: int, prec: int) -> Interval:
    """With mantissa = m * 2**k and 1 <= m < 2: (k + exponent) ln 2 + 2 artanh((m - 1)/(m + 1))."""
    k = mantissa.bit_length() - 1
    one, k = 1 << k, k + exponent
    shift = prec + GUARD + prec.bit_length() + abs(k).bit_length()
    a, b = _artanh(mantissa - one, mantissa + one, shift)
    c, d = _artanh(1, 3, shift)
    c, d = (k * c, k * d) if k >= 0 else (k * d, k * c)
    return 2 * (a + c), 2 * (b + d), -shift


@lru_cache(maxsize=256)
def _artanh(num: int, den: int, shift: int) -> tuple[int, int]:
    """Bounds of ``2**shift * artanh(num/den)`` for 0 <= num/den <= 1/3.

    The series z + z**3/3 + z**5/5 + ... with floors throughout. A power of z errs by less than 2
    (the floor, plus what the floors of z**2 and of the power before leave behind), its term by less
    than 3, and the terms left out are below 2; z itself, floored, moves the sum by less than 2.
    """
    z = (num << shift) // den
    if not num:
        return 0, 0
    square = z * z >> shift
    total, j = 0, 0
    while z:
        total += z // (2 * j + 1)
        z = z * square >> shift
        j += 1
    return total, total + 3 * j + 4
