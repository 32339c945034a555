"""Recovery: any parameters of any law are found again from the table."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.proofs.recovered import DTYPES, LENGTH, found
from tests.schedules import cast, plain, scaled


@settings(max_examples=80)
@given(
    st.integers(1, 999),
    st.integers(1, 8),
    st.sampled_from([8, 16, 20, 24, 32, 64, 80, 96, 128, 192, 256, 512]),
    st.sampled_from(DTYPES),
)
def test_any_short_base_is_found(digits: int, power: int, dim: int, dtype: str) -> None:
    base = float(f"{digits}e{power}")
    assume(base >= 100)
    fit = found(cast(plain(base, dim), dtype).inv_freq)
    assert fit["rotary_dim"] == dim
    if dtype == "float32":
        assert (fit["rope_type"], fit["rope_theta"], fit["max_ulp"]) == ("default", base, 0)
    else:  # a shorter base may round to the same table
        assert len(str(fit["rope_theta"]).strip("0")) <= len(str(digits)) or fit["max_ulp"] <= 1


@settings(max_examples=60)
@given(st.floats(2, 1e12), st.sampled_from([32, 64, 128, 256]))
@example(3580165449.0, 128)
@example(2.0**31 - 1, 128)
@example(1e9 + 7, 128)
@example(10000.5, 128)
def test_any_base_is_found_as_far_as_float32_holds_it(base: float, dim: int) -> None:
    fit = found(plain(base, dim).inv_freq)
    assert fit["max_ulp"] <= 2
    assert fit["rope_theta"] == pytest.approx(base, rel=4e-7)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [9, 21, 33, 127])
def test_an_odd_width_is_told_by_its_shorter_base(dim: int, dtype: str) -> None:
    """GLM-4 MoE's default config turns 21 dimensions in 11 channels."""
    fit = found(cast(plain(1e4, dim), dtype).inv_freq)
    fits = [(f["rope_theta"], f["rotary_dim"]) for f in (fit, *fit["ambiguous"])]
    assert (1e4, dim) in (fits[:1] if dtype == "float32" else fits)


lengths = st.sampled_from([2048, 4096, 8192, 16384, 32768, 65536, 5000, 10000])
factors = st.sampled_from([1.5, 2, 2.5, 3, 4, 8, 16, 32, 40, 64])
bases = st.sampled_from([1e5, 150000, 5e5, 1e6, 8e6, 1e7])
widths = st.sampled_from([64, 80, 96, 128, 192, 256])


@settings(max_examples=60)
@given(bases, widths, factors, lengths, st.booleans(), st.sampled_from(["float32", "bfloat16"]))
def test_any_yarn_table_is_found(
    base: float, dim: int, factor: float, length: int, truncate: bool, dtype: str
) -> None:
    scaling = {"factor": factor, LENGTH: length, "truncate": truncate}
    law = scaled("yarn", base, dim, scaling=scaling)
    low, high = law.parameters["ramp"]
    assume(low >= 2 and high < dim // 2 - 2)
    fit = found(cast(law, dtype).inv_freq)
    assert (fit["rope_type"], fit["rope_theta"]) == ("yarn", base)
    assert fit["parameters"]["factor"] == factor
    if dtype == "float32":
        assert fit["parameters"]["truncate"] is truncate
        again = scaled("yarn", base, dim, scaling=fit["parameters"])
        assert again.parameters["ramp"] == pytest.approx((low, high), abs=1e-4)


@settings(max_examples=60)
@given(
    bases, widths, factors, lengths, st.sampled_from([2, 4, 8]), st.sampled_from(DTYPES[:2])
)  # fmt: skip
def test_any_llama3_table_is_found(
    base: float, dim: int, factor: float, length: int, high: float, dtype: str
) -> None:
    scaling = {
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": high,
        LENGTH: length,
    }
    law = scaled("llama3", base, dim, scaling=scaling)
    between = [
        v for v, p in zip(law.inv_freq, plain(base, dim).inv_freq, strict=True)
        if p / factor * 1.01 < v < p * 0.99
    ]  # fmt: skip
    assume(len(between) >= 2 and length < 2 * math.pi * base / 2)
    fit = found(cast(law, dtype).inv_freq)
    assert (fit["rope_type"], fit["rope_theta"]) == ("llama3", base)
    assert fit["parameters"]["factor"] == factor
    if dtype == "float32":
        assert fit["parameters"] == scaling


@settings(max_examples=40)
@given(bases, widths, st.integers(2, 400), st.sampled_from(DTYPES[:2]))
def test_any_linear_table_is_found(base: float, dim: int, tenths: int, dtype: str) -> None:
    assume(tenths != 10)
    factor = tenths / 10
    law = scaled("linear", base, dim, scaling={"factor": factor})
    fit = found(cast(law, dtype).inv_freq)
    assert (fit["rope_type"], fit["rope_theta"]) == ("linear", base)
    assert fit["parameters"]["factor"] == pytest.approx(factor, rel=1e-2)
    if dtype == "float32":
        assert fit["parameters"]["factor"] == factor
