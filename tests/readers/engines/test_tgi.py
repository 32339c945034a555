"""TGI's reader: which table its flash models choose."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.readers.engines import tgi
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses
from tests.attribute_rows import disagreements
from tests.engine_vectors import request

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 512, "num_attention_heads": 4, "num_hidden_layers": 6,
    "max_position_embeddings": 8192, "rope_theta": 500000.0,
}  # fmt: skip
YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}


def build(config: dict[str, Any], lengths: tuple[int, ...] = ()) -> Built:
    asked = request({"config": config, "file": "config.json"}, lengths)
    return tgi.build(asked, tgi.RELEASES[0])


def test_agrees_with_its_rotary_layer_on_random_configs() -> None:
    wrong, tables = disagreements(tgi, "tgi-2026.01")
    assert wrong == []
    assert tables >= 80


def test_linear_scaling_is_accepted_and_does_nothing() -> None:
    found = build({**LLAMA, "rope_scaling": {"rope_type": "linear", "factor": 4.0}})
    assert found.schedules[0].inv_freq == build(LLAMA).schedules[0].inv_freq
    assert found.ignored == ("/rope_scaling",)


def test_the_new_schema_is_not_read() -> None:
    config = {k: v for k, v in LLAMA.items() if k != "rope_theta"}
    config["rope_parameters"] = {"rope_type": "default", "rope_theta": 500000.0}
    found = build(config)
    assert found.schedules[0].rope_theta == 10000
    assert found.ignored == ("/rope_parameters",)


def test_yarn_takes_fixed_betas_and_its_own_attention() -> None:
    more = {"beta_fast": 4.0, "attention_factor": 1.0, "truncate": False}
    found = build({**LLAMA, "rope_scaling": {**YARN, **more}})
    (schedule,) = found.schedules
    assert schedule.inv_freq == build({**LLAMA, "rope_scaling": YARN}).schedules[0].inv_freq
    assert math.isclose(schedule.attention_scaling, 0.1 * math.log(4) + 1)
    assert set(found.ignored) == {f"/rope_scaling/{key}" for key in more}


@pytest.mark.parametrize(
    ("mscale", "all_dim", "wanted"),
    [(1.0, 1.0, 1.0), (1.0, 0.0, 0.1 * math.log(4) + 1),
     (2.0, 1.0, (0.2 * math.log(4) + 1) / (0.1 * math.log(4) + 1))],
)  # fmt: skip
def test_yarn_has_the_ratio_for_every_family(mscale: float, all_dim: float, wanted: float) -> None:
    scaling = {**YARN, "mscale": mscale, "mscale_all_dim": all_dim}
    (schedule,) = build({**LLAMA, "rope_scaling": scaling}).schedules
    assert math.isclose(schedule.attention_scaling, wanted)


def test_dynamic_scaling_grows_with_the_longest_sequence() -> None:
    found = build({**LLAMA, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, (8192, 20000))
    start, grown = found.schedules
    assert start.inv_freq == build(LLAMA).schedules[0].inv_freq
    base = 5e5 * (2.0 * 20000 / 8192 - 1.0) ** (128 / 126)
    assert math.isclose(grown.inv_freq[1], base ** (-2 / 128), rel_tol=1e-5)
    assert [n.kind for n in found.notes] == ["run_time_choice"]


def test_longrope_mixes_both_lists_in_one_sequence() -> None:
    lists = {"short_factor": [1.0] * 64, "long_factor": [4.0] * 64}
    config = {**LLAMA, "model_type": "phi3", "rope_scaling": {"type": "longrope", **lists}}
    config |= {"original_max_position_embeddings": 4096, "max_position_embeddings": 131072}
    found = build(config)
    assert [s.variant for s in found.schedules] == ["short", "long"]
    gain = math.sqrt(1 + math.log(32) / math.log(4096))
    assert all(math.isclose(s.attention_scaling, gain) for s in found.schedules)
    inside = {"rope_type": "longrope", **lists, "factor": 32.0}
    with pytest.raises(Refuses, match="original_max_position_embeddings"):
        build({**LLAMA, "rope_scaling": inside})


def test_deepseek_scales_logits_and_needs_yarn() -> None:
    config = {**LLAMA, "model_type": "deepseek_v3", "qk_rope_head_dim": 64}
    config |= {"rope_scaling": {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0}}
    (schedule,) = build(config).schedules
    assert schedule.pairing == "interleaved"
    assert math.isclose(schedule.softmax_scale, (0.1 * math.log(4) + 1) ** 2)
    with pytest.raises(Refuses, match="mscale_all_dim"):
        build({**config, "rope_scaling": None})


def test_gemma3_layers_follow_the_period_and_not_the_list() -> None:
    gemma = {**LLAMA, "model_type": "gemma3_text", "head_dim": 128, "sliding_window": 512}
    gemma |= {"layer_types": ["full_attention"] * 6, "rope_local_base_freq": 20000.0}
    full, sliding = build(gemma).schedules
    assert (full.name, full.layers, full.rope_theta) == ("text/full_attention", (5,), 5e5)
    assert (sliding.layers, sliding.rope_theta) == ((0, 1, 2, 3, 4), 2e4)


def test_heads_are_the_even_split_for_llama_and_stated_for_mistral() -> None:
    wide = {**LLAMA, "head_dim": 64}
    found = build(wide)
    assert found.schedules[0].rotary_dim == 128
    assert [n.kind for n in found.notes] == ["forward_fails"]
    assert build({**wide, "model_type": "mistral"}).schedules[0].rotary_dim == 64


@pytest.mark.parametrize(
    ("change", "error", "word"),
    [
        ({"model_type": "qwen3"}, NotCovered, "qwen3"),
        ({"model_type": None}, NotCovered, "without model_type"),
        ({"rope_scaling": {"rope_type": "odd"}}, Refuses, "odd"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}, Refuses, "original"),
        ({"model_type": "falcon", "alibi": True}, Refuses, "alibi"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, Refuses, "misses"),
    ],
)
def test_says_why_there_is_no_table(
    change: dict[str, Any], error: type[Exception], word: str
) -> None:
    with pytest.raises(error, match=word):
        build({**LLAMA, **change})


@given(base=st.floats(1e3, 1e8), heads=st.sampled_from([1, 2, 4, 8]))
def test_a_plain_model_is_the_reference(base: float, heads: int) -> None:
    config = {**LLAMA, "rope_theta": base, "num_attention_heads": heads}
    asked = request({"config": config, "file": "config.json"})
    assert asked.reference is not None
    (found,) = tgi.build(asked, tgi.RELEASES[0]).schedules
    assert found.inv_freq == asked.reference.schedules[0].inv_freq
    assert found.layers == tuple(range(6))
