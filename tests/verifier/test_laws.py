"""The verifier's laws against those of the prover, which share no code with them."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue
from ropeaudit.exact import encoding
from ropeaudit.exact.inputs import ExactInputs
from ropeaudit.schedule.families import family
from ropeaudit.verifier import laws, terms
from ropeaudit.verifier.reading import Refused

Scaling = dict[str, Any]


def proved(law: str, base: F, dim: int, scaling: Scaling, **more: Any) -> tuple[Any, Any]:
    """Parameters and terms as the prover spells them."""
    module: Any = family(law)
    given_ = ExactInputs(
        **{"rope_theta": base, "rotary_dim": dim, "head_dim": dim, "scaling": scaling} | more
    )
    form = module.closed_form(given_)
    return encoding.parameters(form), [encoding.term(t) for t in form.terms]


def agree(law: str, base: F, dim: int, scaling: Scaling, **more: Any) -> None:
    parameters, expected = proved(law, base, dim, scaling, **more)
    found = laws.closed_form(law, laws.parameters(law, parameters, ""), "")
    assert [terms.spelled(t) for t in found] == expected


OTHERS: list[tuple[str, Scaling, dict[str, Any]]] = [
    ("default", {}, {}),
    ("linear", {"factor": F(5, 2)}, {}),
    ("proportional", {"factor": F(3)}, {"partial_rotary_factor": F(3, 10)}),
    ("proportional", {}, {"partial_rotary_factor": F(0)}),
    ("dynamic", {"factor": F(2)}, {"max_position_embeddings": F(2048), "length": 5000}),
    ("dynamic", {"factor": F(2)}, {"max_position_embeddings": F(2048)}),
    ("ntk_alpha", {"alpha": F(1000)}, {}),
    ("ntk_fixed", {"factor": F(8)}, {}),
    ("axial", {}, {}),
    ("axial_thirds", {}, {}),
    ("axial_dealt", {}, {}),
    ("ernie_3d", {"mrope_section": (F(4), F(4), F(4))}, {}),
    ("dinov3", {}, {}),
    ("ladders", {"axes_dim": (F(8), F(6), F(10))}, {}),
    (
        "longrope",
        {
            "short_factor": (F(1), F(3, 2)) * 6,
            "long_factor": (F(2),) * 12,
            "original_max_position_embeddings": F(4096),
        },
        {},
    ),
]


@pytest.mark.parametrize(("law", "scaling", "more"), OTHERS)
@pytest.mark.parametrize("base", [F(10**4), F(20001, 2), F(1), F(1, 2)])
def test_laws_without_pi(law: str, scaling: Scaling, more: dict[str, Any], base: F) -> None:
    agree(law, base, 24, scaling, **more)


def test_every_law_has_a_test() -> None:
    assert {law for law, _, _ in OTHERS} | {"yarn", "llama3"} == set(laws.PARAMETERS)


BASES = st.sampled_from([F(10**4), F(5 * 10**5), F(1, 2), F(20001, 2), F(2)])
FACTORS = st.sampled_from([F(1), F(4), F(1, 2), F(37, 10), F(40)])
LENGTHS = st.sampled_from([F(32), F(512), F(2001, 2), F(32768)])
TURNS = st.fractions(F(1, 20), 64, max_denominator=20)


@settings(max_examples=25)
@given(base=BASES, factor=FACTORS, length=LENGTHS, low=TURNS, high=TURNS)
def test_llama3(base: F, factor: F, length: F, low: F, high: F) -> None:
    scaling = {
        "factor": factor,
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": length,
    }
    agree("llama3", base, 32, scaling)


@settings(max_examples=30)
@given(base=BASES, factor=FACTORS, length=LENGTHS, fast=TURNS, slow=TURNS, truncate=st.booleans())
def test_yarn(base: F, factor: F, length: F, fast: F, slow: F, truncate: bool) -> None:
    assume(fast != slow or truncate)
    agree("yarn", base, 32, yarn(factor, length, fast, slow, truncate))


def yarn(factor: F, length: F, fast: F, slow: F, truncate: bool) -> Scaling:
    return {
        "factor": factor,
        "original_max_position_embeddings": length,
        "beta_fast": fast,
        "beta_slow": slow,
        "truncate": truncate,
    }


def test_yarn_between_equal_turns() -> None:
    """Rounded, the ramp is one channel wide; else it would be a thousandth of one."""
    agree("yarn", F(10**4), 32, yarn(F(4), F(512), F(2), F(2), truncate=True))
    scaling = yarn(F(4), F(512), F(2), F(2), truncate=False)
    with pytest.raises(InvalidValue, match="thousandth"):
        proved("yarn", F(10**4), 32, scaling)
    parameters, _ = proved("yarn", F(10**4), 32, scaling | {"beta_slow": F(1)})
    with pytest.raises(Refused, match="thousandth"):
        laws.closed_form("yarn", laws.parameters("yarn", parameters | {"beta_slow": "2"}, ""), "")


@pytest.mark.parametrize(
    ("law", "change", "said"),
    [
        ("linear", {"factor": "0"}, "a number above 0"),
        ("linear", {"factor": None}, "an exact number"),
        ("linear", {"factor": "2/2"}, "lowest terms"),
        ("proportional", {"partial_rotary_factor": "-1/2"}, "at least 0"),
        ("dynamic", {"length": 5}, "length is below"),
        ("dynamic", {"rotary_dim": 2}, "no second radical"),
        ("yarn", {"rope_theta": "1"}, "no ramp for base 1"),
        ("yarn", {"rotary_dim": 31}, "odd width"),
        ("yarn", {"truncate": 1}, "true or false"),
        ("longrope", {"factors": ["1"]}, "1 entries for 12 channels"),
        ("longrope", {"factors": "1"}, "a list"),
        ("longrope", {"factors": ["1"] * 65_537}, "at most 65536 entries"),
        ("ernie_3d", {"mrope_section": ["1/2", "7/2", "8"]}, "three counts"),
        ("ladders", {"axes_dim": ["1/2"]}, "widths of a head"),
        ("ladders", {"axes_dim": ["200000"]}, "widths of a head"),
    ],
)
def test_parameters_that_state_no_form(law: str, change: dict[str, Any], said: str) -> None:
    made = {name: (scaling, more) for name, scaling, more in OTHERS[::-1]}
    made["yarn"] = (yarn(F(4), F(512), F(32), F(1), truncate=True), {})
    scaling, more = made[law]
    parameters, _ = proved(law, F(10**4), 24, scaling, **more)
    with pytest.raises(Refused, match=said):
        laws.closed_form(law, laws.parameters(law, parameters | change, ""), "")
