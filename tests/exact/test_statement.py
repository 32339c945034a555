"""Formulas say what the terms are: sympy and mpmath evaluate both and confirm the normal forms."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from math import lcm

import mpmath
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.exact import encoding, statement
from ropeaudit.exact.radicals import Radicals
from ropeaudit.exact.terms import ZERO, ClosedForm, Cutoff, PiBlend, Power, Ramp, Term

F = Fraction
HALF = F(1, 2)


def powers(base: Fraction | int, n: int, coefficient: Fraction | int = 1) -> list[Power]:
    """``coefficient * base ** (-k/n)``, factors that equal 1 left out."""
    return [
        Power(F(coefficient), ((F(base), F(-k, n)),) if k else ()) for k in range(n)
    ]  # fmt: skip


def form(terms: list[Term]) -> ClosedForm:
    return ClosedForm(law="default", parameters={}, terms=tuple(terms))


def cutoff(turns: int) -> Cutoff:
    return Cutoff(128, F(turns), F(10**6))


YARN = [
    Power((1 - r) + r / 4, p.factors)
    for k, p in enumerate(powers(10**6, 64))
    for r in [min(max(F(k - 20, 25), F(0)), F(1))]
]
BLEND = PiBlend(Power(F(1), ((F(500000), F(-1, 2)),)), F(-1, 8), F(1344))
RAMP = Ramp(Power(F(1), ((F(10**6), F(-1, 2)),)), 32, cutoff(1024), cutoff(32768), F(4))


def pieces(terms: list[Term]) -> list[tuple[int, int, str]]:
    return [(p.first, p.last, p.formula) for p in statement.plain(form(terms))]


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (powers(10**6, 64), [(0, 63, "1000000^(-k/64)")]),
        (powers(10**6, 64, F(1, 4)), [(0, 63, "1/4·1000000^(-k/64)")]),
        (powers(F(5, 2), 4), [(0, 3, "(5/2)^(-k/4)")]),
        ([*powers(9, 4), ZERO, ZERO], [(0, 3, "9^(-k/4)"), (4, 5, "0")]),
        ([*powers(9, 4), *powers(9, 4)], [(0, 3, "9^(-k/4)"), (4, 7, "9^(1 - k/4)")]),
        ([Power(F(3))], [(0, 0, "3")]),
        ([], []),
        (
            YARN,
            [
                (0, 20, "1000000^(-k/64)"),
                (21, 45, "(8/5 - 3k/100)·1000000^(-k/64)"),
                (46, 63, "1/4·1000000^(-k/64)"),
            ],
        ),
        (
            [Power(F(1), ((F(100), F(-k, 8)), (F(7, 2), F(-k, 7)))) for k in range(8)],
            [(0, 7, "100^(-k/8)·(7/2)^(-k/7)")],
        ),
        ([BLEND], [(0, 0, "500000^(-1/2)·(-1/8 + 1344·500000^(-1/2)/π)")]),
    ],
)
def test_runs_of_channels_share_one_formula(
    terms: list[Term], expected: list[tuple[int, int, str]]
) -> None:
    assert pieces(terms) == expected


def test_factors_that_follow_no_rule_get_a_letter() -> None:
    listed = [Power(1 / F(k * k + 1, 7), p.factors) for k, p in enumerate(powers(10**4, 48))]
    assert pieces(list(listed)) == [(0, 47, "c_k·10000^(-k/48)")]


def test_latex_has_cases_where_there_are_several() -> None:
    assert statement.latex(form(list(powers(10**6, 64)))) == (
        r"\theta_k = 1000000^{-\frac{k}{64}}, \quad 0 \le k \le 63"
    )
    text = statement.latex(form(list(YARN)))
    assert text.startswith(r"\theta_k = \begin{cases} 1000000^{-\frac{k}{64}} & 0 \le k \le 20 \\")
    assert text.endswith(r"\frac{1}{4} \cdot 1000000^{-\frac{k}{64}} & 46 \le k \le 63 \end{cases}")
    assert statement.latex(form([])) == ""
    for terms in ([BLEND], [RAMP], YARN):
        found = statement.latex(form(list(terms)))
        assert found.count("{") == found.count("}")
        assert found.count("(") == found.count(")")


def valued(formula: str, k: int) -> mpmath.mpf:
    """A plain formula evaluated by mpmath at channel ``k``: an independent reading of it."""
    text = re.sub(r"(\d)k", r"\1*k", formula)
    text = text.replace("·", "*").replace("π", "pi").replace("^", "**")
    text = re.sub(r"(\d)pi", r"\1*pi", text)
    text = re.sub(r"ln ([\d/]+)", r"ln(\1)", text)
    text = re.sub(r"\d+", r"mpf(\g<0>)", text)
    names = {"mpf": mpmath.mpf, "pi": mpmath.pi, "ln": mpmath.log, "k": mpmath.mpf(k)}
    return eval(text, {"__builtins__": {}}, names)


def numeric(shape: Term) -> mpmath.mpf:
    return mpmath.mpf(str(sympy.N(statement.expression(shape), 40)))


rationals = st.fractions(min_value=F(1, 50), max_value=50, max_denominator=50)


@given(base=rationals, n=st.integers(1, 12), factor=rationals, second=rationals)
def test_the_formula_has_the_value_of_the_terms(
    base: Fraction, n: int, factor: Fraction, second: Fraction
) -> None:
    terms: list[Term] = [
        Power(factor, ((base, F(-k, n)), (second, F(-k, n + 1)))) for k in range(n)
    ]
    with mpmath.workdps(40):
        for first, last, formula in pieces(terms):
            for k in range(first, last + 1):
                assert mpmath.almosteq(valued(formula, k), numeric(terms[k]), rel_eps=1e-30)


@pytest.mark.parametrize("shape", [BLEND, RAMP, YARN[30], YARN[63], ZERO])
def test_single_terms_have_the_value_of_sympy(shape: Term) -> None:
    with mpmath.workdps(40):
        assert mpmath.almosteq(valued(statement.term(shape), 0), numeric(shape), rel_eps=1e-30)


def test_pieces_cover_every_channel_once() -> None:
    terms: list[Term] = [*YARN, *powers(9, 5), ZERO, BLEND, RAMP, *powers(9, 2)]
    found = statement.plain(form(terms))
    assert found[0].first == 0
    assert found[-1].last == len(terms) - 1
    assert all(b.first == a.last + 1 for a, b in pairwise(found))


def test_terms_read_back_as_they_were_written() -> None:
    for shape in (*YARN, ZERO):
        assert encoding.read_power(encoding.power(shape)) == shape
    assert encoding.power(Power(HALF, ((F(1), HALF), (F(7), F(0))))) == {
        "coefficient": "1/2",
        "factors": [],
    }
    assert encoding.term(BLEND)["constant"] == "-1/8"
    assert encoding.term(RAMP)["low"] == {"dim": 128, "turns": "1024", "base": "1000000"}
    assert encoding.table([0.5, float("nan"), float("-inf"), 3 * 2.0**-60]) == [
        "1/2", "nan", "-inf", f"3/{2**60}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "shape",
    [
        Power(F(1), ((F(10**6), F(-1, 4)),)),
        Power(F(3, 2), ((F(12), F(1, 4)),)),
        Power(F(2), ((F(8, 27), F(1, 6)),)),
        Power(F(1), ((F(6), HALF), (F(10), HALF))),
        Power(F(1), ((F(4), F(1, 4)), (F(8), F(-1, 6)))),
        Power(F(5, 7), ((F(9), F(3, 2)),)),
    ],
)
def test_sympy_confirms_the_normal_form(shape: Power) -> None:
    """A positive radical whose N-th power is the first rational one has minimal polynomial X^N - q.

    The normal form says what N is: the common denominator of its class.
    """
    exponents, _ = Radicals([shape]).normal(shape)
    degree = lcm(*(e.denominator for e in exponents))
    x = sympy.Symbol("x")
    value = statement.expression(shape)
    polynomial = sympy.Poly(sympy.minimal_polynomial(value, x), x, domain="QQ").monic()
    power = sympy.Mul(
        sympy.Rational(shape.coefficient) ** degree,
        *(sympy.Rational(r) ** (sympy.Rational(e) * degree) for r, e in shape.factors),
    )
    assert polynomial == sympy.Poly(x**degree - power, x, domain="QQ")


@pytest.mark.parametrize(("base", "n"), [(10**6, 64), (10**4, 64), (500000, 8), (2**31 - 1, 6)])
def test_factoring_confirms_the_classes_of_a_plain_table(base: int, n: int) -> None:
    """theta_i/theta_j is rational exactly when n divides e (i - j) for each prime exponent e."""
    table = powers(base, n)
    radicals = Radicals(table)
    classes = [radicals.normal(p)[0] for p in table]
    exponents = list(sympy.factorint(base).values())
    for i in range(n):
        for j in range(i):
            rational = all(e * (i - j) % n == 0 for e in exponents)
            assert (classes[i] == classes[j]) is rational
