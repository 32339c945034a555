"""Rational ratios and dimensions: the counts known for deployed bases, and brute force."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations, pairwise
from typing import Any

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.exact.terms import ZERO, PiBlend, Power, Term
from ropeaudit.proofs import relations
from ropeaudit.proofs.interface import Status
from ropeaudit.schedule.core import Axis
from tests.proofs import forms
from tests.proofs.forms import exhibit, power


def prove(terms: list[Any], **kw: Any) -> dict[str, Any]:
    claim = relations.prove(exhibit(terms, **kw))
    assert (claim.claim, claim.status) == ("relations", Status.PROVED)
    return dict(claim.evidence)


def ratios(evidence: dict[str, Any]) -> dict[tuple[int, int], F]:
    """Every rational ratio, multiplied up from the generators."""
    step = {(g["k"], g["j"]): F(g["ratio"]) for g in evidence["generators"]}
    found = {}
    for members in evidence["classes"]:
        for i, j in combinations(range(len(members)), 2):
            chain = list(pairwise(members))[i:j]
            found[members[i], members[j]] = math.prod((step[pair] for pair in chain), start=F(1))
    return found


@pytest.mark.parametrize(
    ("base", "dim", "classes"),
    [
        (10_000, 128, 16),
        (500_000, 128, 64),
        (1_000_000, 128, 32),
        (100_000, 64, 32),
        (10_000, 64, 8),
        (10_000, 256, 32),
        (1_000_000, 256, 64),
        (10_000_000, 128, 64),
        # gcd of the prime exponents of 8e6 = 200**3 is 3, so 96 channels fall into 32 classes.
        (8_000_000, 128, 64),
        (8_000_000, 192, 32),
        (150_000, 128, 64),
        ("20001/2", 128, 64),
        (2**31 - 1, 128, 64),
        (10**9 + 7, 128, 64),
        (2**32, 128, 2),
        ("1/10000", 128, 16),
        ("16/81", 128, 16),
        ("4/9", 128, 32),
        (1, 128, 1),
    ],
)
def test_dimension_of_the_span(base: forms.Number, dim: int, classes: int) -> None:
    evidence = prove(forms.default(base, dim))
    assert evidence["q_span_dimension"] == classes
    assert evidence["torus_dimension"] == classes
    assert len(evidence["generators"]) == dim // 2 - classes


def test_generators_of_a_million() -> None:
    evidence = prove(forms.default(10**6, 128))
    assert evidence["classes"] == [[k, k + 32] for k in range(32)]
    assert evidence["generators"] == [{"k": k, "j": k + 32, "ratio": "1000/1"} for k in range(32)]


bases = st.builds(F, st.integers(1, 5000), st.sampled_from([1, 1, 1, 4, 9, 27, 1000]))


@given(bases, st.integers(1, 24))
def test_against_the_rule_of_prime_exponents(base: F, n: int) -> None:
    """theta_i/theta_j is rational iff n divides e_p (i - j) for every prime exponent e_p of b."""
    factored = [*sympy.factorint(base.numerator).values()]
    factored += sympy.factorint(base.denominator).values()
    expected = {
        (i, j) for i, j in combinations(range(n), 2) if all(e * (i - j) % n == 0 for e in factored)
    }
    evidence = prove(forms.default(str(base), 2 * n))
    found = ratios(evidence)
    assert found.keys() == expected
    for (i, j), value in found.items():
        assert value**n == base ** (j - i)


@given(
    st.sampled_from([(12, 18), (10**6, 4), (16, 8), (100, 10), (7, 49)]),
    st.integers(2, 12),
)
def test_ntk_is_one_radical_of_a_larger_base(pair: tuple[int, int], n: int) -> None:
    """With c = b**(n-1) g**n the ratios are c**(-(i-j)/(n(n-1)))."""
    base, growth = pair
    evidence = prove(forms.ntk(base, growth, 2 * n))
    whole = base ** (n - 1) * growth**n
    gcd = math.gcd(*sympy.factorint(whole).values())
    period = n * (n - 1) // math.gcd(n * (n - 1), gcd)
    expected = {(i, j) for i, j in combinations(range(n), 2) if (j - i) % period == 0}
    assert ratios(evidence).keys() == expected


def test_ntk_with_bases_of_17_digits() -> None:
    terms = forms.ntk("12345678901234567/1000000000", "98765432109876543/10000000000000", 128)
    assert prove(terms)["q_span_dimension"] == 64


def test_minimal_polynomials_agree() -> None:
    """sympy's degree of b**(-k/n) over Q tells the order of its class."""
    terms = forms.default(36, 12)
    x = sympy.Symbol("x")
    evidence = prove(terms)
    found = ratios(evidence)
    for k in range(1, 6):
        root = sympy.Integer(36) ** sympy.Rational(-k, 6)
        degree = sympy.degree(sympy.minimal_polynomial(root, x), x)
        assert ((0, k) in found) == (degree == 1)


def test_rational_factors_of_longrope_stay_in_their_class() -> None:
    factors = [1 + F(k, 37) for k in range(64)]
    evidence = prove(forms.longrope(10_000, factors))
    assert evidence["q_span_dimension"] == 16
    assert ratios(evidence)[0, 16] == 10 * factors[16] / factors[0]


