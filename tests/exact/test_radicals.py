"""Normal forms against sympy's factoring, and linear algebra against sympy's matrices."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.exact.integers import exact_root, iroot
from ropeaudit.exact.radicals import (
    Radicals,
    Vector,
    coprime_base,
    perfect_power,
    rank,
    ratio,
    rational_value,
)
from ropeaudit.exact.terms import ZERO, PiBlend, Power

naturals = st.integers(1, 10**6)
rationals = st.builds(F, st.integers(1, 60), st.integers(1, 60))
exponents = st.builds(F, st.integers(-8, 8), st.integers(1, 6))
powers = st.builds(
    lambda scale, pairs: Power(scale, tuple(pairs)),
    rationals,
    st.lists(st.tuples(rationals, exponents), max_size=3),
)


@given(st.integers(0, 10**40), st.integers(1, 70))
def test_integer_root_is_the_floor(value: int, degree: int) -> None:
    x = iroot(value, degree)
    assert x**degree <= value < (x + 1) ** degree


@given(st.integers(2, 10**9), st.integers(1, 200), st.sampled_from([-1, 0, 1]))
def test_exact_root_finds_perfect_powers_and_no_neighbours(
    root: int, degree: int, off: int
) -> None:
    found = exact_root(root**degree + off, degree)
    assert found == (root + off if degree == 1 else root if off == 0 else None)


def test_integer_roots_of_very_many_bits() -> None:
    value = 3**70_000 + 1
    x = iroot(value, 256)
    assert x**256 <= value < (x + 1) ** 256
    assert iroot(2**60_000 + 5, 3) == 2**20_000
    # Long enough that a float's logarithm places the start below the root or above it.
    for root in (10**3000 + 1, 7**4000 - 1):
        assert iroot(root**3 - 1, 3) == root - 1
        assert exact_root(root**3, 3) == root


@given(st.integers(2, 10**6), st.integers(1, 12))
def test_perfect_power_is_the_gcd_of_the_prime_exponents(root: int, degree: int) -> None:
    value = root**degree
    expected = math.gcd(*sympy.factorint(value).values())
    base, found = perfect_power(value)
    assert (base**found, found) == (value, expected)


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        (10_000, (10, 4)),
        (500_000, (500_000, 1)),
        (8_000_000, (200, 3)),
        (2**31 - 1, (2**31 - 1, 1)),
        (2**36, (2, 36)),
        (12345678901234567**6, (12345678901234567, 6)),
        ((10**299 + 7) ** 3, (10**299 + 7, 3)),
    ],
)
def test_perfect_powers_of_known_bases(base: int, expected: tuple[int, int]) -> None:
    assert perfect_power(base) == expected


@given(st.lists(naturals, max_size=6))
def test_coprime_base(values: list[int]) -> None:
    base = coprime_base(values)
    assert all(math.gcd(a, b) == 1 for a, b in combinations(base, 2))
    for integer in base:
        assert integer > 1
        assert math.gcd(*sympy.factorint(integer).values()) == 1
    for value in values:
        for integer in base:
            while value % integer == 0:
                value //= integer
        assert value == 1


def _is_rational(power: Power) -> bool:
    """By factoring: every prime has an integer exponent."""
    total: dict[int, F] = {}
    for radicand, exponent in power.factors:
        for part, sign in ((radicand.numerator, 1), (radicand.denominator, -1)):
            for prime, times in sympy.factorint(part).items():
                total[prime] = total.get(prime, F(0)) + sign * times * exponent
    return all(exponent.denominator == 1 for exponent in total.values())


def _over(a: Power, b: Power) -> Power:
    return Power(a.coefficient / b.coefficient, a.factors + tuple((r, -e) for r, e in b.factors))


@given(powers, powers)
def test_equal_classes_are_rational_ratios(a: Power, b: Power) -> None:
    radicals = Radicals((a, b))
    (kind_a, scale_a), (kind_b, scale_b) = radicals.normal(a), radicals.normal(b)
    assert all(0 <= x < 1 for x in kind_a + kind_b)
    assert (kind_a == kind_b) == _is_rational(_over(a, b))
    if kind_a == kind_b:
        assert rational_value(_over(a, b)) == scale_a / scale_b
        assert ratio(radicals.vector(a), radicals.vector(b)) == scale_a / scale_b
    else:
        assert rational_value(_over(a, b)) is None
        assert ratio(radicals.vector(a), radicals.vector(b)) is None


@given(powers)
def test_normal_form_keeps_the_value(power: Power) -> None:
    radicals = Radicals((power,))
    kind, scale = radicals.normal(power)
    again = Power(scale, tuple((F(c), x) for c, x in zip(radicals.base, kind, strict=True)))
    assert rational_value(_over(power, again)) == 1


@given(powers, powers)
def test_products_of_vectors_are_vectors_of_products(a: Power, b: Power) -> None:
    product = Power(a.coefficient * b.coefficient, a.factors + b.factors)
    radicals = Radicals((a, b))
    assert radicals.product(radicals.vector(a), radicals.vector(b)) == radicals.vector(product)


def test_vectors_of_zero_and_of_blends() -> None:
    theta = Power(F(3), ((F(2), F(1, 2)),))
    radicals = Radicals((theta, ZERO))
    assert radicals.vector(ZERO) == {}
    assert radicals.vector(PiBlend(theta, F(1, 8), F(5))) == {
        ((F(1, 2),), 0): F(3, 8),
        ((F(0),), -1): F(90),
    }
    assert radicals.vector(PiBlend(theta, F(0), F(5))) == {((F(0),), -1): F(90)}
    assert radicals.vector(PiBlend(theta, F(1), F(0))) == radicals.vector(theta)


@pytest.mark.parametrize("base", [1, F(1, 3), F(20001, 2), 10**6])
def test_a_radicand_of_one_or_below_one(base: F | int) -> None:
    power = Power(F(1), ((F(base), F(-1, 2)),))
    square = Power(F(1), ((F(base), F(-1)),))
    radicals = Radicals((power, square))
    vector = radicals.vector(power)
    assert (
        radicals.product(vector, vector)
        == radicals.vector(square)
        == {(radicals.one, 0): 1 / F(base)}
    )


entries = st.sampled_from([F(0), F(0), F(0), F(1), F(-2), F(1, 3)])
matrices = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(entries, min_size=width, max_size=width), max_size=6)
)


@given(matrices)
def test_rank_is_sympys(rows: list[list[F]]) -> None:
    vectors: list[Vector] = [
        {((), place): value for place, value in enumerate(row) if value} for row in rows
    ]
    expected = sympy.Matrix([[sympy.Rational(str(v)) for v in row] for row in rows]).rank()
    assert rank(vectors) == expected


def test_ratio_needs_two_parallel_vectors() -> None:
    a: Vector = {((), 0): F(2), ((), -1): F(4)}
    assert ratio(a, {((), 0): F(1), ((), -1): F(2)}) == 2
    assert ratio(a, {((), 0): F(1), ((), -1): F(3)}) is None
    assert ratio(a, {((), 0): F(1)}) is None
    assert ratio({}, {}) is None
