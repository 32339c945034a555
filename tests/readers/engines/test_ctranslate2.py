"""CTranslate2's reader: what its converter keeps of a config."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.readers.engines import ctranslate2
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses
from tests.attribute_rows import disagreements
from tests.engine_vectors import request

OLD, NEW = "ctranslate2+tf4.57", "ctranslate2+tf5.20"
LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 512, "num_attention_heads": 4, "num_hidden_layers": 6,
    "max_position_embeddings": 8192, "rope_theta": 500000.0,
}  # fmt: skip
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 1024,
}  # fmt: skip


def build(config: dict[str, Any], release: str = NEW) -> Built:
    chosen = next(r for r in ctranslate2.RELEASES if r.name == release)
    return ctranslate2.build(request({"config": config, "file": "config.json"}), chosen)


@pytest.mark.parametrize("release", [OLD, NEW])
def test_agrees_with_the_converter_on_random_configs(release: str) -> None:
    wrong, tables = disagreements(ctranslate2, release)
    assert wrong == []
    assert tables >= 40


def test_llama3_scaling_is_lost_and_on_4_the_base_too() -> None:
    config = {**LLAMA, "rope_scaling": LLAMA3}
    old, new = build(config, OLD), build(config, NEW)
    assert (old.schedules[0].rope_type, old.schedules[0].rope_theta) == ("default", 1e4)
    assert (new.schedules[0].rope_type, new.schedules[0].rope_theta) == ("default", 5e5)
    assert "/rope_theta" in old.ignored
    assert new.ignored == ("/rope_scaling",)


@pytest.mark.parametrize("kind", ["mistral", "qwen2", "qwen3"])
def test_only_the_llama_loader_saves_llama3(kind: str) -> None:
    config = {**LLAMA, "model_type": kind, "rope_scaling": {**LLAMA3, "rope_theta": 5e5}}
    for release in (OLD, NEW):
        with pytest.raises(Refuses, match="bounds"):
            build(config, release)


def test_linear_scaling_is_kept_with_the_base_inside_the_dict() -> None:
    scaling = {"rope_type": "linear", "factor": 4.0, "rope_theta": 5e5}
    for release in (OLD, NEW):
        found = build({**LLAMA, "rope_scaling": scaling}, release)
        (schedule,) = found.schedules
        assert (schedule.rope_type, schedule.rope_theta) == ("linear", 5e5)
        assert schedule.inv_freq[0] == 0.25
        assert found.ignored == ()


@pytest.mark.parametrize("kind", ["yarn", "dynamic", "longrope", "su"])
def test_other_types_stop_the_converter(kind: str) -> None:
    lists = {"short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
    scaling = {"rope_type": kind, "factor": 4.0, **lists}
    for release in (OLD, NEW):
        with pytest.raises(Refuses):
            build({**LLAMA, "rope_scaling": scaling}, release)


def test_gemma3_keeps_two_bases_and_no_scaling() -> None:
    gemma = {**LLAMA, "model_type": "gemma3_text", "head_dim": 128, "rope_theta": 2e6}
    gemma |= {"rope_local_base_freq": 2e4, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
    full, sliding = build(gemma, OLD).schedules
    assert (full.rope_theta, full.layers, full.rope_type) == (2e6, (5,), "default")
    assert (sliding.rope_theta, sliding.layers) == (2e4, (0, 1, 2, 3, 4))
    # transformers 5 has moved both bases into the dict by layer type, where it does not look.
    full, sliding = build(gemma, NEW).schedules
    assert (full.rope_theta, sliding.rope_theta) == (1e6, 1e4)


def test_neox_and_falcon_run_on_ten_thousand() -> None:
    neox = {**LLAMA, "model_type": "gpt_neox", "rotary_pct": 0.5, "rotary_emb_base": 50000}
    (schedule,) = build(neox, OLD).schedules
    assert (schedule.rope_theta, schedule.rotary_dim) == (1e4, 64)
    with pytest.raises(Refuses, match="rotary_pct"):
        build(neox, NEW)
    falcon = build({**LLAMA, "model_type": "falcon"}, OLD)
    assert falcon.schedules[0].rope_theta == 1e4
    assert falcon.ignored == ("/rope_theta",)


@pytest.mark.parametrize(
    ("change", "release", "error", "word"),
    [
        ({"model_type": "olmo2"}, NEW, Refuses, "registered"),
        ({"model_type": "phi3"}, NEW, Refuses, "Phi-3 loader"),
        ({"model_type": "phi"}, OLD, Refuses, "n_layer"),
        ({"model_type": "gemma4_text"}, NEW, NotCovered, "gemma4"),
        ({"model_type": "minimax_m2"}, OLD, Refuses, "does not know"),
        ({"rope_scaling": {"rope_type": "llama3"}}, OLD, Refuses, "misses"),
    ],
)
def test_says_why_nothing_is_converted(
    change: dict[str, Any], release: str, error: type[Exception], word: str
) -> None:
    with pytest.raises(error, match=word):
        build({**LLAMA, **change}, release)


@given(
    base=st.floats(1e3, 1e8),
    kind=st.sampled_from(["llama", "mistral", "qwen2", "qwen3"]),
    head=st.sampled_from([None, 64, 128]),
)
def test_a_plain_model_is_the_reference(base: float, kind: str, head: int | None) -> None:
    config = {**LLAMA, "model_type": kind, "rope_theta": base}
    if head is not None:
        config["head_dim"] = head
    asked = request({"config": config, "file": "config.json"})
    assert asked.reference is not None
    for release in ctranslate2.RELEASES:
        found = ctranslate2.build(asked, release)
        assert found.schedules[0].inv_freq == asked.reference.schedules[0].inv_freq
        assert found.ignored == () or (kind == "qwen2" and head == 64)
