"""The scaling laws alone: against torch in the engine's own formulas, and as laws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue
from ropeaudit.schedule import families
from ropeaudit.schedule.families import Built, Inputs, family
from ropeaudit.schedule.families.yarn import ramp_ends
from ropeaudit.schedule.float32 import f32, ulp_distance

widths = st.sampled_from([8, 24, 32, 64, 80, 96, 128, 144, 256])
bases = st.one_of(st.sampled_from([1e4, 5e5, 1e6, 1000042.0]), st.floats(50, 1e9))
factors = st.floats(1.0, 64.0)


def build(kind: str, base: float, dim: int, /, **extra: Any) -> Built:
    law = family(kind)
    assert law is not None
    known = ("head_dim", "partial_rotary_factor", "max_position_embeddings", "length")
    given = {k: extra.pop(k) for k in known if k in extra}
    return law.build(
        Inputs(rope_theta=base, rotary_dim=dim, **{"head_dim": dim, **given}, scaling=extra)
    )


def test_every_module_says_what_it_answers_to() -> None:
    assert {"default", "linear", "dynamic", "yarn", "longrope", "su", "llama3"} <= set(
        families.names()
    )
    for name in families.names():
        law = family(name)
        assert law is not None
        assert name in law.NAMES
        assert isinstance(law.REQUIRED, frozenset)
        assert isinstance(law.OPTIONAL, frozenset)
        assert not law.REQUIRED & law.OPTIONAL
    assert family("nonsense") is None


@given(bases, widths)
def test_plain_tables_fall_geometrically_from_one(base: float, dim: int) -> None:
    table = build("default", base, dim).inv_freq
    assert len(table) == dim // 2
    assert table[0] == 1.0
    assert all(a > b for a, b in pairwise(table))
    for k, value in enumerate(table):
        assert value == f32(value)
        assert math.isclose(value, base ** (-2 * k / dim), rel_tol=2e-6)


@given(bases, widths, factors)
def test_linear_divides_every_channel(base: float, dim: int, factor: float) -> None:
    plain, scaled = build("default", base, dim), build("linear", base, dim, factor=factor)
    for a, b in zip(plain.inv_freq, scaled.inv_freq, strict=True):
        distance = ulp_distance(b, f32(a / f32(factor)))
        assert distance == 0


@given(bases, widths, factors, st.sampled_from([2048, 8192]))
def test_yarn_keeps_the_fast_and_divides_the_slow(
    base: float, dim: int, factor: float, original: int
) -> None:
    scaling = {"factor": factor, "original_max_position_embeddings": original}
    plain, scaled = build("default", base, dim).inv_freq, build("yarn", base, dim, **scaling)
    low, high = ramp_ends(dim, base, original, 32, 1, truncate=True)
    for k, (a, b) in enumerate(zip(plain, scaled.inv_freq, strict=True)):
        assert a / factor * (1 - 1e-6) <= b <= a * (1 + 1e-6)
        if k <= low:
            assert math.isclose(a, b, rel_tol=1e-6)
        if k >= high and high > low:
            assert math.isclose(a / factor, b, rel_tol=1e-6)
    assert scaled.attention_scaling == pytest.approx(0.1 * math.log(factor) + 1)


def test_yarn_attention_factor_in_its_three_forms() -> None:
    scaling: Mapping[str, Any] = {"factor": 40, "original_max_position_embeddings": 4096}
    assert build("yarn", 1e4, 64, **scaling, attention_factor=0.9).attention_scaling == 0.9
    equal = build("yarn", 1e4, 64, **scaling, mscale=1.0, mscale_all_dim=1.0)
    assert equal.attention_scaling == 1.0
    ratio = build("yarn", 1e4, 64, **scaling, mscale=1.0, mscale_all_dim=0.707).attention_scaling
    logarithm = math.log(40)
    assert ratio == pytest.approx((0.1 * logarithm + 1) / (0.0707 * logarithm + 1))
    half = build("yarn", 1e4, 64, **scaling, mscale=1.0, mscale_all_dim=0)
    assert half.attention_scaling == pytest.approx(0.1 * logarithm + 1)


@given(bases, widths, st.floats(1.01, 64), st.sampled_from([1024, 8192]))
def test_llama3_keeps_blends_and_divides(
    base: float, dim: int, factor: float, original: int
) -> None:
    bounds = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    scaling = {**bounds, "factor": factor, "original_max_position_embeddings": original}
    plain, scaled = build("default", base, dim).inv_freq, build("llama3", base, dim, **scaling)
    for a, b in zip(plain, scaled.inv_freq, strict=True):
        wavelength = 2 * math.pi / a
        if wavelength < original / 4 * (1 - 1e-6):
            assert a == b
        elif wavelength > original * (1 + 1e-6):
            assert math.isclose(a / factor, b, rel_tol=1e-6)
        else:
            assert a / factor * (1 - 1e-5) <= b <= a * (1 + 1e-5)


@given(bases, widths, factors, st.integers(1, 10**6))
def test_dynamic_grows_with_the_length_and_not_below_the_declared(
    base: float, dim: int, factor: float, length: int
) -> None:
    def table(at: int | None) -> tuple[float, ...]:
        scaling = {"factor": factor, "max_position_embeddings": 4096, "length": at}
        return build("dynamic", base, dim, **scaling).inv_freq

    plain = build("default", base, dim).inv_freq
    assert table(None) == table(min(length, 4096)) == plain
    assert all(a <= b for a, b in zip(table(4096 + length), plain, strict=True))


def test_longrope_picks_its_list_by_length() -> None:
    scaling = {
        "short_factor": [1.0] * 4,
        "long_factor": [2.0, 4.0, 8.0, 1e39],
        "original_max_position_embeddings": 4096,
        "max_position_embeddings": 131072,
    }
    plain = build("default", 1e4, 8).inv_freq
    assert build("longrope", 1e4, 8, **scaling).inv_freq == plain
    assert build("longrope", 1e4, 8, **scaling, length=4096).inv_freq == plain
    long = build("longrope", 1e4, 8, **scaling, length=4097)
    assert long.inv_freq[0] == 0.5
    assert long.inv_freq[3] == 0.0  # a factor beyond float32 makes the channel stand still
    assert long.attention_scaling == pytest.approx(math.sqrt(1 + 5 / 12))
    with pytest.raises(InvalidValue, match="short_factor has 4 entries, expected"):
        build("longrope", 1e4, 16, **scaling)


def test_proportional_stands_still_beyond_its_share() -> None:
    built = build("proportional", 1e6, 512, partial_rotary_factor=0.25)
    assert len(built.inv_freq) == 256
    assert built.static_channels == frozenset(range(64, 256))
    assert all(built.inv_freq[k] == 0 for k in built.static_channels)
    assert built.inv_freq[:64] == build("default", 1e6, 512).inv_freq[:64]


def test_ntk_alpha_is_a_larger_base_at_every_length() -> None:
    built = build("ntk_alpha", 1e4, 128, alpha=1000.0)
    base = 1e4 * 1000.0 ** (128 / 126)
    assert built.parameters["effective_rope_theta"] == base
    assert built.inv_freq == build("default", base, 128).inv_freq


def test_tower_tables_are_the_plain_ladder_rearranged() -> None:
    half, whole = build("default", 1e4, 40).inv_freq, build("default", 1e4, 80).inv_freq
    assert build("axial", 1e4, 80).inv_freq == half
    assert build("axial_thirds", 1e4, 80).inv_freq == build("default", 1e4, 26).inv_freq
    dealt = build("axial_dealt", 1e4, 80).inv_freq
    assert sorted(dealt, reverse=True) == list(whole)
    assert dealt[:20] == whole[0::2]
    sections = build("ernie_3d", 1e4, 80, mrope_section=[15, 15, 10]).inv_freq
    assert sections[30:] == whole[30:]
    assert sections[:15] == whole[:30:2]
    with pytest.raises(InvalidValue, match="add up to 40"):
        build("ernie_3d", 1e4, 80, mrope_section=[15, 15, 15])
    assert len(build("dinov3", 100.0, 64).inv_freq) == 16


@pytest.mark.parametrize("kind", ["linear", "yarn", "llama3", "longrope", "ntk_alpha", "dynamic"])
def test_a_missing_key_is_named(kind: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        build(kind, 1e4, 64)
    law = family(kind)
    assert law is not None
    assert caught.value.where in law.REQUIRED | {"max_position_embeddings"}


@pytest.mark.parametrize(
    ("base", "dim"),
    [
        *((b, 64) for b in (0.0, -1.0, math.inf, math.nan, 1e-300, 1e300)),
        *((1e4, d) for d in (0, -2, 10**9)),
    ],
)
def test_bases_and_widths_that_are_none(base: float, dim: int) -> None:
    for kind in ("default", "axial", "axial_dealt", "dinov3"):
        with pytest.raises(InvalidValue):
            build(kind, base, dim)


def test_the_laws_agree_with_the_engine() -> None:
    """Against ``ROPE_INIT_FUNCTIONS`` without any config class in between."""
    rope_utils = pytest.importorskip("transformers.modeling_rope_utils")
    cases: list[dict[str, Any]] = [
        {"rope_type": "linear", "factor": 8.0},
        {"rope_type": "dynamic", "factor": 2.0},
        {"rope_type": "yarn", "factor": 40, "original_max_position_embeddings": 4096},
        {"rope_type": "proportional", "partial_rotary_factor": 0.25},
        {
            "rope_type": "llama3",
            "factor": 32.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    ]
    for case in cases:
        rope = {**case, "rope_theta": 5e5}
        config = SimpleNamespace(
            rope_parameters=rope,
            head_dim=128,
            hidden_size=4096,
            num_attention_heads=32,
            max_position_embeddings=131072,
            standardize_rope_params=lambda: None,
        )
        kind = case["rope_type"]
        values, scaling = rope_utils.ROPE_INIT_FUNCTIONS[kind](config)
        extra = {k: v for k, v in case.items() if k != "rope_type"}
        built = build(kind, 5e5, 128, max_position_embeddings=131072, **extra)
        distances = [
            ulp_distance(a, b) for a, b in zip(built.inv_freq, values.tolist(), strict=True)
        ]
        assert all(d is not None and d <= 2 for d in distances), (kind, distances)
        assert built.attention_scaling == pytest.approx(scaling, abs=1e-6)
