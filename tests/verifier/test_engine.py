"""The verifier's own float32 arithmetic gives the tables that the laws build."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.schedule.families import Inputs, family
from ropeaudit.verifier import engine

LLAMA3 = {
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
YARN = {
    "factor": 4.0,
    "original_max_position_embeddings": 32768,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
}
BASES = st.floats(1.5, 1e9) | st.integers(2, 10**12) | st.sampled_from([1e4, 5e5, 1e6, 2**31 - 1])


def built(law: str, base: float, dim: int, scaling: dict[str, Any], **kw: Any) -> tuple[float, ...]:
    module = family(law)
    assert module is not None
    return module.build(
        Inputs(rope_theta=base, rotary_dim=dim, head_dim=dim, scaling=scaling, **kw)
    ).inv_freq


def emulated(law: str, base: float, dim: int, scaling: dict[str, Any]) -> list[list[float]]:
    exact = {k: v if isinstance(v, bool) else Fraction(repr(v)) for k, v in scaling.items()}
    table = engine.table(law, {"rope_theta": Fraction(repr(base)), "rotary_dim": dim, **exact})
    assert table is not None
    return [[float(v) for v in choices] for choices in table]


def agree(found: list[list[float]], expected: tuple[float, ...]) -> None:
    assert len(found) == len(expected)
    assert all(value in choices for choices, value in zip(found, expected, strict=True))
    # A choice is as rare as a float64 within 2**-50 of the middle of two float32.
    assert sum(len(choices) > 1 for choices in found) <= 1


@pytest.mark.parametrize("dim", [2, 32, 64, 96, 128, 129, 160])
@pytest.mark.parametrize("base", [10000, 500000.0, 1e6, 8e6, 10000.5, 2**31 - 1, 0.5])
def test_default_tables(base: float, dim: int) -> None:
    agree(emulated("default", base, dim, {}), built("default", base, dim, {}))


@settings(max_examples=20)
@given(base=BASES, dim=st.integers(1, 40), factor=st.floats(0.1, 100))
def test_linear_tables(base: float, dim: int, factor: float) -> None:
    scaling = {"factor": factor}
    agree(emulated("linear", base, dim, scaling), built("linear", base, dim, scaling))


@settings(max_examples=20)
@given(
    base=BASES,
    factor=st.floats(1, 64),
    low=st.floats(0.5, 4),
    high=st.floats(1, 16),
    original=st.integers(256, 200_000),
)
def test_llama3_tables(base: float, factor: float, low: float, high: float, original: int) -> None:
    scaling = LLAMA3 | {
        "factor": factor,
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": original,
    }
    agree(emulated("llama3", base, 64, scaling), built("llama3", base, 64, scaling))


@settings(max_examples=20)
@given(
    base=BASES,
    factor=st.floats(1, 64),
    fast=st.floats(0.5, 64),
    slow=st.floats(0.1, 8),
    original=st.integers(256, 200_000),
    truncate=st.booleans(),
)
def test_yarn_tables(
    base: float, factor: float, fast: float, slow: float, original: int, truncate: bool
) -> None:
    scaling: dict[str, Any] = {
        "factor": factor,
        "original_max_position_embeddings": original,
        "beta_fast": fast,
        "beta_slow": slow,
        "truncate": truncate,
    }
    agree(emulated("yarn", base, 64, scaling), built("yarn", base, 64, scaling))


@pytest.mark.parametrize(("dim", "share"), [(512, 0.25), (128, 0.3), (64, 1.0), (64, 0.0)])
def test_proportional_tables(dim: int, share: float) -> None:
    found = emulated("proportional", 1e6, dim, {"factor": 2.0, "partial_rotary_factor": share})
    expected = built("proportional", 1e6, dim, {"factor": 2.0}, partial_rotary_factor=share)
    agree(found, expected)


def test_what_float32_cannot_hold_is_no_table() -> None:
    plain = {"rope_theta": Fraction(10) ** 60, "rotary_dim": 8}
    assert engine.table("default", plain) is None
    assert engine.table("default", plain | {"rope_theta": Fraction(1, 10**60)}) is None
    tiny = {"rope_theta": Fraction(10**4), "rotary_dim": 8, "factor": Fraction(1, 10**60)}
    assert engine.table("linear", tiny) is None


def test_a_power_in_the_middle_of_two_float32_leaves_both() -> None:
    """(1 + 2**-24)**2 squared would be exact; its square root lies in the middle."""
    middle = 1 + Fraction(1, 1 << 24)
    assert engine._choices(middle, middle) == [1, 1 + Fraction(1, 1 << 23)]
    beside = middle * (1 + Fraction(1, 1 << 40))
    assert engine._choices(beside, beside) == [1 + Fraction(1, 1 << 23)]
