"""The readers of ExLlamaV3 and ExLlamaV2: what they do with raw configs."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue
from ropeaudit.readers.engines import exllamav2, exllamav3
from ropeaudit.readers.engines._exl_layers import KINDS, RULES
from ropeaudit.readers.engines.interface import NotCovered, Refuses
from tests.engine_rows import build, disagreements, raw_request, refusal
from tests.oracles.engines.exllama_configs import config_of, draw

THREE, TWO = "exllamav3-1.6", "exllamav2-0.3"
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 512, "num_hidden_layers": 2,
    "intermediate_size": 256, "num_attention_heads": 4, "rms_norm_eps": 1e-6, "vocab_size": 128,
    "rope_theta": 500000.0, "max_position_embeddings": 8192, "hidden_act": "silu",
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
ENGINES = [(exllamav3, THREE), (exllamav2, TWO)]
COVERED = sorted(
    name for name, e in exllamav3.families().items() if not (e.get("skip") or e.get("still"))
)


@pytest.mark.parametrize(("engine", "release", "least"), [(*ENGINES[0], 85), (*ENGINES[1], 40)])
def test_agrees_with_the_engine_on_random_configs_of_every_architecture(
    engine: Any, release: str, least: int
) -> None:
    wrong, tables = disagreements(engine, release, draw)
    assert wrong == []
    assert tables >= least


def test_every_rule_of_the_architecture_data_is_known() -> None:
    for name, entry in exllamav3.families().items():
        assert entry.get("kind") in {None, *KINDS}, name
        assert entry.get("l") in {None, "hybrid", *RULES}, name
        assert entry.get("style", "half") in ("half", "interleaved"), name


def test_v3_takes_the_factor_of_yarn_from_the_two_lengths() -> None:
    built = build(exllamav3, THREE, {**LLAMA, "rope_scaling": YARN})
    assert built.schedules[0].attention_scaling == pytest.approx(0.1 * math.log(2) + 1)
    assert built.ignored == ("/rope_scaling/factor",)


def test_v3_reads_the_new_schema_and_v2_does_not() -> None:
    config = {k: v for k, v in LLAMA.items() if k != "rope_theta"}
    config["rope_parameters"] = {"rope_type": "default", "rope_theta": 250000.0}
    assert build(exllamav3, THREE, config).schedules[0].rope_theta == 250000.0
    old = build(exllamav2, TWO, config)
    assert old.schedules[0].rope_theta == 10000.0
    assert old.ignored == ("/rope_parameters",)


def test_v2_switches_yarn_on_beyond_the_original_length_only() -> None:
    config = {**LLAMA, "rope_scaling": YARN}
    release = exllamav2.RELEASES[0]
    on = exllamav2.build(raw_request(config), release).schedules[0]
    off = exllamav2.build(raw_request(config, (4096,)), release).schedules[0]
    assert (on.rope_type, off.rope_type) == ("yarn", "default")
    assert on.attention_scaling == pytest.approx(0.1 * math.log(4) + 1)


def test_v3_builds_both_lists_of_longrope_with_the_one_in_use_first() -> None:
    lists = {"short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
    scaling = {"type": "longrope", "original_max_position_embeddings": 4096, **lists}
    config = {**LLAMA, "rope_scaling": scaling}
    assert [s.name for s in build(exllamav3, THREE, config).schedules] == [
        "text/long",
        "text/short",
    ]
    config["max_position_embeddings"] = 4096
    built = build(exllamav3, THREE, config)
    assert [s.name for s in built.schedules] == ["text/short", "text/long"]
    assert built.schedules[0].attention_scaling == 1.0
    assert [n.kind for n in built.notes] == ["longrope_list"]


def test_v2_builds_one_list_of_longrope() -> None:
    lists = {"short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
    config = {**LLAMA, "rope_scaling": {"type": "longrope", **lists}}
    assert "original_max_position_embeddings" in refusal(exllamav2, TWO, config)
    config["original_max_position_embeddings"] = 4096
    assert [s.name for s in build(exllamav2, TWO, config).schedules] == ["text/long"]


@pytest.mark.parametrize(("engine", "release"), ENGINES)
def test_one_architecture_must_be_named(engine: Any, release: str) -> None:
    for named in (None, [], ["A", "B"], "LlamaForCausalLM"):
        assert "architectures" in refusal(engine, release, {**LLAMA, "architectures": named})


@pytest.mark.parametrize(("engine", "release"), ENGINES)
def test_an_unknown_architecture_is_not_covered(engine: Any, release: str) -> None:
    with pytest.raises(NotCovered, match="PhiForCausalLM"):
        build(engine, release, {**LLAMA, "architectures": ["PhiForCausalLM"]})


@pytest.mark.parametrize(("engine", "release"), ENGINES)
def test_an_excerpt_is_read_by_its_model_type(engine: Any, release: str) -> None:
    left_out = ("vocab_size", "intermediate_size", "architectures")
    excerpt = {k: v for k, v in LLAMA.items() if k not in left_out}
    built = build(engine, release, {**excerpt, "model_type": "llama"})
    assert [s.rope_theta for s in built.schedules] == [500000.0]
    assert [n.kind for n in built.notes] == ["excerpt"]
    with pytest.raises(NotCovered, match="architecture"):
        build(engine, release, {**excerpt, "model_type": "falcon"})
    assert "architectures" in refusal(engine, release, {**excerpt, "vocab_size": 128})


def test_v2_reads_the_names_that_dbrx_has() -> None:
    config = {
        "architectures": ["DbrxForCausalLM"], "n_layers": 2, "d_model": 512, "n_heads": 4,
        "attn_config": {"rope_theta": 5e5}, "max_seq_len": 4096, "vocab_size": 128,
    }  # fmt: skip
    schedule = build(exllamav2, TWO, config).schedules[0]
    assert (schedule.rope_theta, schedule.head_dim, schedule.layers) == (5e5, 128, (0, 1))
    assert schedule.context.declared == 4096


def test_v2_refuses_both_spellings_of_the_type() -> None:
    config = {**LLAMA, "rope_scaling": {"type": "linear", "rope_type": "linear", "factor": 2.0}}
    assert "both" in refusal(exllamav2, TWO, config)


def test_v3_insists_on_what_its_architecture_supports() -> None:
    assert "hidden_act" in refusal(exllamav3, THREE, {**LLAMA, "hidden_act": "gelu"})
    assert "intermediate_size" in refusal(
        exllamav3, THREE, {k: v for k, v in LLAMA.items() if k != "intermediate_size"}
    )


VALUES = st.sampled_from(
    [None, -1, 0, 1, 2.5, True, "x", [], [1, None], {}, {"factor": None}, 1e30]
)


@given(st.sampled_from(COVERED), st.integers(0, 2**32), st.data())
def test_odd_values_end_in_a_refusal_or_a_table(name: str, seed: int, data: st.DataObject) -> None:
    config = config_of(name, exllamav3.families()[name], random.Random(seed))
    part = config["text_config"] if isinstance(config.get("text_config"), dict) else config
    key = data.draw(st.sampled_from(sorted(part)))
    inner = part[key]
    if isinstance(inner, dict) and inner and data.draw(st.booleans()):
        inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(VALUES)
    else:
        part[key] = data.draw(VALUES)
    for engine, _ in ENGINES:
        try:
            built = engine.build(raw_request(config), engine.RELEASES[0])
        except (Refuses, NotCovered, InvalidValue) as error:
            assert str(error)
        else:
            assert all(s.inv_freq for s in built.schedules)
