"""Why one axis always becomes RoPE, checked with symbols instead of numbers.

The claim: for skew A there is one orthogonal S with ``A = S^T L S`` and L made of blocks of two,
so ``exp(t A) = S^T exp(t L) S`` for all t at once, and S goes into the projections of queries and
keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

from ropeaudit.convert import rope
from tests.convert.test_forms import source

T, U = sp.symbols("t u", real=True)


def rational_orthogonal(n: int) -> Any:
    """By Cayley's transform, so that every entry is a rational number."""
    x = sp.zeros(n, n)
    count = 0
    for i in range(n):
        for j in range(i):
            count += 1
            x[i, j] = sp.Rational(count % 3 + 1, count + 1)
            x[j, i] = -x[i, j]
    one = sp.eye(n)
    return (one - x) * (one + x).inv()


def blocks(make: Any, rates: tuple[Any, ...], n: int, still: int) -> Any:
    whole = sp.eye(n) * still
    for k, rate in enumerate(rates):
        whole[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = make(rate)
    return whole


def turn(time: Any) -> Any:
    return lambda w: sp.Matrix(
        [[sp.cos(w * time), -sp.sin(w * time)], [sp.sin(w * time), sp.cos(w * time)]]
    )


def is_zero(matrix: Any) -> bool:
    return all(sp.expand_trig(sp.expand(e)).simplify() == 0 for e in matrix)


@pytest.mark.parametrize("n", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_one_axis_is_rope_after_a_change_of_basis(n: int) -> None:
    rates = sp.symbols(f"w0:{n // 2}", positive=True)
    s = rational_orthogonal(n)
    assert s.T * s == sp.eye(n)
    generator = blocks(lambda w: sp.Matrix([[0, -w], [w, 0]]), rates, n, 0)
    a = s.T * generator * s
    assert is_zero(a + a.T)

    def operator(time: Any) -> Any:
        return s.T * blocks(turn(time), rates, n, 1) * s

    # The only solution of R' = A R, R(0) = I is exp(t A).
    assert is_zero(sp.diff(operator(T), T) - a * operator(T))
    assert operator(T).subs(T, 0) == sp.eye(n)
    # Scores depend on the lag, and the basis moves into the projections.
    assert is_zero(operator(T).T * operator(U) - operator(U - T))
    w_q, w_k = sp.randMatrix(n, n, seed=1), sp.randMatrix(n, n, seed=2)
    plain = w_q.T * operator(T).T * operator(U) * w_k
    folded = (s * w_q).T * blocks(turn(T), rates, n, 1).T * blocks(turn(U), rates, n, 1) * (s * w_k)
    assert is_zero(plain - folded)
    # The same matrix, in numbers, through the conversion.
    values = [1.5, 0.25][: n // 2]
    numbers = np.array(a.subs(dict(zip(rates, values, strict=True)))).astype(np.float64)
    made = rope.convert(source(numbers[None, None, None]))
    assert made.frequencies.ravel() == pytest.approx(values, rel=1e-13)


@pytest.mark.slow
def test_any_skew_matrix_of_three_channels() -> None:
    """All of so(3), not only rational bases: Rodrigues' formula in a basis without t."""
    a, b, c = sp.symbols("a b c", positive=True)
    k = sp.Matrix([[0, -a, -b], [a, 0, -c], [b, c, 0]])
    w = sp.sqrt(a**2 + b**2 + c**2)
    r = sp.eye(3) + sp.sin(w * T) / w * k + (1 - sp.cos(w * T)) / w**2 * k**2
    assert is_zero(sp.diff(r, T) - k * r)
    assert r.subs(T, 0) == sp.eye(3)
    axis = sp.Matrix([c, -b, a]) / w
    first = sp.Matrix([b, c, 0]) / sp.sqrt(b**2 + c**2)
    s = sp.Matrix.hstack(first, axis.cross(first), axis).T
    assert is_zero(s * s.T - sp.eye(3))
    assert is_zero(s * r * s.T - blocks(turn(T), (w,), 3, 1))


def test_two_axes_have_no_common_basis_in_general() -> None:
    """so(3) again: the commutator of two rotations about different axes is a third one."""
    x = sp.Matrix([[0, 0, 0], [0, 0, -1], [0, 1, 0]])
    y = sp.Matrix([[0, 0, 1], [0, 0, 0], [-1, 0, 0]])
    assert x * y - y * x == sp.Matrix([[0, -1, 0], [1, 0, 0], [0, 0, 0]])
