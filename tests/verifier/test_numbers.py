"""The verifier's numbers against mpmath and sympy."""

from __future__ import annotations

import math
from fractions import Fraction
from math import prod

import mpmath
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.schedule.float32 import FORMATS, ordinal, round_to
from ropeaudit.verifier import formats, numbers

RATIONALS = st.fractions(min_value=Fraction(1, 10**6), max_value=10**12)
EXPONENTS = st.fractions(min_value=-2, max_value=2, max_denominator=300)


def real(value: Fraction, context: mpmath.MPContext) -> mpmath.mpf:
    return context.mpf(value.numerator) / value.denominator


def context(bits: int) -> mpmath.MPContext:
    found = mpmath.MPContext()
    found.prec = 2 * bits + 100
    return found


@pytest.mark.parametrize("bits", [128, 4096])
def test_pi(bits: int) -> None:
    lo, hi = numbers.pi(bits)
    mp = context(bits)
    assert real(lo, mp) < mp.pi < real(hi, mp)
    assert hi - lo < Fraction(1, 1 << bits)


@settings(max_examples=25)
@given(value=RATIONALS, bits=st.sampled_from([128, 256, 1024]))
def test_ln(value: Fraction, bits: int) -> None:
    lo, hi = numbers.ln(value, bits)
    mp = context(bits)
    assert real(lo, mp) <= mp.ln(real(value, mp)) <= real(hi, mp)
    assert hi - lo < Fraction(1, 1 << bits)


@settings(max_examples=30)
@given(
    factors=st.lists(st.tuples(RATIONALS, EXPONENTS), min_size=1, max_size=2),
    bits=st.sampled_from([128, 512]),
)
def test_products(factors: list[tuple[Fraction, Fraction]], bits: int) -> None:
    lo, hi = numbers.product(factors, bits)
    mp = context(bits)
    exact = mp.mpf(1)
    for radicand, exponent in factors:
        exact *= mp.power(real(radicand, mp), real(exponent, mp))
    assert real(lo, mp) <= exact <= real(hi, mp)
    assert hi - lo < lo / (1 << bits)


@settings(max_examples=40)
@given(base=st.integers(2, 10**18), p=st.integers(-300, 300), q=st.integers(1, 128))
def test_powers_by_integers_alone(base: int, p: int, q: int) -> None:
    """lo**q <= base**p <= hi**q, without any other library."""
    lo, hi = numbers.product([(Fraction(base), Fraction(p, q))], 128)
    assert lo**q <= Fraction(base) ** p <= hi**q


@settings(max_examples=60)
@given(value=st.integers(2, 10**40), degree=st.integers(2, 20))
def test_roots(value: int, degree: int) -> None:
    assert numbers.root(value**degree, degree) == value
    exact = sympy.integer_nthroot(value, degree)
    assert numbers.root(value, degree) == (int(exact[0]) if exact[1] else None)


@settings(max_examples=60)
@given(value=st.integers(2, 200), degree=st.integers(1, 60))
def test_perfect_powers(value: int, degree: int) -> None:
    valuations = sympy.factorint(value)
    shared = math.gcd(*valuations.values())
    expected = prod(p ** (e // shared) for p, e in valuations.items())
    assert numbers.without_powers(value**degree) == expected


@settings(max_examples=40)
@given(given_=st.lists(st.integers(1, 10**6), max_size=5))
def test_coprime_bases(given_: list[int]) -> None:
    base = numbers.coprime_base(given_)
    assert all(math.gcd(a, b) == 1 for i, a in enumerate(base) for b in base[:i])
    assert all(n > 1 and math.gcd(*sympy.factorint(n).values()) == 1 for n in base)
    for number in given_:
        for n in base:
            while number % n == 0:
                number //= n
        assert number == 1


@pytest.mark.parametrize(
    "text", ["01", "2/4", "1/1", "1/0", "-0", "+1", "1.5", "1e3", " 1", "", "1/-2", "٣", "1_0"]
)
def test_exact_numbers_have_one_spelling(text: str) -> None:
    assert numbers.exact(text) is None


def test_exact_numbers() -> None:
    assert numbers.exact("-3/8") == Fraction(-3, 8)
    assert numbers.exact("9" * (numbers.MAX_DIGITS + 1)) is None
    assert numbers.decimal("1.5e3") == 1500
    assert numbers.decimal("1e9999") is None
    assert numbers.decimal("0x10") is None


FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1e6, 1e6)


@settings(max_examples=120)
@given(value=FLOATS, dtype=st.sampled_from(sorted(FORMATS)))
def test_rounding(value: float, dtype: str) -> None:
    found = formats.rounded(Fraction(value), dtype)
    assert float(found) == round_to(value, dtype)


@settings(max_examples=40)
@given(a=st.floats(width=32, allow_nan=False, allow_infinity=False), up=st.integers(0, 9))
def test_order_counts_steps(a: float, up: int) -> None:
    import numpy as np

    b = np.float32(a)
    for _ in range(up):
        b = np.nextafter(b, np.float32(3e38))
    steps = formats.steps(Fraction(a), Fraction(float(b)), "float32")
    assert steps == abs(ordinal(a) - ordinal(float(b))) == up or a > 2e38


def test_units() -> None:
    assert formats.unit(Fraction(1), "float32") == Fraction(1, 1 << 23)
    assert formats.unit(Fraction(999, 1000), "float32") == Fraction(1, 1 << 24)
    assert formats.unit(Fraction(0), "float32") == Fraction(1, 1 << 149)
    assert formats.unit(Fraction(1, 1 << 140), "float32") == Fraction(1, 1 << 149)
    assert formats.binade(Fraction(-5, 3)) == 0
    assert formats.binade(Fraction(1, 3)) == -2
