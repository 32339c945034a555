"""Model types whose code is not in transformers, against closed forms in float64."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ropeaudit.document import parse
from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Oddity, Reading
from ropeaudit.readers import transformers
from ropeaudit.readers.interface import Resolution
from ropeaudit.schedule.core import Schedule

WIDTHS = {"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 4}


def resolve(config: dict[str, Any], lengths: tuple[int, ...] = ()) -> Resolution:
    document = parse(json.dumps(config), "config.json")
    reading = Reading(target="m", format="hf-config", document=document)
    return transformers.read(reading, lengths)


def only(config: dict[str, Any]) -> Schedule:
    (found,) = resolve(config).schedules
    return found


def ladder(base: float, dim: int) -> list[float]:
    return [base ** (-2 * k / dim) for k in range(dim // 2)]


def kinds(config: dict[str, Any]) -> set[Oddity]:
    return {o.kind for o in resolve(config).observations}


@pytest.mark.parametrize(
    ("config", "base", "dim", "pairing"),
    [
        ({"model_type": "Yi", "rope_theta": 5e6}, 5e6, 128, "half"),
        ({"model_type": "orion"}, 1e4, 128, "half"),
        ({"model_type": "internlm2", "rope_theta": 1e6}, 1e6, 128, "half"),
        ({"model_type": "minicpm", "rope_theta": 1e4}, 1e4, 128, "half"),
        ({"model_type": "grok-1", "rope_theta": 1e4}, 1e4, 128, "half"),
        ({"model_type": "deepseek", "rope_theta": 1e4}, 1e4, 128, "half"),
        ({"model_type": "exaone", "rope_theta": 1e6, "num_layers": 4}, 1e6, 128, "half"),
        ({"model_type": "baichuan", "max_position_embeddings": 4096}, 1e4, 128, "half"),
        ({"model_type": "chatglm", "kv_channels": 128}, 1e4, 64, "interleaved"),
        ({"model_type": "chatglm", "kv_channels": 128, "rope_ratio": 500}, 5e6, 64, "interleaved"),
        ({"model_type": "chatglm", "kv_channels": 256, "rope_ratio": 50}, 5e5, 128, "interleaved"),
        ({"model_type": "qwen", "kv_channels": 128, "rotary_emb_base": 1e6}, 1e6, 128, "half"),
        ({"model_type": "qwen", "rotary_pct": 0.5}, 1e4, 64, "half"),
        ({"model_type": "phi3small"}, 1e6, 128, "half"),
        ({"model_type": "phi3small", "rope_embedding_base": 5e5}, 5e5, 128, "half"),
        ({"model_type": "openelm", "rope_freq_constant": 20000, "head_dim": 64}, 2e4, 64, "half"),
        ({"model_type": "stablelm_epoch", "rope_pct": 0.25, "rope_theta": 1e4}, 1e4, 32, "half"),
        ({"model_type": "minimax_m3", "rotary_dim": 64, "head_dim": 128}, 5e6, 64, "half"),
        ({"model_type": "roformer"}, 1e4, 128, "interleaved"),
        ({"model_type": "gptj", "n_embd": 4096, "n_head": 16}, 1e4, 64, "interleaved"),
        ({"model_type": "codegen", "rotary_dim": 32}, 1e4, 32, "interleaved"),
        ({"model_type": "phi-msft", "rotary_dim": 32, "n_embd": 2048}, 1e4, 32, "half"),
        ({"model_type": "gptj", "n_embd": 1408, "rotary_dim": 30}, 1e4, 30, "interleaved"),
        (
            {"model_type": "mimo", "rope_theta": 6.4e5, "use_sliding_window": False},
            6.4e5,
            128,
            "half",
        ),
        ({"model_type": "minimax_m1", "rotary_dim": 64, "rope_theta": 1e7}, 1e7, 64, "half"),
        ({"model_type": "minimax_text_01", "rotary_dim": 64, "rope_theta": 1e7}, 1e7, 64, "half"),
        ({"model_type": "bailing_moe", "partial_rotary_factor": 0.5}, 1e4, 64, "half"),
        ({"model_type": "nomic_bert", "n_head": 8, "rotary_emb_base": 2e4}, 2e4, 512, "half"),
        ({"model_type": "nomic_bert", "n_embd": 1024, "n_head": 16}, 1e3, 64, "half"),
        ({"model_type": "dbrx", "attn_config": {"rope_theta": 5e5}}, 5e5, 128, "half"),
        (
            {
                "model_type": "xlm-roberta",
                "position_embedding_type": "rotary",
                "rotary_emb_base": 20000.0,
            },
            2e4,
            128,
            "half",
        ),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else None,
)
def test_the_table_is_that_of_the_models_own_code(
    config: dict[str, Any], base: float, dim: int, pairing: str
) -> None:
    found = only({**WIDTHS, **config})
    assert found.inv_freq == pytest.approx(ladder(base, dim), rel=1e-6)
    assert (found.rope_theta, found.rotary_dim, found.pairing) == (base, dim, pairing)


@pytest.mark.parametrize("name", ["nemotron-nas", "minicpmv", "minicpmo", "molmo", "arctic"])
def test_code_of_its_own_that_rotates_as_llama_does(name: str) -> None:
    found = resolve({**WIDTHS, "model_type": name, "rope_theta": 1e6})
    assert found.schedules[0].inv_freq == pytest.approx(ladder(1e6, 128), rel=1e-6)
    assert [o.kind for o in found.observations] == [Oddity.MODEL_SPECIFIC]


def test_what_rests_on_remote_code_is_observed_once() -> None:
    result = resolve({**WIDTHS, "model_type": "orion", "rope_theta": 1e4})
    (seen,) = result.observations
    assert seen.kind is Oddity.MODEL_SPECIFIC
    assert seen.location is not None
    assert seen.location.pointer == "/model_type"
    assert "Orion" in seen.message


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "baichuan", "hidden_size": 5120, "num_attention_heads": 40},
        {"model_type": "mpt", "d_model": 4096, "n_heads": 32},
        {"model_type": "jais", "n_embd": 2048, "n_head": 16},
        {"model_type": "btlm", "n_embd": 2560, "n_head": 32},
        {"model_type": "RefinedWebModel", "alibi": True},
        {"model_type": "xlm-roberta", **WIDTHS},
        {"model_type": "xlm-roberta", "position_embedding_type": "absolute", **WIDTHS},
        {"model_type": "new", "position_embedding_type": "absolute", **WIDTHS},
        {"model_type": "phi4flash", **WIDTHS},
        {"model_type": "kimi_k3", "text_config": {"model_type": "kimi_linear", **WIDTHS}},
    ],
    ids=lambda config: config["model_type"],
)
def test_models_that_rotate_nothing_say_so(config: dict[str, Any]) -> None:
    result = resolve(config)
    assert result.schedules == ()
    assert [n.kind for n in result.notes] == ["no_rotary"]


def test_a_position_scale_is_linear_scaling() -> None:
    found = only({**WIDTHS, "model_type": "phi3small", "rope_position_scale": 4.0})
    assert found.rope_type == "linear"
    assert found.inv_freq == pytest.approx([t / 4 for t in ladder(1e6, 128)], rel=1e-6)
    assert found.unscaled == pytest.approx(ladder(1e6, 128), rel=1e-6)
    for scale in (0, -1, "2"):
        with pytest.raises(InvalidValue, match="rope_position_scale"):
            only({**WIDTHS, "model_type": "phi3small", "rope_position_scale": scale})


def test_hunyuan_alpha_is_a_fixed_base_and_not_dynamic() -> None:
    scaling = {"type": "dynamic", "factor": 1.0, "alpha": 1000.0}
    found = only({**WIDTHS, "model_type": "hunyuan", "rope_scaling": scaling})
    assert found.name == "text"
    assert found.inv_freq == pytest.approx(ladder(1e4 * 1000 ** (128 / 126), 128), rel=2e-6)


def test_gte_ntk_raises_the_base_and_shrinks_the_step() -> None:
    config = {**WIDTHS, "model_type": "new", "rope_theta": 160000}
    found = only({**config, "rope_scaling": {"type": "ntk", "factor": 2.0}})
    wanted = [t / 2 ** (2 / 128) for t in ladder(320000, 128)]
    assert found.inv_freq == pytest.approx(wanted, rel=1e-6)
    # The slowest channel turns at half its speed; the fastest hardly changes.
    assert found.unscaled == pytest.approx(ladder(160000, 128), rel=1e-6)
    assert found.unscaled is not None
    assert found.inv_freq[-1] / found.unscaled[-1] == pytest.approx(1 / 2, rel=1e-3)
    assert only(config).inv_freq == pytest.approx(ladder(160000, 128), rel=1e-6)


def test_ntk_means_nothing_where_the_model_type_does_not_say_what_it_means() -> None:
    config = {**WIDTHS, "rope_theta": 1e4, "rope_scaling": {"type": "ntk", "factor": 2.0}}
    for model_type in ("nemotron_flash", "llama"):
        result = resolve({**config, "model_type": model_type})
        assert result.schedules == ()
        assert Oddity.TYPE_UNKNOWN in {o.kind for o in result.observations}


def test_kimi_k2_is_deepseek_v3() -> None:
    scaling = {
        "type": "yarn",
        "factor": 32.0,
        "original_max_position_embeddings": 4096,
        "beta_fast": 1.0,
        "beta_slow": 1.0,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    }
    config = {
        **WIDTHS,
        "qk_rope_head_dim": 64,
        "max_position_embeddings": 131072,
        "rope_theta": 50000.0,
        "rope_scaling": scaling,
    }
    kimi, deepseek = (only({**config, "model_type": t}) for t in ("kimi_k2", "deepseek_v3"))
    assert kimi.inv_freq == deepseek.inv_freq
    assert kimi.softmax_scale == deepseek.softmax_scale > 1.0
    assert kimi.rotary_dim == 64


@pytest.mark.parametrize(
    "spelling",
    [
        {"partial_rotary_factor": 0.25},
        {"rotary_pct": 0.25},
        {"rope_pct": 0.25},
        {"rope_percent": 0.25},
        {"rope_percentage": 0.25},
        {"rotary_emb_fraction": 0.25},
        {"rotary_dim": 32},
    ],
    ids=lambda spelling: list(spelling)[-1],
)
def test_an_unknown_type_may_spell_the_fraction_in_any_known_way(
    spelling: dict[str, Any],
) -> None:
    config = {**WIDTHS, "model_type": "no_such_model", "rope_theta": 1e5, **spelling}
    found = only(config)
    assert found.rotary_dim == 32
    assert found.inv_freq == pytest.approx(ladder(1e5, 32), rel=1e-6)
    assert Oddity.GENERIC_READING in kinds(config)


@pytest.mark.parametrize("key", ["rope_theta", "rotary_emb_base", "rope_embedding_base"])
def test_an_unknown_type_may_spell_the_base_in_any_known_way(key: str) -> None:
    found = only({**WIDTHS, "model_type": "no_such_model", key: 7e5, "rotary_pct": 1.0})
    assert found.rope_theta == 7e5


@pytest.mark.parametrize(
    ("config", "wanted", "axes"),
    [
        ({"axes_dims_rope": [16, 56, 56]}, [16, 56, 56], "thw"),
        ({"axes_dims_rope": [32] * 4, "rope_theta": 2000}, [32] * 4, "thwl"),
        ({"rope_axes_dim": [64, 64], "rope_theta": 256.0}, [64, 64], "hw"),
        ({"axes_dim_rope": [32, 32, 32], "theta": 1e4}, [32, 32, 32], "thw"),
    ],
)
def test_image_transformers_have_a_ladder_for_each_axis(
    config: dict[str, Any], wanted: list[int], axes: str
) -> None:
    found = only({"_class_name": "SomeTransformer2DModel", "attention_head_dim": 128, **config})
    base = config.get("rope_theta", 1e4)
    assert found.inv_freq == pytest.approx([t for d in wanted for t in ladder(base, d)], rel=1e-6)
    assert found.name == "transformer"
    assert not found.is_text
    assert "".join(a.axis for a in found.axes or ()) == axes
    assert all(len({found.inv_freq[k] for k in g}) == len(g) for g in found.groups())


def test_axes_that_do_not_fit_the_head_are_seen() -> None:
    config = {"_class_name": "X", "attention_head_dim": 64, "axes_dims_rope": [16, 56, 56]}
    assert Oddity.LENGTH_MISMATCH in kinds(config)


@pytest.mark.parametrize(
    "config",
    [
        {"axes_dims_rope": []},
        {"axes_dims_rope": [16, 55]},
        {"axes_dims_rope": [16, "56"]},
        {"axes_dims_rope": [2] * 17},
        {"axes_dims_rope": [10**9, 2]},
        {"axes_dims_rope": [16], "rope_theta": "x"},
        {"axes_dims_rope": [16], "rope_theta": -1},
        {"rope_freq_dim": 0},
        {"rope_freq_dim": 1e9},
        {"_class_name": "WanTransformer3DModel", "attention_head_dim": 4},
        {"_class_name": "WanTransformer3DModel", "attention_head_dim": "64"},
    ],
)
def test_axes_that_are_no_widths_are_one_clear_error(config: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue) as caught:
        resolve({"_class_name": "X", **config})
    assert caught.value.where is not None


def test_wan_splits_the_head_in_three_and_not_every_head_can() -> None:
    wan = {"_class_name": "WanTransformer3DModel", "attention_head_dim": 128}
    found = only(wan)
    assert [a.channels for a in found.axes or ()] == [(0, 21), (22, 42), (43, 63)]
    widths = [44, 42, 42]
    assert found.inv_freq == pytest.approx([t for d in widths for t in ladder(1e4, d)], rel=1e-6)
    assert Oddity.LENGTH_MISMATCH not in kinds(wan)
    (seen,) = [
        o
        for o in resolve({**wan, "attention_head_dim": 64}).observations
        if o.kind is Oddity.LENGTH_MISMATCH
    ]
    assert seen.evidence["expected"] == [24, 20, 20]
    assert seen.evidence["found"] == [22, 21, 21]


def test_a_law_named_on_the_top_level_is_not_passed_over() -> None:
    config = {"model_type": "nemotron_flash", "rope_type": "ntk", "rope_theta": 1e4}
    result = resolve(config)
    assert result.schedules == ()
    (seen,) = [o for o in result.observations if o.kind is Oddity.TYPE_UNKNOWN]
    assert seen.location is not None
    assert seen.location.pointer == "/rope_type"
    assert only({**WIDTHS, "model_type": "nemotron_flash", "rope_theta": 1e4}).rotary_dim == 128
