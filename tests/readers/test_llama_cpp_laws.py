"""Tables of llama.cpp against closed forms, and laws read off factor tensors."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.readers.llama_cpp.arithmetic import Rotation, closed_form, corr_dims, stray
from ropeaudit.readers.llama_cpp.factors import llama3_law
from ropeaudit.schedule.float32 import f32, f32s
from tests.gguf_readings import SHAPE, build, llama3_factors


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    base=st.floats(1.5, 1e9, width=32),
    half=st.integers(1, 130),
    factor=st.sampled_from([1.0, 2.0, 8.0, 3.3]),
)
def test_table_is_the_correctly_rounded_closed_form(base: float, half: int, factor: float) -> None:
    table = closed_form(Rotation(base=base, dim=2 * half, factor=factor))
    with mpmath.workdps(40):
        for k in (0, 1, half // 2, half - 1):
            if k < half:
                exact = mpmath.power(base, -mpmath.mpf(k) / half) / mpmath.mpf(factor)
                assert table[k] == f32(float(exact))


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    half=st.integers(2, 128),
    base=st.floats(100, 1e8, width=32),
    factor=st.floats(1, 64, width=32),
    ext=st.sampled_from([0.0, 0.5, 1.0]),
    original=st.integers(128, 200_000),
)
def test_yarn_mixes_by_whole_channels(
    half: int, base: float, factor: float, ext: float, original: int
) -> None:
    dim = 2 * half
    ramp = corr_dims(dim, base, original, 32.0, 1.0)
    table = closed_form(Rotation(base=base, dim=dim, factor=factor, ext=ext, ramp=ramp))
    theta = float(base) ** (-np.arange(half) / half)
    low = max(0, math.floor(half * math.log(original / (32 * 2 * math.pi)) / math.log(base)))
    high = min(dim - 1, math.ceil(half * math.log(original / (2 * math.pi)) / math.log(base)))
    rise = np.clip((np.arange(half) - low) / max(0.001, high - low), 0, 1)
    mix = ext * (1 - rise)
    wanted = theta / factor * (1 - mix) + theta * mix
    assert np.allclose(table, wanted, rtol=1e-7, atol=0)


def test_stray_is_what_float32_steps_give() -> None:
    """numpy's float32 arithmetic, step by step, as the kernel's loop runs."""
    for base, dim in ((1e4, 128), (1e6, 256), (5e5, 64)):
        # The C library's powf is correctly rounded here; numpy's may be one ulp off.
        step = np.float32(base ** float(np.float32(-2.0 / dim)))
        theta, values = np.float32(1), []
        for _ in range(dim // 2):
            values.append(theta)
            theta = np.float32(theta * step)
        exact = np.array(closed_form(Rotation(base=base, dim=dim)))
        worst = float(np.max(np.abs(np.array(values, dtype=np.float64) / exact - 1)))
        assert stray(Rotation(base=base, dim=dim)) == pytest.approx(worst, rel=1e-3)
        assert 1e-7 < worst < 3e-6


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    factor=st.sampled_from([2.0, 8.0, 16.0, 32.0]),
    high=st.floats(2.0, 8.0),
    original=st.integers(2048, 65536),
    base=st.sampled_from([5e5, 1e6, 1e5]),
    dim=st.sampled_from([64, 128, 256]),
)
def test_llama3_scaling_is_recognised(
    factor: float, high: float, original: int, base: float, dim: int
) -> None:
    divisors = tuple(f32s(llama3_factors(dim, base, factor, 1.0, high, original)))
    law = llama3_law(divisors, base)
    assert law is not None
    if sum(1 < v < factor for v in divisors) > 1:
        assert law["factor"] == factor
        assert law["high_freq_factor"] == pytest.approx(high, rel=1e-3)
        assert law["original_max_position_embeddings"] == pytest.approx(original, rel=1e-3)
    else:
        assert law == {"factor": factor}


@pytest.mark.parametrize(
    "divisors",
    [
        [1.0] * 32,
        [2.0] * 32,
        [1.0, 3.0, 1.0] + [8.0] * 29,
        [1.0] * 10 + [1.5, 2.5, 2.0, 4.0] + [8.0] * 18,
        [8.0] * 16 + [1.0] * 16,
        [1.0] * 31 + [math.inf],
        [1.0] * 31 + [math.nan],
        [0.0] * 32,
    ],
)
def test_other_divisors_are_no_llama3_scaling(divisors: list[float]) -> None:
    assert llama3_law(tuple(divisors), 5e5) is None


def test_published_llama_31_gives_the_published_numbers() -> None:
    factors = llama3_factors(128, 5e5, 8.0, 1.0, 4.0, 8192)
    (schedule,) = build(
        "llama",
        SHAPE | {"context_length": 131072, "rope.freq_base": 5e5},
        {"rope_freqs.weight": factors},
    ).schedules
    assert schedule.rope_type == "llama3"
    assert {k: schedule.parameters[k] for k in ("factor", "low_freq_factor")} == {
        "factor": 8.0,
        "low_freq_factor": 1.0,
    }
    assert schedule.parameters["high_freq_factor"] == 4.0
    assert schedule.context.trained == 8192
    assert not schedule.context.assumed
    assert schedule.inv_freq[-1] == pytest.approx(3.068926e-07, rel=1e-6)
    assert schedule.unscaled is not None
    assert schedule.unscaled[-1] == pytest.approx(2.455141e-06, rel=1e-6)
