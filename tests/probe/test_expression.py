"""Targets are read by grammar: what they mean, and where it is said that something is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import UsageError
from ropeaudit.probe._expression import FUNCTIONS, MAX_DEPTH, parse

LAGS = np.arange(1.0, 6.0)
LENGTH, OMEGA = 7, 0.3

_leaves = st.sampled_from(["d", "L", "omega", "pi", "2", "0.5", "1e-3", "17"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]}){t[1]}({t[2]})"),
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"{t[0]} {t[1]} {t[2]}"),
        st.tuples(st.sampled_from(FUNCTIONS), inner).map(lambda t: f"{t[0]}({t[1]})"),
        inner.map(lambda t: f"-({t})"),
        inner.map(lambda t: f"({t})**2"),
    )


@settings(max_examples=40, deadline=None)
@given(st.recursive(_leaves, _grown, max_leaves=6))
def test_an_expression_means_what_sympy_reads(text: str) -> None:
    expression = parse(text)
    try:
        found = expression.values(LAGS, length=LENGTH, omega=OMEGA)
    except UsageError as error:
        assert "no finite number at d =" in str(error)
        return
    names = {n: sympy.Symbol(n, real=True) for n in ("d", "L", "omega")}
    known = sympy.parse_expr(
        text.replace("abs(", "Abs("), {**names, "pi": sympy.pi}, evaluate=False
    )
    for lag, value in zip(LAGS, found, strict=True):
        want = known.subs({"d": lag, "L": LENGTH, "omega": OMEGA}, simultaneous=True)
        want = complex(
            want.subs({names["d"]: lag, names["L"]: LENGTH, names["omega"]: OMEGA}).evalf()
        )
        # Cancellation costs both some digits; where 1e6 of them cancel nothing can be compared.
        assert math.isclose(value, want.real, rel_tol=1e-6, abs_tol=1e-6)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("cos(omega*d", "column 4: cannot be read"),
        ("d +", "column 4: cannot be read"),
        ("lg(d)", "column 1: no function is called lg; did you mean log?"),
        ("2*x", "column 3: no quantity is called x"),
        ("mixd", "no quantity is called mixd; did you mean mixed?"),
        ("2*mixd", "no quantity is called mixd; expected"),
        ("d*omga", "column 3: no quantity is called omga; did you mean omega?"),
        ("cos", "column 1: cos is a function; write cos(...)"),
        ("1 + cos(d, L)", "column 5: cos takes one argument"),
        ("cos(x=d)", "column 1: cos takes one argument"),
        ("cos(*d)", "is not allowed here"),
        ("d // 2", "column 1: d // 2 is not allowed here"),
        ("d % 2", "is not allowed here"),
        ("1 + (d if d else L)", "column 6: d if d else L is not allowed here"),
        ("d.real", "column 1: d.real is not allowed here"),
        ("d[0]", "is not allowed here"),
        ("[d]", "is not allowed here"),
        ("lambda: d", "is not allowed here"),
        ("(d := 3)", "is not allowed here"),
        ("d < L", "is not allowed here"),
        ("not d", "is not allowed here"),
        ("~d", "is not allowed here"),
        ("True", "column 1: True is no number"),
        ("'d'", "is no number"),
        ("1j", "column 1: 1j is no number"),
        ("...", "is no number"),
        ("__import__('os').system('true')", "is not allowed here"),
        ("().__class__", "is not allowed here"),
        ("eval(d)", "column 1: no function is called eval"),
        ("cos(d)(d)", "is not allowed here"),
        ("9" * 390, "the number is beyond float64"),
        ("d" * 401, "has 401 characters, at most 400"),
        ("-" * (MAX_DEPTH + 1) + "d", f"nested more than {MAX_DEPTH} deep"),
        ("(" * 390, "cannot be read"),
        ("1if d else 2", "cannot be read"),
        ("d\0", "cannot be read"),
        ("é + x", "column 1: no quantity is called é"),
        ("2*pi*(é)", "column 7: no quantity is called é"),
        ("import os", "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:  # and no warning of Python's own parser
        parse(text)
    assert said in str(caught.value)
    assert "\x00" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["log(d - 1)", "1/(d - 1)", "sqrt(1 - d)", "10**(400*d)", "9**9**9"]
)
def test_a_target_that_is_no_number_names_the_lag(text: str) -> None:
    first = {"sqrt(1 - d)": 2}.get(text, 1)
    with pytest.raises(UsageError, match=rf"no finite number at d = {first} \(L = 7\)"):
        parse(text).values(LAGS, length=LENGTH, omega=OMEGA)


def test_a_constant_is_a_target() -> None:
    assert parse("pi").values(LAGS, length=1, omega=1.0).tolist() == [math.pi] * 5


def test_spelling_does_not_count() -> None:
    assert parse(" ( d / L )*cos( omega*d )").source == parse("(d/L) * cos(omega * d)").source
