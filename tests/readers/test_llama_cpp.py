"""What llama.cpp builds: against runs of llama.cpp itself, closed forms, and real accidents."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue
from ropeaudit.facts import InputFile, Location, Observation, Oddity, Origin, Reading, StoredTable
from ropeaudit.readers import llama_cpp
from ropeaudit.readers.interface import Resolution
from ropeaudit.readers.llama_cpp.architectures import ARCHITECTURES
from ropeaudit.readers.llama_cpp.arithmetic import Rotation, closed_form, corr_dims, stray
from ropeaudit.readers.llama_cpp.factors import llama3_law
from ropeaudit.records import replace
from ropeaudit.schedule.core import Axis
from ropeaudit.schedule.float32 import f32, f32s, ulp_distance
from ropeaudit.sources import gguf
from tests import models
from tests.gguf_files import write

MEASURED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures/gguf/measured.json").read_text()
)["cases"]
SHAPE = {
    "context_length": 8192,
    "embedding_length": 512,
    "block_count": 8,
    "attention.head_count": 4,
    "rope.freq_base": 10000.0,
}


def reading(
    architecture: str,
    keys: dict[str, Any],
    tensors: dict[str, list[float]] | None = None,
    *,
    dtype: str = "float32",
    overridden: frozenset[str] = frozenset(),
) -> Reading:
    """What the source makes of such a file."""
    roles = {"rope_freqs.weight": "rope_factors"}
    tables = []
    for name, values in (tensors or {}).items():
        layer = int(name.split(".")[1]) if name.startswith("blk.") else None
        plain = name.split(".", 2)[2] if layer is not None else name
        tables.append(
            StoredTable(
                name=name,
                values=tuple(f32s(values)),
                dtype=dtype,
                shape=(len(values),),
                location=Location(file="m.gguf", tensor=name),
                role=roles.get(plain, plain.removesuffix(".weight")),
                layer=layer,
            )
        )
    return Reading(
        target="m.gguf",
        format="gguf",
        metadata={"general.architecture": architecture}
        | {f"{architecture}.{k}": v for k, v in keys.items()},
        tables=tuple(tables),
        files=(InputFile(path="m.gguf", format="gguf"),),
        overridden=overridden,
    )


def build(architecture: str, keys: dict[str, Any], tensors: Any = None) -> Resolution:
    return llama_cpp.read(reading(architecture, keys, tensors), ())


def kinds(resolution: Resolution) -> list[Oddity]:
    return [o.kind for o in resolution.observations]


def seen(resolution: Resolution, kind: Oddity) -> list[Observation]:
    return [o for o in resolution.observations if o.kind is kind]


def notes(resolution: Resolution) -> dict[str, str]:
    return {n.kind: n.message for n in resolution.notes}


def llama3_factors(
    dim: int, base: float, factor: float, low: float, high: float, original: float
) -> list[float]:
    """Divisors as converters write them: 1 below, the factor above, a blend between."""
    found = []
    for k in range(dim // 2):
        wavelength = 2 * math.pi * base ** (2 * k / dim)
        if wavelength < original / high:
            found.append(1.0)
        elif wavelength > original / low:
            found.append(factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            found.append(1 / ((1 - smooth) / factor + smooth))
    return found


@pytest.mark.parametrize("case", MEASURED, ids=[c["id"] for c in MEASURED])
def test_agrees_with_running_llama_cpp(case: dict[str, Any], tmp_path: Path) -> None:
    tensors = dict(case["tensors"])
    law = tensors.get("rope_freqs.weight")
    if law is not None:
        dim, base = case["keys"]["rope.dimension_count"], case["keys"]["rope.freq_base"]
        scaling = ("factor", "low_freq_factor", "high_freq_factor")
        numbers = [law[k] for k in (*scaling, "original_max_position_embeddings")]
        tensors["rope_freqs.weight"] = llama3_factors(dim, base, *numbers)
    path = write(tmp_path / "model.gguf", case["architecture"], case["keys"], tensors)
    resolution = llama_cpp.read(gguf.read(path, target="model.gguf"), ())
    assert resolution.model_type == case["architecture"]
    ours = {s.name: s for s in resolution.schedules}
    assert ours.keys() == {e["name"] for e in case["schedules"]}
    for expected in case["schedules"]:
        schedule = ours[expected["name"]]
        table = schedule.inv_freq
        assert schedule.layers == tuple(expected["layers"])
        assert len(table) == expected["channels"]
        assert schedule.rotary_dim == 2 * expected["channels"]
        assert schedule.pairing == ("interleaved" if expected["mode"] == 0 else "half")
        assert schedule.rope_theta == expected["freq_base"]
        for ours_value, theirs in (
            (table[0], expected["first"]),
            (table[1], expected["second"]),
            (table[-1], expected["last"]),
        ):
            assert ours_value == pytest.approx(theirs, rel=3e-6)
        assert schedule.attention_scaling == pytest.approx(expected["attention_scaling"], rel=1e-6)
        assert schedule.softmax_scale == pytest.approx(case["softmax_scale"], rel=1e-6)
        assert schedule.context.declared == case["keys"]["context_length"]
        # What the engine's own steps reach is what was measured, to the last digits shown.
        claimed = float(notes(resolution)["engine_arithmetic"].split("up to ")[1].split(" ")[0])
        assert abs(table[-1] / expected["last"] - 1) <= claimed + 1e-7
    still = notes(resolution).get("layers_without_rotation")
    assert (still is not None) == bool(case["still_layers"])
    if still is not None:
        assert still.endswith(", ".join(map(str, case["still_layers"])))


# --- closed forms -----------------------------------------------------------------------------


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


# --- accidents --------------------------------------------------------------------------------


def test_base_absent() -> None:
    resolution = build(
        "qwen2",
        {"context_length": 32768, "embedding_length": 8192, "attention.head_count": 64},
    )
    (found,) = seen(resolution, Oddity.BASE_DEFAULTED)
    assert found.evidence["rope_theta"] == 10000.0
    assert found.evidence["family_base"] == 1e6
    assert found.location is not None
    assert found.location.key == "qwen2.rope.freq_base"
    (schedule,) = resolution.schedules
    assert len(schedule.inv_freq) == 64
    assert schedule.inv_freq[-1] == pytest.approx(0.0001154782, rel=1e-6)
    fact = schedule.fact("rope_theta")
    assert fact is not None
    assert fact.origin is Origin.DEFAULT


def test_base_absent_where_that_is_right() -> None:
    keys = {k: v for k, v in SHAPE.items() if k != "rope.freq_base"}
    for architecture in ("phi2", "gptneox", "stablelm", "gemma2"):
        (found,) = seen(build(architecture, keys), Oddity.BASE_DEFAULTED)
        assert found.evidence["family_base"] == 10000.0


def test_yarn_ext_factor_64() -> None:
    resolution = build(
        "laguna",
        {
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": 64.0,
            "rope.scaling.yarn_ext_factor": 64.0,
            "rope.dimension_count": 64,
            "rope.dimension_count_swa": 128,
        },
    )
    (found,) = seen(resolution, Oddity.OUT_OF_RANGE)
    assert found.evidence["value"] == 64.0
    assert found.evidence["read"] is False
    assert "insufficient" in notes(resolution)
    keys = SHAPE | {
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 2.0,
        "rope.scaling.original_context_length": 4096,
    }
    grok = build("grok", keys | {"rope.scaling.yarn_ext_factor": 2.0})
    assert seen(grok, Oddity.OUT_OF_RANGE)[0].evidence["read"] is True
    assert grok.schedules[0].parameters["extrapolation"] == 2.0
    for fine in (0.0, 0.5, 1.0):
        assert not seen(
            build("grok", keys | {"rope.scaling.yarn_ext_factor": fine}), Oddity.OUT_OF_RANGE
        )


PHI3 = {
    "context_length": 131072,
    "rope.scaling.original_context_length": 4096,
    "rope.dimension_count": 96,
    "rope.freq_base": 10000.0,
}


def test_longrope_tensors_missing() -> None:
    resolution = build("phi3", PHI3)
    tensors, attention = seen(resolution, Oddity.NOT_APPLIED)
    assert tensors.evidence["missing_tensors"] == [
        "rope_factors_long.weight",
        "rope_factors_short.weight",
    ]
    assert attention.evidence["expected"] == pytest.approx(1.1902380714238083)
    (schedule,) = resolution.schedules
    assert schedule.rope_type == "default"
    assert schedule.inv_freq[-1] == pytest.approx(0.0001211528, rel=1e-6)
    assert schedule.context.trained == 4096

    lists = {"rope_factors_long.weight": [2.0] * 48, "rope_factors_short.weight": [1.0] * 48}
    whole = build("phi3", PHI3 | {"rope.scaling.attn_factor": 1.19}, lists)
    assert not whole.observations
    assert [s.name for s in whole.schedules] == ["text/short", "text/long"]
    assert [s.parameters["long"] for s in whole.schedules] == [False, True]
    assert all(s.attention_scaling == 1.19 for s in whole.schedules)
    assert kinds(build("phi3", PHI3, lists)) == [Oddity.NOT_APPLIED]
    short = PHI3 | {"context_length": 4096}  # the 4k models have no lists, and need none
    assert not build("phi3", short).observations


def test_gemma_3_scales_global_layers_only() -> None:
    resolution = build(
        "gemma3",
        {
            "context_length": 131072,
            "embedding_length": 2560,
            "attention.head_count": 8,
            "attention.key_length": 256,
            "attention.sliding_window": 1024,
            "rope.freq_base": 1e6,
            "rope.scaling.type": "linear",
            "rope.scaling.factor": 8.0,
        },
    )
    local, everywhere = resolution.schedules
    assert (local.name, local.rope_type, local.rope_theta, local.context.window) == (
        "text/sliding_attention",
        "default",
        10000.0,
        1024,
    )
    assert local.inv_freq[-1] == pytest.approx(0.0001074608, rel=1e-6)
    assert (everywhere.name, everywhere.rope_type) == ("text/full_attention", "linear")
    assert everywhere.inv_freq[0] == 0.125
    assert everywhere.inv_freq[-1] == pytest.approx(1.392467e-07, rel=1e-6)
    assert everywhere.unscaled is not None
    assert everywhere.unscaled[-1] == pytest.approx(1.113974e-06, rel=1e-6)
    assert local.layers is None  # the file does not count its layers
    assert not resolution.observations
    assert "10000" in notes(resolution)["architecture_rule"]
    given = build("gemma3", SHAPE | {"attention.sliding_window": 9, "rope.freq_base_swa": 2e4})
    assert "architecture_rule" not in notes(given)
    assert given.schedules[0].rope_theta == 2e4
    flat = build("gemma3", SHAPE)  # without a window there is no sliding layer
    assert [s.name for s in flat.schedules] == ["text"]


def test_llama_31_without_its_tensor_is_left_to_a_check() -> None:
    resolution = build(
        "llama",
        {
            "context_length": 131072,
            "embedding_length": 8192,
            "attention.head_count": 64,
            "rope.freq_base": 5e5,
            "rope.dimension_count": 128,
        },
    )
    assert not resolution.observations
    (schedule,) = resolution.schedules
    assert schedule.rope_type == "default"
    assert schedule.inv_freq[-1] == pytest.approx(2.455141e-06, rel=1e-6)


def test_scaling_as_a_tensor_without_widths() -> None:
    factors = llama3_factors(128, 5e5, 8.0, 1.0, 4.0, 8192)
    resolution = build(
        "llama",
        {"rope.freq_base": 5e5, "context_length": 131072},
        {"rope_freqs.weight": factors},
    )
    assert not resolution.observations
    (schedule,) = resolution.schedules
    assert schedule.rotary_dim == 128
    assert schedule.inv_freq[-1] == pytest.approx(3.068926e-07, rel=1e-6)
    fact = schedule.fact("rope_factors")
    assert fact is not None
    assert fact.location == Location(file="m.gguf", tensor="rope_freqs.weight")


# --- architectures ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_every_architecture_splits_its_layers(name: str) -> None:
    """Rotating and still layers are all layers, each in one schedule of each variant."""
    arch = ARCHITECTURES[name]
    keys = SHAPE | {
        "attention.sliding_window": 64,
        "attention.sliding_window_pattern": [True, True, True, False] * 2,
        "attention.head_count_kv": [0, 2, 2, 2] * 2,
        "attention.compress_ratios": [0, 4] * 4,
        "rope.dimension_sections": [16, 24, 24, 0],
        "attention.compress_rope_freq_base": 160000.0,
    }
    if arch.half_width:
        keys["rope.dimension_count"] = 64
    resolution = build(name, keys)
    if arch.none is not None:
        assert not resolution.schedules
        assert set(notes(resolution)) == {"insufficient" if name == "clip" else "no_rotary"}
        assert arch.none in next(iter(notes(resolution).values()))
        return
    assert resolution.schedules
    layers = [i for s in resolution.schedules for i in s.layers or ()]
    assert len(layers) == len(set(layers))
    assert len({s.name for s in resolution.schedules}) == len(resolution.schedules)
    for schedule in resolution.schedules:
        assert schedule.pairing == arch.pairing
        assert schedule.attention_scaling == 1.0
        assert schedule.softmax_scale == 1.0
        assert schedule.unscaled == schedule.inv_freq
        theta = schedule.parameters.get("effective_rope_theta", schedule.rope_theta)
        width = schedule.rotary_dim
        wanted = f32s(theta ** (-2 * k / width) for k in range(width // 2))
        assert list(schedule.inv_freq) == wanted
    if "layers_without_rotation" in notes(resolution):
        assert set(layers) < set(range(8))
    else:
        assert set(layers) == set(range(8))


def layers_of(architecture: str, keys: dict[str, Any]) -> dict[str, tuple[int, ...] | None]:
    return {s.name: s.layers for s in build(architecture, SHAPE | keys).schedules}


WINDOW = {"attention.sliding_window": 64}
SWA = {"rope.freq_base_swa": 500.0}


@pytest.mark.parametrize(
    ("architecture", "keys", "expected"),
    [
        ("smollm3", {}, {"text": (0, 1, 2, 4, 5, 6)}),
        ("llama4", {}, {"text": (0, 1, 2, 4, 5, 6)}),
        ("llama4", {"attention.sliding_window": 0}, {"text": (0, 1, 2, 3, 4, 5, 6)}),
        ("cohere2", WINDOW, {"text": (0, 1, 2, 4, 5, 6)}),
        ("cohere2moe", WINDOW, {"text": (1, 2, 3, 5, 6, 7)}),
        ("exaone4", {}, {"text": tuple(range(8))}),
        ("smallthinker", WINDOW, {"text": (1, 2, 3, 5, 6, 7)}),
        ("smallthinker", {}, {"text": tuple(range(8))}),
        ("qwen35", {"rope.dimension_sections": [64, 0, 0, 0]}, {"text": (3, 7)}),
        ("qwen3next", {"full_attention_interval": 2}, {"text": (1, 3, 5, 7)}),
        ("qwen3next", {"attention.recurrent_layers": [1] * 6 + [0, 1]}, {"text": (6,)}),
        ("lfm2", {"attention.head_count_kv": [0, 0, 2, 0, 0, 2, 0, 0]}, {"text": (2, 5)}),
        (
            "deci",
            {"attention.head_count_kv": [2, 0, 2, 2, 2, 2, 0, 2]},
            {"text": (0, 2, 3, 4, 5, 7)},
        ),
        ("granite", {"rope.scaling.finetuned": False}, {}),
        ("granite", {"rope.scaling.finetuned": True}, {"text": tuple(range(8))}),
        ("gpt-oss", WINDOW, {"text": tuple(range(8))}),
        (
            "gpt-oss",
            WINDOW | SWA,
            {"text/sliding_attention": (0, 2, 4, 6), "text/full_attention": (1, 3, 5, 7)},
        ),
        (
            "gemma3n",
            WINDOW,
            {"text": tuple(range(8))},  # base 10000 everywhere: one table
        ),
        (
            "gemma3n",
            WINDOW | SWA,
            {"text/sliding_attention": (0, 1, 2, 3, 5, 6, 7), "text/full_attention": (4,)},
        ),
        (
            "modern-bert",
            WINDOW | SWA,
            {"text/full_attention": (0, 3, 6), "text/sliding_attention": (1, 2, 4, 5, 7)},
        ),
        (
            "gemma2",
            WINDOW | SWA | {"attention.sliding_window_pattern": 4},
            {"text/sliding_attention": (0, 1, 2, 4, 5, 6), "text/full_attention": (3, 7)},
        ),
        (
            "gemma4",
            WINDOW | SWA | {"attention.sliding_window_pattern": [False] * 6 + [True]},
            {"text/full_attention": (0, 1, 2, 3, 4, 5, 7), "text/sliding_attention": (6,)},
        ),
        ("deepseek2", {"nextn_predict_layers": 1}, {"text": tuple(range(7))}),
        (
            "granite_swa",
            WINDOW
            | {
                "attention.sliding_window_pattern": [1, 0] * 4,
                "attention.rope_pattern": [1, 0, 1, 0, 1, 1, 1, 1],
            },
            {"text": (0, 2, 4, 5, 6, 7)},
        ),
    ],
)
def test_which_layers_turn(
    architecture: str, keys: dict[str, Any], expected: dict[str, tuple[int, ...]]
) -> None:
    assert layers_of(architecture, keys) == expected


def test_windows() -> None:
    def windows(architecture: str, keys: dict[str, Any]) -> list[int | None]:
        return [s.context.window for s in build(architecture, SHAPE | keys).schedules]

    assert windows("cohere2", WINDOW) == [64]
    assert windows("llama4", {}) == [8192]
    assert windows("gemma2", SWA) == [4096, None]
    assert windows("gpt-oss", WINDOW) == [None]  # full layers share the table
    assert windows("phi3", WINDOW) == [None]  # llama.cpp does not slide there
    assert windows("lfm2", WINDOW) == [64]


def test_no_rotation_at_the_alibi_size() -> None:
    assert "ALiBi" in notes(build("baichuan", SHAPE | {"block_count": 40}))["no_rotary"]
    assert build("baichuan", SHAPE | {"block_count": 32}).schedules


def test_qwen2_vl_axes_come_in_blocks() -> None:
    resolution = build("qwen2vl", SHAPE | {"rope.dimension_sections": [16, 24, 24, 0]})
    (schedule,) = resolution.schedules
    assert schedule.axes == (Axis("t", (0, 15)), Axis("h", (16, 39)), Axis("w", (40, 63)))
    assert not resolution.observations


def test_qwen3_vl_axes_alternate_and_two_channels_stand_still() -> None:
    resolution = build("qwen3vl", SHAPE | {"rope.dimension_sections": [24, 20, 20, 0]})
    axes = resolution.schedules[0].axes
    assert axes is not None
    assert axes[:4] == (Axis("t", (0, 0)), Axis("h", (1, 1)), Axis("w", (2, 2)), Axis("t", (3, 3)))
    by_axis = {a: [c for x in axes if x.axis == a for c in x.channels] for a in "thwe"}
    assert sorted(set(by_axis["e"])) == [61, 62]
    assert notes(resolution)["fourth_axis"].startswith("channels 61-62 follow")


def test_sections_that_do_not_add_up() -> None:
    resolution = build("qwen2vl", SHAPE | {"rope.dimension_sections": [16, 24, 20, 0]})
    (found,) = seen(resolution, Oddity.LENGTH_MISMATCH)
    assert found.evidence == {"expected": 64, "found": 60}
    axes = resolution.schedules[0].axes
    assert axes is not None
    assert axes[-1] == Axis("t", (60, 63))  # the engine begins again
    for wrong in ([0, 0, 0, 0], [200, 0, 0, 0], [-1, 2, 3, 4]):
        with pytest.raises(InvalidValue, match=r"rope\.dimension_sections"):
            build("qwen2vl", SHAPE | {"rope.dimension_sections": wrong})


def test_gemma_4_keeps_channels_still_by_design() -> None:
    keys = (
        SHAPE
        | WINDOW
        | {
            "attention.key_length": 512,
            "attention.key_length_swa": 256,
            "rope.dimension_count": 512,
            "rope.dimension_count_swa": 256,
            "rope.freq_base": 1e6,
            "attention.sliding_window_pattern": [True] * 5 + [False] * 3,
        }
    )
    resolution = build("gemma4", keys, {"rope_freqs.weight": [1.0] * 64 + [1e30] * 192})
    sliding, full = resolution.schedules
    assert full.rope_type == "proportional"
    assert full.static_channels == frozenset(range(64, 256))
    assert full.unscaled == full.inv_freq
    assert max(full.inv_freq[64:]) < 1e-29
    assert sliding.rope_type == "default"
    assert (sliding.head_dim, sliding.rotary_dim, sliding.rope_theta) == (256, 256, 1e4)
    assert not resolution.observations


def test_gemma_4_without_its_tensor() -> None:
    source = reading("gemma4", SHAPE | WINDOW | {"attention.sliding_window_pattern": [1, 0] * 4})
    assert not llama_cpp.read(source, ()).observations  # a file without weights
    whole = replace(source, tensor_names=("token_embd.weight",))
    (found,) = llama_cpp.read(whole, ()).observations
    assert found.kind is Oddity.NOT_APPLIED
    assert found.evidence["missing_tensors"] == ["rope_freqs.weight"]


def test_deepseek_compressed_layers_have_their_own_base() -> None:
    keys = (
        SHAPE
        | WINDOW
        | {
            "attention.compress_ratios": [0, 4, 4, 0, 4, 4, 4, 4],
            "attention.compress_rope_freq_base": 160000.0,
            "rope.dimension_count": 64,
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": 16.0,
            "rope.scaling.original_context_length": 4096,
        }
    )
    plain, packed = build("deepseek4", keys).schedules
    assert (plain.layers, plain.rope_theta, plain.rope_type) == ((0, 3), 1e4, "default")
    assert (packed.rope_theta, packed.rope_type) == (160000.0, "yarn")
    assert plain.attention_scaling == packed.attention_scaling == 1.0


def test_sliding_layers_without_yarn() -> None:
    """OLMo 3 and Laguna rotate sliding layers plainly; gpt-oss scales both kinds alike."""
    keys = (
        SHAPE
        | WINDOW
        | {
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": 8.0,
            "rope.scaling.original_context_length": 1024,
        }
    )
    gain = 0.1 * math.log(8.0) + 1
    for architecture in ("olmo2", "laguna"):
        by_name = {s.layer_type: s for s in build(architecture, keys).schedules}
        assert by_name["sliding_attention"].rope_type == "default"
        assert by_name["sliding_attention"].attention_scaling == 1.0
        assert by_name["full_attention"].rope_type == "yarn"
        assert by_name["full_attention"].attention_scaling == pytest.approx(gain)
    (both,) = build("gpt-oss", keys).schedules
    assert both.attention_scaling == pytest.approx(gain)
    # Gemma 3 passes the ramp to sliding layers with factor 1: the table is plain, and the kernel
    # does not undo what the engine divided by, which leaves 1.
    local = build("gemma3", keys).schedules[0]
    assert local.attention_scaling == pytest.approx(1.0)


def test_hunyuan_alpha_grows_the_base() -> None:
    keys = SHAPE | {"rope.scaling.type": "none", "rope.scaling.alpha": 1000.0}
    (schedule,) = build("hunyuan_vl", keys).schedules
    grown = schedule.parameters["effective_rope_theta"]
    assert grown == pytest.approx(1e4 * 1000 ** (128 / 126))
    assert schedule.inv_freq[-1] == f32(grown ** (-126 / 128))
    assert schedule.rope_theta == 1e4
    (found,) = seen(build("llama", keys), Oddity.KEY_IGNORED)
    assert found.evidence["key"] == "rope.scaling.alpha"
    with pytest.raises(InvalidValue, match="base is inf"):
        build("hunyuan_vl", keys | {"rope.scaling.alpha": 1e308, "attention.key_length": 4})


def test_step_35_turns_half_of_full_layers() -> None:
    keys = SHAPE | WINDOW | {"attention.sliding_window_pattern": [0, 1, 1, 1] * 2}
    factors = [1.0] * 20 + [2.0] * 12 + [1.0] * 32
    full, sliding = build("step35", keys, {"rope_freqs.weight": factors}).schedules
    assert (full.rotary_dim, sliding.rotary_dim) == (64, 128)
    assert full.inv_freq[-1] == f32(1e4 ** (-62 / 64) / 2)
    assert sliding.inv_freq == sliding.unscaled


# --- tensors ----------------------------------------------------------------------------------


def test_factors_that_llama_cpp_does_not_take() -> None:
    refused = build("qwen2", SHAPE, {"rope_freqs.weight": [2.0] * 64})
    assert seen(refused, Oddity.NOT_APPLIED)[0].evidence["refused"] is True
    assert refused.schedules[0].inv_freq == refused.schedules[0].unscaled
    unused = build("falcon-h1", SHAPE, {"rope_freqs.weight": [2.0] * 64})
    assert seen(unused, Oddity.NOT_APPLIED)[0].evidence["refused"] is False
    assert unused.schedules[0].inv_freq == unused.schedules[0].unscaled


def test_lists_need_the_type_outside_phi_3() -> None:
    lists = {"rope_factors_long.weight": [4.0] * 64, "rope_factors_short.weight": [2.0] * 64}
    named = SHAPE | {"rope.scaling.type": "longrope"}
    assert [s.variant for s in build("llama", named, lists).schedules] == ["short", "long"]
    without = build("llama", SHAPE, lists)
    assert [o.evidence["refused"] for o in seen(without, Oddity.NOT_APPLIED)] == [True, True]
    assert [s.variant for s in without.schedules] == [None]
    dropped = build("llama", named)
    (found,) = seen(dropped, Oddity.NOT_APPLIED)
    assert "does not say so" in found.message


@pytest.mark.parametrize("length", [63, 65])
def test_factors_of_the_wrong_length(length: int) -> None:
    resolution = build("llama", SHAPE, {"rope_freqs.weight": [2.0] * length})
    (found,) = seen(resolution, Oddity.LENGTH_MISMATCH)
    assert (found.evidence["expected"], found.evidence["found"]) == (64, length)
    assert len(resolution.schedules[0].inv_freq) == 64


def test_unknown_factors_are_a_stored_table() -> None:
    factors = [1.0 + k / 7 for k in range(64)]
    (schedule,) = build("llama", SHAPE, {"rope_freqs.weight": factors}).schedules
    assert schedule.rope_type == "stored"
    exact = f32s(1e4 ** (-k / 64) / d for k, d in enumerate(f32s(factors)))
    assert list(schedule.inv_freq) == exact


def test_strange_factors_reach_the_checks() -> None:
    factors = [math.nan, 0.0, -0.0, math.inf, -2.0] + [1.0] * 59
    (schedule,) = build("llama", SHAPE, {"rope_freqs.weight": factors}).schedules
    assert math.isnan(schedule.inv_freq[0])
    assert schedule.inv_freq[1:4] == (math.inf, -math.inf, 0.0)
    assert schedule.inv_freq[4] < 0


def test_factors_per_layer() -> None:
    same = {f"blk.{i}.rope_freqs.weight": [2.0] * 64 for i in range(8)}
    (schedule,) = build("llama", SHAPE, same).schedules
    assert schedule.layers == tuple(range(8))
    assert schedule.inv_freq[0] == 0.5
    mixed = {f"blk.{i}.rope_freqs.weight": [2.0 if i < 5 else 3.0] * 64 for i in range(8)}
    first, second = build("llama", SHAPE, mixed).schedules
    assert (first.name, first.layers) == ("text/layers_0-4", (0, 1, 2, 3, 4))
    assert (second.name, second.layers) == ("text/layers_5-7", (5, 6, 7))
    assert second.inv_freq[0] == f32(1 / 3)


def test_half_precision_factors_are_refused_by_the_engine() -> None:
    source = reading("llama", SHAPE, {"rope_freqs.weight": [1.0] * 64}, dtype="float16")
    assert "float32 factors only" in notes(llama_cpp.read(source, ()))["engine_refuses"]


# --- keys -------------------------------------------------------------------------------------


def test_old_key_for_linear_scaling() -> None:
    (schedule,) = build("llama", SHAPE | {"rope.scale_linear": 4.0}).schedules
    assert (schedule.rope_type, schedule.inv_freq[0]) == ("linear", 0.25)
    fact = schedule.fact("factor")
    assert fact is not None
    assert fact.location is not None
    assert fact.location.key == "llama.rope.scale_linear"


def test_keys_that_nobody_reads() -> None:
    yarn = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}
    yarn |= {"rope.scaling.original_context_length": 2048}
    neutral = {"rope.scaling.yarn_beta_fast": 32.0, "rope.scaling.yarn_ext_factor": 1.0}
    assert not build("qwen3", SHAPE | yarn | neutral).observations
    resolution = build("qwen3", SHAPE | yarn | {"rope.scaling.yarn_beta_fast": 4.0})
    (found,) = seen(resolution, Oddity.KEY_IGNORED)
    assert found.evidence == {"key": "rope.scaling.yarn_beta_fast", "value": 4.0}
    assert resolution.schedules[0].parameters["beta_fast"] == 32.0
    read = build("mistral3", SHAPE | yarn | {"rope.scaling.yarn_beta_fast": 4.0})
    assert read.schedules[0].parameters["beta_fast"] == 4.0
    misspelt = build("llama", SHAPE | {"rope.freqs_base": 5e5, "rope.scaling.factors": 2.0})
    assert [o.evidence["meant"] for o in seen(misspelt, Oddity.KEY_MISSPELT)] == [
        "freq_base",
        "factor",
    ]
    other = build("gemma3", SHAPE | {"rope.local.freq_base": 1e4})
    assert kinds(other) == [Oddity.KEY_IGNORED]


def test_scaling_without_effect() -> None:
    off = build("llama", SHAPE | {"rope.scaling.type": "none", "rope.scaling.factor": 4.0})
    assert kinds(off) == [Oddity.NOT_APPLIED]
    assert off.schedules[0].rope_type == "default"
    bare = build("llama", SHAPE | {"rope.scaling.type": "yarn"})
    assert kinds(bare) == [Oddity.NOT_APPLIED]


def test_yarn_without_original_length() -> None:
    keys = SHAPE | {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}
    resolution = build("llama", keys)
    assert kinds(resolution) == [Oddity.ORIGINAL_DEFAULTED]
    (schedule,) = resolution.schedules
    assert schedule.context.assumed
    assert schedule.parameters["original_max_position_embeddings"] == 8192


def test_betas_the_wrong_way_round() -> None:
    keys = SHAPE | {
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 4.0,
        "rope.scaling.original_context_length": 2048,
        "rope.scaling.yarn_beta_fast": 1.0,
        "rope.scaling.yarn_beta_slow": 32.0,
    }
    assert kinds(build("mistral3", keys)) == [Oddity.BETA_ORDER]


@pytest.mark.parametrize("beta", [0.0, -1.0, 1e-320])
@pytest.mark.parametrize("which", ["fast", "slow"])
def test_betas_that_place_no_ramp(beta: float, which: str) -> None:
    keys = SHAPE | {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}
    with pytest.raises(InvalidValue, match="ramp cannot be placed"):
        build("mistral3", keys | {f"rope.scaling.yarn_beta_{which}": beta})


def test_unknown_scaling_type() -> None:
    resolution = build("llama", SHAPE | {"rope.scaling.type": "su"})
    assert kinds(resolution) == [Oddity.TYPE_UNKNOWN]
    assert not resolution.schedules
    assert "insufficient" in notes(resolution)


def test_unknown_architecture_is_read_by_the_common_rules() -> None:
    lists = {"rope_freqs.weight": [2.0] * 64}
    resolution = build("novel\x1b", SHAPE, lists)
    assert kinds(resolution) == [Oddity.GENERIC_READING]
    assert resolution.observations[0].message.isprintable()
    (schedule,) = resolution.schedules
    assert (schedule.pairing, schedule.inv_freq[0]) == ("half", 0.5)
    pattern = SHAPE | WINDOW | SWA | {"attention.sliding_window_pattern": [1, 0] * 4}
    assert {s.name: s.rope_theta for s in build("novel", pattern).schedules} == {
        "text/sliding_attention": 500.0,
        "text/full_attention": 10000.0,
    }


@pytest.mark.parametrize("kind", ["adapter", "mmproj"])
def test_files_that_hold_no_model(kind: str) -> None:
    source = Reading(target="x", format="gguf", metadata={"general.type": kind})
    assert f"of type {kind}" in notes(llama_cpp.read(source, ()))["insufficient"]
    bare = Reading(target="x", format="gguf", metadata={})
    assert "no general.architecture" in notes(llama_cpp.read(bare, ()))["insufficient"]
    adapter = build("llama", {})
    assert not adapter.schedules
    assert "neither a rotary width" in notes(adapter)["insufficient"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rope.freq_base", "10000"),
        ("rope.freq_base", True),
        ("rope.freq_base", [1.0]),
        ("rope.freq_base", math.nan),
        ("rope.freq_base", math.inf),
        ("rope.freq_base", 0.0),
        ("rope.freq_base", -1.0),
        ("rope.freq_base", 1e-300),
        ("rope.freq_base", 1e300),
        ("rope.freq_base", None),
        ("rope.dimension_count", 127),
        ("rope.dimension_count", 130),
        ("rope.dimension_count", 64.0),
        ("rope.dimension_count", -2),
        ("rope.dimension_count", 10**9),
        ("attention.key_length", 10**9),
        ("block_count", 10**9),
        ("block_count", 0),
        ("block_count", "8"),
        ("context_length", "long"),
        ("context_length", -1),
        ("attention.head_count", "eight"),
        ("attention.head_count", ["a"]),
        ("rope.scaling.type", 3),
        ("rope.scaling.factor", "4"),
        ("rope.scaling.factor", -4.0),
        ("rope.scaling.attn_factor", math.nan),
        ("rope.scaling.original_context_length", 4096.5),
        ("attention.sliding_window", "wide"),
    ],
)
def test_values_of_the_wrong_kind(key: str, value: Any) -> None:
    with pytest.raises(InvalidValue) as caught:
        build("gemma3", SHAPE | {key: value})
    message = str(caught.value)
    assert message.isprintable()
    assert key.split(".")[-1] in message.replace("rotary width", "dimension_count key_length") or (
        key == "rope.freq_base" and "base" in message
    )


def test_a_factor_on_the_logits_that_overflows_is_refused() -> None:
    with pytest.raises(InvalidValue, match="no finite factor on the logits"):
        build("deepseek2", SHAPE | {"rope.dimension_count": 64, "rope.scaling.attn_factor": 1e308})


def test_deepseek_attention_follows_the_log_multiplier() -> None:
    keys = SHAPE | {
        "rope.dimension_count": 64,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 40.0,
        "rope.scaling.original_context_length": 4096,
    }
    bare = build("deepseek2", keys).schedules[0]
    gain = 1 + 0.1 * math.log(40)
    assert bare.attention_scaling == pytest.approx(gain)
    assert bare.softmax_scale == pytest.approx(gain**2)
    for log, unit in ((0.1, 1.0), (0.0707, 0.707)):
        whole = build("deepseek2", keys | {"rope.scaling.yarn_log_multiplier": log}).schedules[0]
        assert whole.attention_scaling == pytest.approx(1.0)
        assert whole.softmax_scale == pytest.approx((1 + 0.1 * unit * math.log(40)) ** 2)
    with pytest.raises(InvalidValue, match="no finite attention factor"):
        build("deepseek2", keys | {"rope.scaling.factor": math.exp(-10)})


def test_overridden_keys_say_so() -> None:
    source = reading("llama", SHAPE, overridden=frozenset({"llama.rope.freq_base"}))
    (schedule,) = llama_cpp.read(source, ()).schedules
    assert [f.origin for f in schedule.provenance if f.field == "rope_theta"] == [Origin.OVERRIDE]


def test_provenance_names_file_and_key() -> None:
    (schedule,) = build("llama", SHAPE).schedules
    by_field = {f.field: f for f in schedule.provenance}
    assert by_field["rope_theta"].location == Location(file="m.gguf", key="llama.rope.freq_base")
    assert by_field["head_dim"].origin is Origin.DERIVED
    assert by_field["max_position_embeddings"].value == 8192


NUMBERS = st.one_of(
    st.sampled_from([0, 1, 2, 8, 64, 2**31 - 1, 2**63, 0.0, 1.0, -1.0, 1e-320, 1e300, 0.1]),
    st.floats(),
    st.integers(-5, 70_000),
)
VALUES = st.one_of(
    NUMBERS,
    st.booleans(),
    st.none(),
    st.sampled_from(["yarn", "linear", "none", "longrope", "x\n"]),
    st.lists(NUMBERS, max_size=9),
    st.lists(st.integers(0, 40), min_size=4, max_size=8),
)
NAMES = [
    "context_length",
    "embedding_length",
    "block_count",
    "nextn_predict_layers",
    "leading_dense_block_count",
    "full_attention_interval",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.key_length_swa",
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "attention.recurrent_layers",
    "attention.rope_pattern",
    "attention.compress_ratios",
    "attention.compress_rope_freq_base",
    "rope.freq_base",
    "rope.freq_base_swa",
    "rope.dimension_count",
    "rope.dimension_count_swa",
    "rope.dimension_sections",
    "rope.scale_linear",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.alpha",
    "rope.scaling.attn_factor",
    "rope.scaling.finetuned",
    "rope.scaling.original_context_length",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "rope.scaling.yarn_ext_factor",
    "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_log_multiplier",
]


@settings(max_examples=1500, derandomize=True, deadline=None)
@given(
    architecture=st.sampled_from([*sorted(ARCHITECTURES), "novel"]),
    changes=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8),
    yarn=st.booleans(),
    factors=st.none() | st.lists(st.floats(width=32), min_size=1, max_size=70),
)
def test_any_keys_give_schedules_or_one_sentence(
    architecture: str, changes: dict[str, Any], yarn: bool, factors: list[float] | None
) -> None:
    scaling = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0} if yarn else {}
    tensors = {} if factors is None else {"rope_freqs.weight": factors}
    try:
        resolution = build(architecture, SHAPE | scaling | changes, tensors)
    except InvalidValue as error:
        assert str(error).isprintable()
        assert len(str(error)) < 400
        return
    names = [s.name for s in resolution.schedules]
    assert len(set(names)) == len(names)
    for schedule in resolution.schedules:
        assert len(schedule.inv_freq) == schedule.rotary_dim // 2
        assert math.isfinite(schedule.attention_scaling)
        assert math.isfinite(schedule.softmax_scale)
    for text in (*resolution.notes, *resolution.observations):
        assert text.message.isprintable()


# --- real models ------------------------------------------------------------------------------


def within_one_ulp(table: tuple[float, ...], base: float, dim: int) -> bool:
    """Against transformers' float32 order: the power rounded, then its reciprocal."""
    exponents = np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim)
    wanted = 1.0 / np.power(base, exponents.astype(np.float64)).astype(np.float32)
    gaps = (ulp_distance(a, float(b)) for a, b in zip(table, wanted, strict=True))
    return all(g is not None and g <= 5 for g in gaps)


