"""DeepSpeed's reader: one base for all layers, and no scaling."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.readers.engines import deepspeed
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses
from tests.engine_vectors import request

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 512, "num_attention_heads": 4, "num_hidden_layers": 2,
    "max_position_embeddings": 8192, "rope_theta": 500000.0,
}  # fmt: skip


def build(config: dict[str, Any]) -> Built:
    asked = request({"config": config, "file": "config.json"})
    return deepspeed.build(asked, deepspeed.RELEASES[0])


@pytest.mark.parametrize("kind", ["linear", "dynamic", "yarn", "llama3", "longrope"])
def test_every_kind_of_scaling_is_refused(kind: str) -> None:
    lists = {"short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
    more = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    scaling = {"rope_type": kind, "factor": 2.0, **lists, **more}
    scaling["original_max_position_embeddings"] = 1024
    with pytest.raises(Refuses, match=kind):
        build({**LLAMA, "rope_scaling": scaling})


def test_the_base_comes_from_either_schema() -> None:
    new = {k: v for k, v in LLAMA.items() if k != "rope_theta"}
    new["rope_parameters"] = {"rope_type": "default", "rope_theta": 500000.0}
    assert build(LLAMA).schedules[0].rope_theta == build(new).schedules[0].rope_theta == 5e5
    assert build(new).ignored == ()


def test_a_stated_head_width_is_passed_over() -> None:
    found = build({**LLAMA, "head_dim": 64})
    assert found.schedules[0].rotary_dim == 128
    assert [n.kind for n in found.notes] == ["forward_fails"]


def test_phi_turns_a_part_and_falcon_has_its_own_base() -> None:
    phi = {**LLAMA, "model_type": "phi", "partial_rotary_factor": 0.25}
    assert build(phi).schedules[0].rotary_dim == 32
    falcon = build({**LLAMA, "model_type": "falcon"})
    assert falcon.schedules[0].rope_theta == 1e4
    assert falcon.ignored == ("/rope_theta",)


@pytest.mark.parametrize("kind", ["qwen3", "gemma3_text", "gpt_neox", None])
def test_types_without_a_policy_are_not_covered(kind: str | None) -> None:
    with pytest.raises(NotCovered):
        build({**LLAMA, "model_type": kind})


@given(
    base=st.floats(1e3, 1e8), kind=st.sampled_from(["llama", "mistral", "mixtral", "qwen2", "phi3"])
)
def test_a_plain_model_is_the_reference(base: float, kind: str) -> None:
    asked = request(
        {"config": {**LLAMA, "model_type": kind, "rope_theta": base}, "file": "config.json"}
    )
    assert asked.reference is not None
    (found,) = deepspeed.build(asked, deepspeed.RELEASES[0]).schedules
    assert found.inv_freq == asked.reference.schedules[0].inv_freq
    assert found.rotary_dim == asked.reference.schedules[0].rotary_dim
