"""Numbers of a certificate: exact text, integer roots, and enclosures of pi, ln and powers.

An enclosure is a pair of rationals, lower and upper end, computed in integers scaled by a power of
two. Every series below is cut with a bound on what is left out, and widened by more units in the
last place than its roundings can add up to.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache

Enclosure = tuple[Fraction, Fraction]

MAX_DIGITS = 1400
"""Characters of one number; the smallest float64 needs about 750."""
PRECISIONS = (128, 256, 512, 1024, 2048, 4096)
"""Bits of the enclosures that are tried in turn."""
ENOUGH = 512
MAX_WORK = 1 << 19
"""Bits times channels, from more than ENOUGH bits on: only a forged schedule comes there."""

_EXACT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:/[1-9][0-9]*)?")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE]([+-]?0*[0-9]{1,3}))?")
_SPARE = 48
"""Bits beyond the precision asked for, so that widening costs none of it."""


class Undecided(Exception):
    """No precision of :data:`PRECISIONS` settles a question."""


def exact(text: str) -> Fraction | None:
    """The rational that ``-1/64`` spells; None unless it is in lowest terms and this spelling."""
    if len(text) > MAX_DIGITS or not _EXACT.fullmatch(text):
        return None
    value = Fraction(text)
    return value if str(value) == text else None


def decimal(text: str) -> Fraction | None:
    """The rational that a JSON number spells, or None."""
    if len(text) > MAX_DIGITS or not _DECIMAL.fullmatch(text):
        return None
    return Fraction(text)


def most(channels: int) -> int:
    """Bits that a question may take which is asked of each of so many channels."""
    few = (bits for bits in PRECISIONS if bits <= ENOUGH or bits * channels <= MAX_WORK)
    return max(few, default=0)


def precisions(limit: int = PRECISIONS[-1]) -> Iterator[int]:
    """Precisions to try in turn; raises Undecided when the last one did not settle it."""
    yield from (bits for bits in PRECISIONS if bits <= limit)
    raise Undecided


def root(value: int, degree: int) -> int | None:
    """The integer whose ``degree``-th power is ``value`` > 1, or None."""
    guess = 1 << -(-value.bit_length() // degree)
    while True:  # Newton from above falls until it reaches the root rounded down
        lower = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if lower >= guess:
            return guess if guess**degree == value else None
        guess = lower


def without_powers(value: int) -> int:
    """The smallest integer of which ``value`` > 1 is a power."""
    degree = 2
    while degree < value.bit_length():
        found = root(value, degree)
        if found is None:
            degree += 1
        else:
            value = found
    return value


def coprime_base(numbers: Iterable[int]) -> list[int]:
    """Pairwise coprime integers above 1, no perfect powers, whose products the numbers are."""
    base: list[int] = []
    waiting = [n for n in numbers if n > 1]
    while waiting:
        new = waiting.pop()
        for place, old in enumerate(base):
            common = math.gcd(new, old)
            if common > 1:
                del base[place]
                waiting += [n for n in (common, new // common, old // common) if n > 1]
                break
        else:
            base.append(new)
    return sorted(without_powers(n) for n in base)


@lru_cache(maxsize=16)
def pi(bits: int) -> Enclosure:
    """pi = 16 arctan(1/5) - 4 arctan(1/239) (Machin 1706)."""
    scale = bits + _SPARE

    def arctan_of_inverse(n: int) -> tuple[int, int]:
        power, total, j = (1 << scale) // n, 0, 0
        while power:
            total += (-1) ** j * (power // (2 * j + 1))
            power //= n * n
            j += 1
        return total, j

    (a, steps_a), (b, steps_b) = arctan_of_inverse(5), arctan_of_inverse(239)
    middle = 16 * a - 4 * b
    # Each step rounds twice, by less than one unit each; the first term left out is below one.
    slack = 16 * (2 * steps_a + 2) + 4 * (2 * steps_b + 2)
    return Fraction(middle - slack, 1 << scale), Fraction(middle + slack, 1 << scale)


def _artanh(top: int, bottom: int, scale: int) -> tuple[int, int]:
    """artanh(top / bottom) for a quotient of at most 1/3 in size: scaled, and its error in units.

    z is off by less than 1 unit, which counts 9/8 at most; each power of z by less than 3, each
    term by less than 4; what is left out is less than 2.
    """
    z = (top << scale) // bottom
    square = z * z >> scale
    power, total, j = z, 0, 0
    while power not in (0, -1):
        total += power // (2 * j + 1)
        power = power * square >> scale
        j += 1
    return total, 4 * j + 8


@lru_cache(maxsize=4)
def _ln2(scale: int) -> tuple[int, int]:
    value, error = _artanh(1, 3, scale)
    return 2 * value, 2 * error


@lru_cache(maxsize=256)
def _ln(value: Fraction, scale: int) -> tuple[int, int]:
    """ln(value) scaled by 2**scale and its error in units: value = 2**m y, 2/3 <= y <= 4/3."""
    top, bottom = value.numerator, value.denominator
    m = top.bit_length() - bottom.bit_length()
    top, bottom = (top, bottom << m) if m >= 0 else (top << -m, bottom)
    if 3 * top > 4 * bottom:
        m, bottom = m + 1, 2 * bottom
    elif 3 * top < 2 * bottom:
        m, top = m - 1, 2 * top
    log, error = _artanh(top - bottom, top + bottom, scale)
    two, two_error = _ln2(scale)
    return 2 * log + m * two, 2 * error + abs(m) * two_error


def ln(value: Fraction, bits: int) -> Enclosure:
    """ln(value) for value > 0, within 2**-bits."""
    scale = bits + _SPARE
    middle, error = _ln(value, scale)
    return Fraction(middle - error, 1 << scale), Fraction(middle + error, 1 << scale)


def product(factors: Iterable[tuple[Fraction, Fraction]], bits: int) -> Enclosure:
    """prod radicand**exponent as exp(sum exponent ln radicand), relative width below 2**-bits.

    exp(y) = 2**m exp(r) with r = y - m ln 2, at most 0.36 in size, by its Taylor series.
    """
    scale = bits + _SPARE
    y, error = 0, 0
    for radicand, exponent in factors:
        log, log_error = _ln(radicand, scale)
        y += exponent.numerator * log // exponent.denominator
        error += int(abs(exponent) * log_error) + 2
    two, two_error = _ln2(scale)
    m = (2 * y + two) // (2 * two)
    r = y - m * two
    error += abs(m) * two_error
    term, total, j = 1 << scale, 0, 0
    while term not in (0, -1):
        total += term
        j += 1
        term = term * r // (j << scale)
    # A term is off by less than 2 units; exp' is below 1.5; what is left out is less than 2.
    slack = 2 * error + 2 * j + 4
    shift = Fraction(2) ** (m - scale)
    return (total - slack) * shift, (total + slack) * shift