@pytest.mark.slow
def test_smollm2() -> None:
    resolution = llama_cpp.read(gguf.read(models.smollm2(), target="smollm2"), ())
    (schedule,) = resolution.schedules
    assert (schedule.rope_theta, schedule.head_dim, schedule.rotary_dim) == (1e5, 64, 64)
    assert schedule.layers == tuple(range(30))
    assert (schedule.context.declared, schedule.context.assumed) == (8192, True)
    assert schedule.inv_freq == tuple(f32s(1e5 ** (-k / 32) for k in range(32)))
    assert within_one_ulp(schedule.inv_freq, 1e5, 64)
    assert not resolution.observations


@pytest.mark.slow
def test_gemma_3_270m() -> None:
    resolution = llama_cpp.read(gguf.read(models.gemma3(), target="gemma3"), ())
    sliding, full = resolution.schedules
    assert full.layers == (5, 11, 17)
    assert sliding.layers == tuple(i for i in range(18) if i not in (5, 11, 17))
    assert (sliding.rope_theta, sliding.context.window) == (1e4, 512)
    assert (full.rope_theta, full.context.window) == (1e6, None)
    for schedule in (sliding, full):
        assert (schedule.head_dim, schedule.rotary_dim) == (256, 256)
        assert schedule.context.declared == 32768
        with mpmath.workdps(30):
            exact = [mpmath.power(schedule.rope_theta, -mpmath.mpf(k) / 128) for k in range(128)]
        assert schedule.inv_freq == tuple(f32(float(v)) for v in exact)
        assert within_one_ulp(schedule.inv_freq, schedule.rope_theta or 0.0, 256)
    assert not resolution.observations


@pytest.mark.parametrize("name", sorted(llama_cpp._IMPORTED))
def test_scaling_lost_by_the_import_of_transformers_is_said(name: str) -> None:
    ggml = pytest.importorskip("transformers.integrations.ggml")
    theirs = {"qwen2moe": "qwen2_moe", "qwen3moe": "qwen3_moe", "minimax-m2": "minimax_m2"}
    mapping = ggml.GGUF_CONFIG_MAPPING[theirs.get(name, name)]
    assert not [key for key in mapping if "scaling" in key or "factors" in key]


def test_the_import_note_needs_a_scaling_to_lose() -> None:
    shape = {"context_length": 8192, "embedding_length": 512, "attention.head_count": 4}
    linear = {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}
    assert "transformers_import" in notes(build("llama", {**shape, **linear}))
    assert "transformers_import" in notes(build("llama", shape, {"rope_freqs.weight": [2.0] * 64}))
    assert "transformers_import" not in notes(build("llama", shape))
