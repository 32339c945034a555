"""Equal log gaps: default tables have them exactly, scaled ones lose them at their bands."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.exact.terms import ZERO, Cutoff, PiBlend, Power, Ramp, Term
from ropeaudit.proofs import geometric
from ropeaudit.proofs.interface import Claim, Status
from ropeaudit.schedule.core import Axis
from tests.proofs import forms
from tests.proofs.forms import exhibit, power


def prove(terms: list[Any], **kw: Any) -> Claim:
    return geometric.prove(exhibit(terms, **kw))


@pytest.mark.parametrize("base", [10_000, "20001/2", 2**31 - 1, "1/3"])
def test_default_tables(base: forms.Number) -> None:
    claim = prove(forms.default(base, 128))
    assert (claim.claim, claim.status) == ("geometric", Status.PROVED)
    ratio = {"coefficient": "1", "factors": [[str(base), "1/64"]]}
    assert claim.evidence == {"ratio": ratio}


def test_ntk_tables_have_both_radicals_in_their_ratio() -> None:
    claim = prove(forms.ntk(10**6, 4, 64))
    assert claim.evidence == {
        "ratio": {"coefficient": "1", "factors": [["1000000", "1/32"], ["4", "1/31"]]}
    }


def test_ratios_are_compared_by_value_and_not_by_spelling() -> None:
    terms = [power(), power((4, "-1/2")), power(scale="1/4"), power((2, -3)), power((16, "-1"))]
    claim = prove(terms)
    assert claim.evidence == {"ratio": {"coefficient": "1", "factors": [["4", "1/2"]]}}


def test_base_one_is_geometric_with_ratio_one() -> None:
    claim = prove(forms.default(1, 8))
    assert claim.evidence == {"ratio": {"coefficient": "1", "factors": []}}


def test_a_longrope_table_is_refuted_with_its_first_step() -> None:
    claim = prove(forms.longrope(10_000, [1, 1, 1, 2, 2, 2, 2, 3]))
    assert claim.status is Status.REFUTED
    assert claim.evidence == {"ratio": None, "equal_runs": [[0, 2], [3, 6]], "first": 2}


def test_llama3_keeps_the_ratio_outside_its_band() -> None:
    terms = forms.llama3()
    band = [k for k, t in enumerate(terms) if isinstance(t, PiBlend)]
    claim = prove(terms)
    assert claim.evidence == {
        "ratio": None,
        "equal_runs": [[0, band[0] - 1], [band[-1] + 1, 63]],
        "first": band[0] - 1,
    }
    assert "powers of pi" in claim.method


def test_a_band_that_is_a_square_is_geometric_inside() -> None:
    """Without its linear part llama3's blend is B theta**2 / pi, with the square of the ratio."""
    terms = forms.llama3(factor=4)
    band = [k for k, t in enumerate(terms) if isinstance(t, PiBlend)]
    runs = prove(terms).evidence["equal_runs"]
    assert [band[0], band[-1]] in runs
    whole: list[Term] = [PiBlend(t, F(0), F(5)) for t in forms.default(10**6, 128)]
    claim = prove(whole)
    assert (claim.status, claim.evidence) == (Status.PROVED, {"ratio": None})


def test_yarn_is_refuted_by_enclosures() -> None:
    terms = forms.yarn()
    band = [k for k, t in enumerate(terms) if isinstance(t, Ramp)]
    claim = prove(terms)
    assert claim.evidence == {
        "ratio": None,
        "equal_runs": [[0, band[0] - 1], [band[-1] + 1, 63]],
        "first": band[0] - 1,
    }
    assert "disjoint enclosures" in claim.method


def test_enclosures_never_prove() -> None:
    """Three equal ramps have the ratio 1, which enclosures can only fail to refute."""
    ends = Cutoff(64, F(9), F(10)), Cutoff(64, F(90), F(10))
    ramp = Ramp(power((10, "-1/2")), 20, *ends, F(4))
    claim = prove([ramp] * 3, bits=256)
    reason = "The enclosures are not narrow enough to decide."
    assert (claim.status, claim.method) == (Status.UNDECIDED, reason)
    assert claim.evidence == {"reason": reason, "bits": 256}
    partly = prove([ramp] * 3 + forms.longrope(7, [1, 1, 1, 2]), bits=256)
    assert partly.status is Status.REFUTED
    assert [0, 2] not in partly.evidence["equal_runs"]


def test_a_ratio_that_is_equal_behind_logarithms_is_not_refuted() -> None:
    claim = prove([power(), forms.disguised(power()), power(scale="49/16")], bits=128)
    assert (claim.status, claim.evidence["bits"]) == (Status.UNDECIDED, 128)
    other = prove([power(), forms.disguised(power()), power(scale="50/16")], bits=128)
    assert other.evidence == {"ratio": None, "equal_runs": [], "first": 1}


def test_each_axis_has_its_own_ratio() -> None:
    axes = [Axis("h", (0, 3)), Axis("w", (4, 6)), Axis("t", (7, 7))]
    terms = [*forms.default(100, 8), *forms.default(7, 6), power()]
    claim = prove(terms, axes=axes)
    assert claim.status is Status.PROVED
    assert claim.evidence["ratio"] == [
        {"coefficient": "1", "factors": [["100", "1/4"]]},
        {"coefficient": "1", "factors": [["7", "1/3"]]},
        None,
    ]
    broken = prove([*terms[:5], power(scale="1/5"), *terms[6:]], axes=axes)
    assert broken.evidence == {"ratio": None, "equal_runs": [[0, 3]], "first": 5}


def test_static_channels_are_left_out_and_zeros_have_no_ratio() -> None:
    terms = forms.proportional(10_000, 4, 2)
    assert prove(terms, static=[4, 5]).status is Status.PROVED
    claim = prove(terms)
    assert claim.evidence == {"ratio": None, "equal_runs": [[0, 3]], "first": 3}
    assert prove([power(), ZERO]).evidence == {"ratio": None, "equal_runs": [], "first": 0}
    assert prove([ZERO, ZERO, ZERO]).status is Status.REFUTED


def test_few_channels() -> None:
    assert prove([power()]).evidence == {"ratio": None}
    assert prove([ZERO], static=[0]).evidence == {"ratio": None}
    assert prove([power(), power(scale="1/3")]).evidence == {
        "ratio": {"coefficient": "3", "factors": []}
    }


def test_unsorted_tables_are_refuted() -> None:
    terms = forms.default(100, 8)
    claim = prove([terms[1], terms[0], terms[2], terms[3]])
    assert claim.evidence == {"ratio": None, "equal_runs": [], "first": 1}


def test_without_a_closed_form_nothing_decides() -> None:
    claim = geometric.prove(forms.formless([1.0, 0.5, 0.25]))
    assert (claim.status, claim.evidence) == (Status.UNDECIDED, {"reason": "no law is known"})


steps = st.sampled_from([F(1, 2), F(1, 3), F(3, 4)])


@given(st.lists(steps, max_size=9))
def test_against_fractions(gaps: list[F]) -> None:
    values = [F(1)]
    for gap in gaps:
        values.append(values[-1] * gap)
    claim = prove([Power(value) for value in values])
    first = next((i for i in range(1, len(gaps)) if gaps[i] != gaps[i - 1]), None)
    if first is None:
        assert claim.status is Status.PROVED
        return
    assert claim.evidence["first"] == first
    for start, end in claim.evidence["equal_runs"]:
        assert end - start >= 2
        assert len(set(gaps[start:end])) == 1
        assert start == 0 or gaps[start - 1] != gaps[start]
        assert end == len(gaps) or gaps[end] != gaps[start]
