"""Rounding in plain Python against numpy and torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.schedule.float32 import (
    FORMATS,
    f32,
    f32s,
    on_grid,
    ordinal,
    round_to,
    ulp_distance,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=300)
@given(finite)
def test_f32_is_numpy_float32(value: float) -> None:
    with np.errstate(over="ignore"):
        expected = float(np.float32(value))
    assert f32(value) == expected
    assert f32s([value]) == [expected]
    assert round_to(value, "float32") == expected


@settings(max_examples=300)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3", "float8_e5m2"])
def test_narrow_formats_are_torch_casts(dtype: str, value: float) -> None:
    torch = pytest.importorskip("torch")
    kind = getattr(torch, {"float8_e4m3": "float8_e4m3fn"}.get(dtype, dtype))
    expected = torch.tensor(value, dtype=torch.float32).to(kind).double().item()
    got = round_to(value, dtype)
    assert got == expected or (math.isnan(got) and math.isnan(expected))
    if math.isfinite(got):
        assert on_grid(got, dtype)


@settings(max_examples=200)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_next_float_is_one_ulp_away(value: float) -> None:
    with np.errstate(over="ignore"):
        after = float(np.nextafter(np.float32(value), np.float32(np.inf)))
    if math.isfinite(after):
        assert ulp_distance(value, after) == 1
        assert ordinal(after) - ordinal(value) == 1


def test_nan_has_no_distance() -> None:
    assert ulp_distance(math.nan, 1.0) is None


def test_zeros_are_one_point() -> None:
    assert ulp_distance(0.0, -0.0) == 0


@pytest.mark.parametrize("dtype", sorted(FORMATS))
def test_zero_stands_among_the_smallest_numbers(dtype: str) -> None:
    """Its neighbours are the smallest number and its negative: half of that rounds to it."""
    step = FORMATS[dtype].spacing(0.0)
    assert round_to(step, dtype) == step == FORMATS[dtype].spacing(-0.0)
    assert round_to(step / 2, dtype) == 0
    assert round_to(step * 0.75, dtype) == step
