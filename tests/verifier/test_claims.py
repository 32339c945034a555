"""What the verifier decides by itself, against published numbers, sympy and mpmath."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import mpmath
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.certify import certify
from ropeaudit.exact.enclosure import affordable
from ropeaudit.verifier import laws, methods, numbers, structure, terms, verify
from ropeaudit.verifier.numbers import Undecided
from ropeaudit.verifier.schedules import Schedule
from ropeaudit.verifier.terms import Blend, Cutoff, Power, Ramp, Term
from tests.verifier.certificates import certificate, config, hashed


def schedule(form: Sequence[Term], groups: Sequence[Sequence[int]] = ()) -> Schedule:
    return Schedule(
        target="model",
        name="text",
        dtype="float32",
        table=[Fraction(1)] * len(form),
        groups=[list(g) for g in groups or [range(len(form))]],
        static=frozenset(),
        tolerance=8,
        terms=list(form),
        stated={},
        why_not=None,
    )


def ladder(base: int | Fraction, dim: int, **more: Any) -> Schedule:
    given_ = {"rope_theta": Fraction(base), "rotary_dim": dim, **more}
    law = "llama3" if "low_freq_factor" in more else "yarn" if "truncate" in more else "default"
    return schedule(laws.closed_form(law, given_, ""))


@pytest.mark.parametrize(
    ("base", "dim", "classes"),
    [
        *((10**4, 128, 16), (5 * 10**5, 128, 64), (10**6, 128, 32), (10**5, 64, 32)),
        *((10**4, 64, 8), (10**4, 256, 32), (10**6, 256, 64), (10**7, 128, 64)),
    ],
)
def test_published_dimensions(base: int, dim: int, classes: int) -> None:
    status, evidence = structure.relations(ladder(base, dim))
    assert status == "proved"
    assert evidence["q_span_dimension"] == evidence["torus_dimension"] == classes
    if (base, dim) == (10**6, 128):
        assert evidence["generators"][0] == {"k": 0, "j": 32, "ratio": "1000/1"}


@settings(max_examples=30)
@given(base=st.integers(2, 300), n=st.integers(2, 8))
def test_rational_ratios_are_those_of_sympy(base: int, n: int) -> None:
    _, evidence = structure.relations(ladder(base, 2 * n))
    found = {pair for c in evidence["classes"] for pair in combinations(c, 2)}
    for i, j in combinations(range(n), 2):
        exact = sympy.Integer(base) ** sympy.Rational(j - i, n)
        assert exact.is_Rational == ((i, j) in found)
    for g in evidence["generators"]:
        exact = sympy.Integer(base) ** sympy.Rational(g["j"] - g["k"], n)
        assert exact == sympy.Rational(g["ratio"])


def blend(base: int, k: int, n: int, constant: str, slope: str) -> Blend:
    theta = terms.power(Fraction(1), [(Fraction(base), Fraction(-k, n))])
    return Blend(theta, Fraction(constant), Fraction(slope))


def test_pi_adds_dimensions() -> None:
    """theta (1/8 + theta/pi) has a part of its own for each power of pi."""
    form = [blend(10, k, 4, "1/8", "1") for k in range(4)]
    _, evidence = structure.relations(schedule(form))
    # theta spans 1, 10**-1/4, .., theta**2/pi spans 1/pi, 10**-1/2/pi: four independent sums.
    assert evidence["q_span_dimension"] == 4
    assert evidence["torus_dimension"] == 4
    assert evidence["classes"] == []


def test_without_a_constant_blends_have_rational_ratios() -> None:
    """theta**2/pi with theta = 10**(-k/4): the ratio of k and k + 2 is 10."""
    form = [blend(10, k, 4, "0", "3") for k in range(4)]
    _, evidence = structure.relations(schedule(form))
    assert evidence["classes"] == [[0, 2], [1, 3]]
    assert [g["ratio"] for g in evidence["generators"]] == ["10/1", "10/1"]
    assert evidence["q_span_dimension"] == 2
    assert structure.geometric(schedule(form)) == ("proved", {"ratio": None})


def test_equal_blends_are_equal_and_alias() -> None:
    """(1/16)**(1/2) is 1/4: one number, spelled in two ways."""
    one = Blend(Power(Fraction(1), ((Fraction(16), Fraction(-1, 2)),)), Fraction(1), Fraction(2))
    two = Blend(Power(Fraction(1, 4)), Fraction(1), Fraction(2))
    made = schedule([one, two, blend(10, 1, 4, "1", "2")])
    status, evidence = structure.distinct(made)
    assert (status, evidence["duplicates"]) == ("refuted", [[0, 1]])
    assert structure.aliasing(made) == ("refuted", {"pairs": [[0, 1]]})
    apart = schedule([one, two, blend(10, 1, 4, "1", "2")], [[0, 2], [1]])
    assert structure.distinct(apart) == ("proved", {"channels": 3})


def test_geometric_runs_and_where_they_break() -> None:
    plain = [Power(Fraction(1, 2**k)) for k in (0, 1, 2, 4, 6, 8, 9)]
    status, evidence = structure.geometric(schedule(plain))
    assert (status, evidence["equal_runs"]) == ("refuted", [[0, 2], [2, 5]])
    assert evidence["first"] == 2
    yarn = ladder(
        10**6,
        128,
        factor=Fraction(4),
        original_max_position_embeddings=Fraction(32768),
        beta_fast=Fraction(32),
        beta_slow=Fraction(1),
        truncate=False,
    )
    status, evidence = structure.geometric(yarn)
    assert status == "refuted"
    assert [run[0] for run in evidence["equal_runs"]] == [0, 40]
    assert structure.distinct(yarn) == ("proved", {"channels": 64})


LLAMA3 = {
    "factor": Fraction(8),
    "low_freq_factor": Fraction(1),
    "high_freq_factor": Fraction(4),
    "original_max_position_embeddings": Fraction(8192),
}


def test_llama3_bands_are_those_of_mpmath() -> None:
    made = ladder(5 * 10**5, 128, **LLAMA3)
    assert made.terms is not None
    for k, term in enumerate(made.terms):
        wavelength = 2 * mpmath.pi * mpmath.mpf(500000) ** (mpmath.mpf(k) / 64)
        if wavelength > 8192:
            assert isinstance(term, Power)
            assert term.coefficient == Fraction(1, 8)
        elif wavelength < 2048:
            assert isinstance(term, Power)
            assert term.coefficient == 1
        else:
            assert isinstance(term, Blend)
    assert structure.aliasing(made) == ("proved", {"channels": 64})


@settings(max_examples=30)
@given(
    k=st.integers(1, 30),
    constant=st.fractions(0, 2, max_denominator=50),
    slope=st.fractions(0, 2000, max_denominator=50),
    factor=st.fractions(1, 50, max_denominator=50),
    turns=st.fractions(10, 4000, max_denominator=50),
)
def test_enclosures_hold_what_mpmath_computes(
    k: int, constant: Fraction, slope: Fraction, factor: Fraction, turns: Fraction
) -> None:
    mp = mpmath.MPContext()
    mp.prec = 300

    def real(value: Fraction) -> Any:
        return mp.mpf(value.numerator) / value.denominator

    theta = terms.power(Fraction(1), [(Fraction(10**6), Fraction(-k, 64))])
    exact = mp.power(10, mp.mpf(-6 * k) / 64)
    lo, hi = terms.enclosure(Blend(theta, constant, slope), 160)
    value = exact * (real(constant) + real(slope) * exact / mp.pi)
    assert real(lo) <= value <= real(hi)
    low, high = Cutoff(128, turns, Fraction(10**6)), Fraction(127)
    cut = 128 * mp.ln(real(turns) / (2 * mp.pi)) / (2 * mp.ln(10**6))
    rise = (k - cut) / (127 - cut)
    lo, hi = terms.enclosure(Ramp(theta, k, low, high, factor), 160)
    value = exact * (1 - rise + rise / real(factor))
    assert real(lo) <= value <= real(hi)
    assert real(hi - lo) < abs(value) / 2**120


def test_ramps_that_cannot_be_told_apart_are_undecided() -> None:
    theta = Power(Fraction(1, 2))
    ramp = Ramp(theta, 3, Cutoff(8, Fraction(50), Fraction(10)), Fraction(7), Fraction(4))
    for claim in (structure.distinct, structure.aliasing):
        with pytest.raises(Undecided):
            claim(schedule([ramp, ramp]))


def test_sums_beyond_a_turn_are_looked_at_one_by_one() -> None:
    """Channels above pi need not alias; 7 and a ramp near 0.7 are no turn apart."""
    ramp = Ramp(
        Power(Fraction(1)), 3, Cutoff(8, Fraction(50), Fraction(10)), Fraction(7), Fraction(4)
    )
    made = schedule([Power(Fraction(7)), ramp, Power(Fraction(20))])
    assert structure.aliasing(made) == ("proved", {"channels": 3})


@pytest.mark.parametrize(
    ("name", "claim", "change"),
    [
        ("base_1", "distinct", {"status": "proved", "evidence": {"channels": 4}}),
        ("base_1", "aliasing", {"status": "proved", "evidence": {"channels": 4}}),
        ("default", "distinct", {"status": "undecided", "evidence": {"reason": "none"}}),
        ("llama3", "geometric", {"status": "proved", "evidence": {"ratio": None}}),
        ("yarn_logarithms", "relations", {"status": "proved"}),
        ("quantised", "form", {"status": "proved", "evidence": {"max_ulp": 0.0}}),
        ("quantised", "distinct:float32", {"status": "proved"}),
        ("quantised", "recovery", {"status": "proved"}),
    ],
)
def test_forged_claims_are_refused(
    name: str, claim: str, change: dict[str, Any], tmp_path: Path
) -> None:
    document = certificate(name, tmp_path)
    claims = [c | change if c["claim"] == claim else c for c in document["claims"]]
    result = verify(hashed({**document, "claims": claims}))
    assert result.kind == "refused"
    place = [c["claim"] for c in claims].index(claim)
    assert result.message.startswith(f"/claims/{place}/")
    assert "expected" in result.message


def test_another_schedule_under_its_own_digest_is_refused(tmp_path: Path) -> None:
    """All terms changed with the parameters: then the table is no longer theirs."""
    document = certificate("default", tmp_path)
    other = json.loads(json.dumps(document).replace("10000", "10100"))
    assert verify(hashed(other)).kind == "refused"


def test_generators_generate(tmp_path: Path) -> None:
    document = certificate("default", tmp_path)
    found = next(c for c in document["claims"] if c["claim"] == "relations")["evidence"]
    assert found["classes"] == [[0, 1, 2, 3]]
    assert [(g["k"], g["j"]) for g in found["generators"]] == [*pairwise(range(4))]


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """No precision at all for what needs an enclosure."""
    monkeypatch.setattr(numbers, "PRECISIONS", ())
    terms.ends.cache_clear()


def test_what_the_verifier_cannot_decide_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = certificate("odd_base", tmp_path)
    monkeypatch.setattr(numbers, "PRECISIONS", (8, 16, 32))  # a float32 in thousandths needs more
    monkeypatch.setattr(numbers, "_SPARE", 0)
    result = verify(json.dumps(document))
    assert result.kind == "refused"
    assert result.message.startswith("/claims/0/evidence: enclosures as narrow as")
    reason = methods.NOT_NARROW
    open_ = {"status": "undecided", "method": reason, "evidence": {"reason": reason, "bits": 16}}
    first, *others = document["claims"]
    result = verify(hashed({**document, "claims": [first | open_, *others]}))
    assert (result.kind, result.undecided) == ("verified", 1)
    for bits in (-1, 8, 32, 4096):
        forged = open_ | {"evidence": {"reason": reason, "bits": bits}}
        assert verify(hashed({**document, "claims": [first | forged, *others]})).kind == "refused"
    monkeypatch.undo()
    said = verify(hashed({**document, "claims": [first | open_, *others]})).message
    assert said == '/claims/0/status: expected "proved", found "undecided"'


def test_the_verifier_looks_twice_as_closely_as_the_prover() -> None:
    for channels in (1, 64, 127, 128, 129, 256, 257, 512, 513, 1024, 1025, 5000, 65_536):
        assert numbers.most(channels) == 2 * affordable(channels)


@pytest.mark.parametrize("zeros", [60, 200])
def test_wide_tables_that_need_many_bits_are_verified(zeros: int, tmp_path: Path) -> None:
    """A base next to 1 leaves channels that 256 bits do not tell from 1."""
    target = tmp_path / "config.json"
    text = json.dumps(config("default") | {"head_dim": 2080, "rope_theta": "base"})
    target.write_text(text.replace('"base"', f"1.{'0' * zeros}1"))
    made = certify([str(target)])
    assert verify(made.to_json()).kind == "verified"
    status = {c.claim: c.status for c in made.claims}
    assert status["form"] == ("proved" if zeros <= 60 else "undecided")
    assert status["distinct"] == "proved"


@pytest.mark.parametrize("name", ["llama3", "yarn", "yarn_logarithms"])
def test_terms_that_cannot_be_derived_are_refused(name: str, tmp_path: Path, coarse: None) -> None:
    result = verify(json.dumps(certificate(name, tmp_path)))
    assert result.kind == "refused"
    assert result.message.startswith("/schedules/0/form/parameters: enclosures as narrow as")
