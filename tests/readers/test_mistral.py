"""``params.json`` of Meta and Mistral, against closed forms and tables of another engine."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from ropeaudit.document import parse
from ropeaudit.facts import Oddity, Origin, Reading
from ropeaudit.readers import mistral
from tests.params_json import LLAMA2, LLAMA31, MINISTRAL, only, resolve, without


def plain(base: float, dim: int) -> list[float]:
    return [base ** (-2 * k / dim) for k in range(dim // 2)]


def yarn(base: float, dim: int, factor: float, original: float) -> list[float]:
    """The closed form in float64, written down independently of the package."""
    low = math.floor(dim * math.log(original / (32 * 2 * math.pi)) / (2 * math.log(base)))
    high = math.ceil(dim * math.log(original / (2 * math.pi)) / (2 * math.log(base)))
    low, high = max(low, 0), min(high, dim - 1)
    table = []
    for k, theta in enumerate(plain(base, dim)):
        ramp = min(max((k - low) / (high - low), 0.0), 1.0)
        table.append(theta / factor * ramp + theta * (1 - ramp))
    return table


def llama3(base: float, dim: int, factor: float, high: float) -> list[float]:
    table = []
    for theta in plain(base, dim):
        wavelength = 2 * math.pi / theta
        if wavelength > 8192:
            table.append(theta / factor)
        elif wavelength < 8192 / high:
            table.append(theta)
        else:
            smooth = (8192 / wavelength - 1) / (high - 1)
            table.append((1 - smooth) * theta / factor + smooth * theta)
    return table


def test_mistral_yarn_equals_the_closed_form_and_the_numbers_of_vllm() -> None:
    found = only(MINISTRAL)
    assert found.inv_freq == pytest.approx(yarn(1e6, 128, 16, 16384), rel=2e-6)
    # vLLM 0.33, measured on this schedule; its arithmetic differs in the last digits.
    assert found.inv_freq[0] == 1.0
    assert found.inv_freq[1] == pytest.approx(0.8058422, abs=1e-7)
    assert found.inv_freq[-1] == pytest.approx(7.755861e-08, rel=1e-6)
    assert (found.attention_scaling, found.softmax_scale) == (1.0, 1.0)
    assert (found.name, found.rope_type, found.pairing) == ("text", "yarn", "interleaved")
    assert (found.context.trained, found.context.declared) == (16384, 262144)
    assert not found.context.assumed
    assert {n.kind for n in resolve(MINISTRAL).notes} == {"attention_factor", "position_scaling"}


@pytest.mark.parametrize("stated", [True, None])
def test_apply_scale_puts_the_magnitude_on_a_dense_model(stated: bool | None) -> None:
    block = without(MINISTRAL["yarn"], "apply_scale")  # type: ignore[arg-type]
    if stated is not None:
        block["apply_scale"] = stated
    found = only({**MINISTRAL, "yarn": block})
    assert found.attention_scaling == pytest.approx(0.1 * math.log(16) + 1)
    assert found.softmax_scale == 1.0


def test_latent_attention_rotates_its_own_width_and_scales_the_logits() -> None:
    large = {
        **MINISTRAL,
        "rope_theta": 10000.0,
        "qk_rope_head_dim": 64,
        "yarn": {
            "factor": 36,
            "beta": 32,
            "alpha": 1,
            "original_max_position_embeddings": 8192,
            "apply_scale": False,
        },
    }
    found = only(large)
    assert (found.rotary_dim, len(found.inv_freq)) == (64, 32)
    assert found.parameters["ramp"] == (12, 25)
    assert (found.attention_scaling, found.softmax_scale) == (1.0, 1.0)
    scaled = only({**large, "yarn": {**large["yarn"], "apply_scale": True}})  # type: ignore[dict-item]
    assert scaled.attention_scaling == 1.0
    assert scaled.softmax_scale == pytest.approx(1.358351893845611**2)


def test_llama_31_takes_what_its_code_has_built_in_and_says_so() -> None:
    result = resolve(LLAMA31)
    (found,) = result.schedules
    assert found.inv_freq == pytest.approx(llama3(5e5, 128, 8, 4), rel=2e-6)
    assert found.head_dim == 128
    assert found.context.trained == 8192
    defaults = {f.field: f.value for f in found.provenance if f.origin is Origin.DEFAULT}
    assert defaults == {
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
    }
    assert [o.kind for o in result.observations] == [Oddity.MODEL_SPECIFIC]


def test_a_stated_factor_is_used_and_leaves_nothing_to_say() -> None:
    result = resolve({**LLAMA31, "rope_scaling_factor": 32.0, "rope_high_freq_factor": 4})
    assert result.schedules[0].inv_freq == pytest.approx(llama3(5e5, 128, 32, 4), rel=2e-6)
    assert result.observations == ()


def test_llama_4_leaves_out_every_fourth_layer() -> None:
    scout = {
        **without(LLAMA31, "ffn_dim_multiplier"),
        "n_layers": 8,
        "nope_layer_interval": 4,
        "rope_scaling_factor": 16,
        "rope_high_freq_factor": 1,
        "moe_args": {"num_experts": 16},
    }
    found = only(scout)
    assert found.layers == (0, 1, 2, 4, 5, 6)
    assert found.parameters["factor"] == 16
    # low = high = 1: wavelengths above 8192 are divided, the others kept, nothing between.
    split = [t / 16 if 2 * math.pi / t > 8192 else t for t in plain(5e5, 128)]
    assert found.inv_freq == pytest.approx(split, rel=2e-6)


@pytest.mark.parametrize(
    ("config", "base"),
    [
        (LLAMA2, 1e4),
        (without({**LLAMA31, "use_scaled_rope": False}, "rope_theta"), 5e5),
        (without(MINISTRAL, "rope_theta", "yarn"), 1e6),
        ({**without(MINISTRAL, "rope_theta", "yarn"), "sliding_window": 4096}, 1e4),
    ],
)
def test_a_missing_base_is_a_default_and_an_observation(
    config: dict[str, Any], base: float
) -> None:
    result = resolve(config)
    (found,) = result.schedules
    assert found.rope_theta == base
    assert found.inv_freq == pytest.approx(plain(base, 128), rel=1e-6)
    fact = found.fact("rope_theta")
    assert fact is not None
    assert fact.origin is Origin.DEFAULT
    (seen,) = [o for o in result.observations if o.kind is Oddity.BASE_DEFAULTED]
    assert seen.evidence == {"rope_theta": base, "scaled": False, "model_type": "params-json"}


def test_a_window_is_kept_and_a_list_of_windows_makes_two_schedules() -> None:
    config = {**without(MINISTRAL, "yarn"), "n_layers": 8}
    assert only({**config, "sliding_window": 4096}).context.window == 4096
    listed = resolve({**config, "sliding_window": [None, 1024, 1024, 1024]}).schedules
    by_name = {s.name: s for s in listed}
    assert by_name["text/full_attention"].layers == (0, 4)
    assert by_name["text/full_attention"].context.window is None
    assert by_name["text/sliding_attention"].layers == (1, 2, 3, 5, 6, 7)
    assert by_name["text/sliding_attention"].context.window == 1024
    three = resolve({**config, "sliding_window": [None, 1024, 2048]}).schedules
    assert len({s.name for s in three}) == 3


@pytest.mark.parametrize("place", ["vision_encoder", "multimodal"])
def test_pixtral_deals_one_ladder_to_rows_and_columns(place: str) -> None:
    tower = {
        "hidden_size": 1024,
        "num_attention_heads": 16,
        "image_size": 1024,
        "patch_size": 16,
        "rope_theta": 10000.0,
    }
    value = tower if place == "vision_encoder" else {"vision_encoder_args": tower}
    result = resolve({**MINISTRAL, place: value})
    found = {s.name: s for s in result.schedules}
    vision = found["vision"]
    ladder = plain(1e4, 64)
    assert vision.inv_freq == pytest.approx(ladder[::2] + ladder[1::2], rel=1e-6)
    assert vision.groups() == (tuple(range(16)), tuple(range(16, 32)))
    assert len(set(vision.inv_freq)) == 32
    assert found["text"].fact("rope_theta").value == 1e6  # type: ignore[union-attr]


def test_a_streaming_audio_encoder_rotates_and_whisper_does_not() -> None:
    encoder = {"dim": 1280, "n_heads": 20, "rope_theta": 1e6, "sliding_window": 750}
    with_rope = {"whisper_model_args": {"encoder_args": {**encoder, "pos_embed": "rope"}}}
    found = {s.name: s for s in resolve({**MINISTRAL, "multimodal": with_rope}).schedules}
    assert found["audio"].rotary_dim == 64
    assert found["audio"].context.window == 750
    sinusoids = {"whisper_model_args": {"encoder_args": encoder}}
    names = [s.name for s in resolve({**MINISTRAL, "multimodal": sinusoids}).schedules]
    assert names == ["text"]


def test_no_rotary_and_too_little_are_told_apart() -> None:
    mamba = resolve({"model_type": "mamba", "dim": 4096, "n_layers": 64})
    assert (mamba.schedules, mamba.notes[0].kind) == ((), "no_rotary")
    assert resolve({"n_layers": 3}).notes[0].kind == "insufficient"
    nothing = mistral.read(Reading(target="m", format="params-json"), ())
    assert nothing.schedules == ()


def test_places_point_into_the_file() -> None:
    text = json.dumps(MINISTRAL, indent=2)
    reading = Reading(target="m", format="params-json", document=parse(text, "params.json"))
    fact = mistral.read(reading, ()).schedules[0].fact("beta_fast")
    assert fact is not None
    assert fact.location is not None
    assert fact.location.pointer == "/yarn/beta"
    assert fact.location.line is not None
    assert '"beta": 32' in text.splitlines()[fact.location.line - 1]


def test_an_override_is_told_from_the_file() -> None:
    document = parse(json.dumps(MINISTRAL), "params.json").with_overrides({"/rope_theta": 5e5})
    reading = Reading(target="m", format="params-json", document=document)
    found = mistral.read(reading, ()).schedules[0]
    assert found.rope_theta == 5e5
    fact = found.fact("rope_theta")
    assert fact is not None
    assert fact.origin is Origin.OVERRIDE
