"""Which layers and channels turn in each architecture of llama.cpp, and by which base."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Oddity
from ropeaudit.readers import llama_cpp
from ropeaudit.readers.llama_cpp.architectures import ARCHITECTURES
from ropeaudit.records import replace
from ropeaudit.schedule.core import Axis
from ropeaudit.schedule.float32 import f32, f32s
from tests.gguf_readings import SHAPE, SWA, WINDOW, build, notes, reading, seen


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


@pytest.mark.parametrize("name", ["llama", "olmo", "smollm3", "baichuan", "muse-glimmer"])
def test_rows_that_converters_reorder(name: str) -> None:
    """The architectures whose converters turn half pairs into interleaved ones."""
    resolution = build(name, SHAPE)
    for schedule in resolution.schedules:
        assert schedule.pairing == "interleaved"
        assert schedule.parameters["pairing_before_conversion"] == "half"
    assert "half pairs of the original" in " ".join(notes(resolution).values())


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
    with pytest.raises(InvalidValue, match="base is Infinity"):
        build("hunyuan_vl", keys | {"rope.scaling.alpha": 1e308, "attention.key_length": 4})


def test_step_35_turns_half_of_full_layers() -> None:
    keys = SHAPE | WINDOW | {"attention.sliding_window_pattern": [0, 1, 1, 1] * 2}
    factors = [1.0] * 20 + [2.0] * 12 + [1.0] * 32
    full, sliding = build("step35", keys, {"rope_freqs.weight": factors}).schedules
    assert (full.rotary_dim, sliding.rotary_dim) == (64, 128)
    assert full.inv_freq[-1] == f32(1e4 ** (-62 / 64) / 2)
    assert sliding.inv_freq == sliding.unscaled