def test_factors_can_make_any_two_ratios_rational() -> None:
    terms = [power((10, "-1/2")), power((1000, "1/2")), power((90, "1/2")), power((5, "1/2"))]
    evidence = prove(terms)
    assert evidence["classes"] == [[0, 1, 2]]
    assert [g["ratio"] for g in evidence["generators"]] == ["1/100", "10/3"]
    assert evidence["q_span_dimension"] == 2


def test_llama3_band_has_pi_in_it() -> None:
    terms = forms.llama3()
    assert any(isinstance(t, PiBlend) and t.constant for t in terms)
    evidence = prove(terms)
    assert evidence["q_span_dimension"] == 64
    assert evidence["torus_dimension"] == 64
    assert "powers of pi" in relations.prove(exhibit(terms)).method


def test_llama3_band_without_its_linear_part_has_rational_ratios() -> None:
    """factor 4 = high/low: theta' = B theta**2 / pi, so 8 channels apart make b**(1/4) = 10."""
    terms = forms.llama3(base=10_000, factor=4)
    band = [k for k, t in enumerate(terms) if isinstance(t, PiBlend)]
    assert len(band) > 8
    found = ratios(prove(terms))
    assert {pair for pair in found if set(pair) & set(band)} == {
        (k, k + 8) for k in band if k + 8 in band
    }
    assert found[band[0], band[0] + 8] == 10
    assert "powers of pi" in relations.prove(exhibit(terms)).method


def test_llama3_band_with_its_linear_part_has_none() -> None:
    terms = forms.llama3(base=10_000, factor=8)
    band = {k for k, t in enumerate(terms) if isinstance(t, PiBlend)}
    evidence = prove(terms)
    assert not any(set(members) & band for members in evidence["classes"])
    # The channels outside span the 16 classes of theta; beyond them the 9 blends are theta**2 / pi,
    # which has 8 classes.
    assert (len(band), evidence["q_span_dimension"]) == (9, 16 + 8)


def test_a_blend_is_independent_of_what_it_blends() -> None:
    theta = power((2, "1/2"))
    terms: list[Term] = [theta, PiBlend(theta, F(1, 8), F(3)), PiBlend(theta, F(1), F(0))]
    evidence = prove(terms)
    assert (evidence["q_span_dimension"], evidence["classes"]) == (2, [[0, 2]])
    scaled: list[Term] = [PiBlend(theta, F(1), F(2)), PiBlend(theta, F(2), F(4))]
    assert prove(scaled)["generators"] == [{"k": 0, "j": 1, "ratio": "1/2"}]


def test_sums_that_cancel_lower_the_dimension_without_any_rational_ratio() -> None:
    """a + c/pi, a and c/pi are three numbers, no two of them commensurable, in two dimensions."""
    theta = power((2, "1/2"))
    terms: list[Term] = [PiBlend(theta, F(1), F(1)), theta, PiBlend(theta, F(0), F(1))]
    evidence = prove(terms)
    assert (evidence["q_span_dimension"], evidence["classes"]) == (2, [])


def test_static_and_zero_channels_have_no_ratio() -> None:
    terms = forms.proportional(10_000, 4, 4)
    assert prove(terms, static=range(4, 8)) == prove(terms)
    assert prove([ZERO], static=[0]) == {
        "q_span_dimension": 0,
        "torus_dimension": 0,
        "classes": [],
        "generators": [],
    }


def test_all_axes_together() -> None:
    axes = [Axis("h", (0, 3)), Axis("w", (4, 7))]
    evidence = prove(forms.default(10**4, 8) * 2, axes=axes)
    assert evidence["q_span_dimension"] == 1
    assert evidence["classes"] == [list(range(8))]
    assert evidence["generators"][3] == {"k": 3, "j": 4, "ratio": "1/1000"}


def test_ramps_between_logarithms_are_undecided() -> None:
    claim = relations.prove(exhibit(forms.yarn()))
    assert claim.status is Status.UNDECIDED
    assert claim.evidence == {"reason": claim.method}
    assert "logarithms" in claim.method


def test_a_table_alone_is_undecided_however_rational_its_floats_are() -> None:
    claim = relations.prove(forms.formless([1.0, 0.5, 0.25]))
    assert (claim.status, claim.evidence) == (Status.UNDECIDED, {"reason": "no law is known"})


@given(st.permutations(list(range(12))))
def test_order_changes_nothing_but_names(order: list[int]) -> None:
    terms = forms.default(10**4, 24)
    plain, mixed = prove(terms), prove([terms[k] for k in order])
    assert mixed["q_span_dimension"] == plain["q_span_dimension"]
    renamed = {frozenset(order[k] for k in members) for members in mixed["classes"]}
    assert renamed == {frozenset(members) for members in plain["classes"]}


def test_negative_exponents_and_small_bases_mirror_each_other() -> None:
    down = prove(forms.default("1/10000", 32))
    up = prove(
        [Power(F(1), tuple((1 / r, e) for r, e in t.factors)) for t in forms.default("1/10000", 32)]
    )
    assert down["classes"] == up["classes"]
    assert [F(g["ratio"]) for g in down["generators"]] == [
        1 / F(g["ratio"]) for g in up["generators"]
    ]
