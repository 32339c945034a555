"""What the algebraic claims cost, against sympy in the same run.

sympy decides equality of radicals by minimal polynomials, or compares numerically. Ratios of one
run on one machine; a bound is what the slowest CI machine must keep.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction as F
from functools import partial
from itertools import combinations

import pytest
import sympy

from ropeaudit.exact.terms import Term
from ropeaudit.proofs import aliasing, distinct, distinct_in, geometric, relations
from ropeaudit.proofs.interface import Exhibit, Status
from ropeaudit.records import replace
from tests.proofs import forms

LARGE = "12345678901234567/1000000000"
GROWTH = "98765432109876543/10000000000000"


def seconds(action: Callable[[], object], times: int = 1) -> float:
    """Shortest of several runs: what the work needs, without the machine's noise."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        action()
        found.append(time.perf_counter() - started)
    return min(found)


def fresh(exhibit: Exhibit) -> Exhibit:
    """The exhibit as a first claim finds it, with nothing remembered."""
    return replace(exhibit, memo={})


def all_claims(exhibit: Exhibit) -> None:
    held = fresh(exhibit)
    for module in (distinct, relations, geometric, aliasing):
        module.prove(held)
    for claim in distinct_in.CLAIMS:
        distinct_in.prove(held, claim)


def sympy_terms(base: int, n: int) -> list[sympy.Expr]:
    return [sympy.Integer(base) ** sympy.Rational(-k, n) for k in range(n)]


def minimal_polynomials(terms: Sequence[sympy.Expr]) -> None:
    sympy.core.cache.clear_cache()
    x = sympy.Symbol("x")
    assert len({sympy.minimal_polynomial(term, x) for term in terms}) == len(terms)


def pairs_compared(terms: Sequence[sympy.Expr]) -> None:
    sympy.core.cache.clear_cache()
    assert all(b < a for a, b in combinations(terms, 2))


@pytest.fixture(scope="module")
def peer() -> float:
    """Seconds that sympy takes to compare the 2,016 pairs of b=1e6, d=128 with ``<``."""
    terms = sympy_terms(10**6, 64)
    return seconds(lambda: pairs_compared(terms))


@pytest.mark.bench
def test_distinctness_against_sympy(peer: float, capsys: pytest.CaptureFixture[str]) -> None:
    exhibit = forms.exhibit(forms.default(10**6, 128))
    assert distinct.prove(fresh(exhibit)).status is Status.PROVED
    ours = seconds(lambda: distinct.prove(fresh(exhibit)), times=9)
    polynomials = seconds(lambda: minimal_polynomials(sympy_terms(10**6, 64)))
    with capsys.disabled():
        print(
            f"\ndistinct, b=1e6 d=128: {ours * 1e3:.2f} ms; sympy {polynomials / ours:.0f} times "
            f"that for 64 minimal polynomials, {peer / ours:.0f} times for 2,016 comparisons"
        )
    assert peer / ours >= 100


@pytest.mark.bench
@pytest.mark.parametrize(("dim", "times"), [(128, 20), (512, 4)])
def test_all_claims_of_any_base(
    dim: int, times: int, peer: float, capsys: pytest.CaptureFixture[str]
) -> None:
    bases: list[forms.Number] = [10**6, 8 * 10**6, 150_000, "20001/2", 2**31 - 1, 10**9 + 7]
    tables: dict[str, Sequence[Term]] = {str(b): forms.default(b, dim) for b in bases}
    tables["NTK, 17 digits"] = forms.ntk(LARGE, GROWTH, dim)
    tables["longrope"] = forms.longrope(10_000, [1 + F(k, 37) for k in range(dim // 2)])
    tables["llama3"] = forms.llama3(dim=dim)
    tables["yarn, not truncated"] = forms.yarn(dim=dim)
    lines = []
    for name, terms in tables.items():
        exhibit = forms.exhibit(terms)
        spent = seconds(partial(all_claims, exhibit), times=5)
        lines.append(f"{name}: {spent * 1e3:.1f} ms (1/{peer / spent:.0f})")
        assert peer / spent >= times, name
    with capsys.disabled():
        print(
            f"\nall algebraic claims and formats, d={dim}, and as a part of sympy's 2,016 "
            f"comparisons: {'; '.join(lines)}"
        )
