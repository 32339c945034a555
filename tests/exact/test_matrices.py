"""Integer matrices and polynomials against sympy, and floats as integers bit for bit."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.exact import matrices, polynomials

X = sympy.Symbol("x")
P = next(matrices.primes())
small = st.integers(-6, 6)


def poly(f: list[int]) -> Any:
    return sympy.Poly(f[::-1], X) if f else sympy.Poly(0, X)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6))
def test_floats_are_integers_times_a_power_of_two(values: list[float]) -> None:
    held = matrices.dyadic(np.array(values))
    for k, value in enumerate(values):
        whole = held.integer(k)
        assert whole * Fraction(2) ** held.shift == Fraction(value)
        assert abs(whole) < 2**held.bits or value == 0
        assert held.residues(P)[k] == whole % P


def test_a_float32_needs_its_own_bits_only() -> None:
    assert matrices.dyadic(np.float32([1.5, 0.1]).astype(float)).bits <= 29
    assert matrices.dyadic(np.zeros(3)).bits == 0


def test_primes() -> None:
    found = list(islice(matrices.primes(), 60))
    assert found == sorted(found, reverse=True)
    assert found == list(sympy.primerange(found[-1], 2**31))[::-1]


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 7),
    batch=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
    zeros=st.booleans(),
)
def test_characteristic_polynomials(n: int, batch: int, seed: int, zeros: bool) -> None:
    rng = np.random.default_rng(seed)
    m = rng.integers(-50, 50, size=(batch, n, n))
    if zeros:  # pivots that have to be looked for
        m *= rng.integers(0, 2, size=m.shape)
    for p in (P, 7):
        found = matrices.characteristic(m, p)
        for one, row in zip(m, found, strict=True):
            want = sympy.Matrix(one.tolist()).charpoly(X).all_coeffs()[::-1]
            assert row.tolist() == [int(c) % p for c in want]


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 70), seed=st.integers(0, 2**32 - 1))
def test_products_stay_within_int64(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(P - 9, P, size=(2, n, n))
    want = (a.astype(object) @ b.astype(object)) % P
    assert (matrices.times(a, b, P) == want).all()


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 5), seed=st.integers(0, 2**32 - 1), bits=st.integers(1, 40))
def test_coefficients_come_back_from_residues(n: int, seed: int, bits: int) -> None:
    rng = np.random.default_rng(seed)
    m = rng.integers(-(2**bits) + 1, 2**bits, size=(1, n, n))
    moduli = matrices.enough(matrices.coefficient_bits(n, bits))
    residues = np.stack([matrices.characteristic(m % p, p)[0] for p in moduli])
    want = sympy.Matrix(m[0].tolist()).charpoly(X).all_coeffs()[::-1]
    assert matrices.combined(residues, moduli) == [int(c) for c in want]


@settings(max_examples=80, deadline=None)
@given(
    a=st.lists(small, min_size=1, max_size=4),
    b=st.lists(small, min_size=1, max_size=3),
    c=st.lists(small, min_size=1, max_size=3),
)
def test_repeated_factors(a: list[int], b: list[int], c: list[int]) -> None:
    whole = poly(a) * poly(b) ** 2 * poly(c) ** 3
    if whole.is_zero or whole.degree() == 0:
        return
    f = [int(k) for k in whole.all_coeffs()[::-1]]
    found = polynomials.multiplicities(f)
    want: dict[int, Any] = {}
    for part, m in whole.sqf_list()[1]:
        want[m] = want.get(m, sympy.Poly(1, X)) * part
    assert {m: poly(g).monic() for m, g in found.items()} == {m: g.monic() for m, g in want.items()}
    shared = polynomials.gcd(f, polynomials.derivative(f))
    assert poly(shared).monic() == sympy.gcd(whole, whole.diff()).monic()
    if f[-1] == 1 and polynomials.is_squarefree_mod(f, P):
        assert whole.is_sqf


@settings(max_examples=40, deadline=None)
@given(
    a=st.lists(st.integers(0, 10), min_size=1, max_size=5),
    b=st.lists(st.integers(0, 10), min_size=1, max_size=5),
)
def test_common_divisors_modulo_a_prime(a: list[int], b: list[int]) -> None:
    f, g = sympy.Poly(a[::-1], X, modulus=11), sympy.Poly(b[::-1], X, modulus=11)
    if f.is_zero and g.is_zero:
        assert polynomials.gcd_mod(a, b, 11) == []
        return
    want = [int(c) % 11 for c in sympy.gcd(f, g).monic().all_coeffs()[::-1]]
    assert polynomials.gcd_mod(a, b, 11) == want


def test_a_division_that_is_none() -> None:
    assert polynomials.quotient([-1, 0, 1], [1, 1]) == [-1, 1]
    with pytest.raises(ValueError, match="remainder"):
        polynomials.quotient([1, 0, 1], [1, 1])
