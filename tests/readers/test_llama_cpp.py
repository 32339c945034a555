"""What llama.cpp builds: against runs of llama.cpp itself, real accidents and real models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from ropeaudit.facts import Location, Oddity, Origin
from ropeaudit.readers import llama_cpp
from ropeaudit.schedule.float32 import f32, f32s, ulp_distance
from ropeaudit.sources import gguf
from tests import models
from tests.gguf_files import write
from tests.gguf_readings import SHAPE, build, kinds, llama3_factors, notes, seen

MEASURED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures/gguf/measured.json").read_text()
)["cases"]


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
