"""Live modules below wrappers, and configs in several parts."""

from __future__ import annotations

from typing import Any

import pytest

from ropeaudit.sources import live_module
from tests.tiny_models import SIZES, by_place, llama

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


class Wrapper(torch.nn.Module):
    """As DDP, torch.compile, FSDP and PEFT do: the model is one attribute further down."""

    def __init__(self, name: str, inner: Any) -> None:
        super().__init__()
        self.add_module(name, inner)


@pytest.mark.parametrize(
    "path",
    [
        ["module"],
        ["_orig_mod"],
        ["_fsdp_wrapped_module"],
        ["base_model", "model"],
        ["module", "_orig_mod"],
    ],
    ids=".".join,
)
def test_wrappers_change_the_place_and_not_the_name(path: list[str]) -> None:
    model: Any = llama()
    for name in reversed(path):
        model = Wrapper(name, model)
    reading = live_module.read(model)
    prefix = ".".join(path)
    table = by_place(reading)[f"{prefix}.model.rotary_emb.inv_freq"]
    assert table.name == "model.rotary_emb.inv_freq"
    assert reading.document is not None
    assert table.state["config"] == ""


def test_sharded_layers_keep_their_layer() -> None:
    model = llama()
    for at, layer in enumerate(model.model.layers):
        layer.self_attn.rotary = torch.nn.Module()
        layer.self_attn.rotary.register_buffer("inv_freq", torch.ones(8))
        model.model.layers[at] = Wrapper("_fsdp_wrapped_module", layer)
    tables = by_place(live_module.read(model))
    table = tables["model.layers.1._fsdp_wrapped_module.self_attn.rotary.inv_freq"]
    assert (table.layer, table.name) == (1, "model.layers.1.self_attn.rotary.inv_freq")


def test_real_compile_wrapper() -> None:
    compiled = torch.compile(llama(), backend="eager")
    reading = live_module.read(compiled)
    assert reading.target == "LlamaForCausalLM"
    assert "_orig_mod.model.rotary_emb.inv_freq" in by_place(reading)


def test_nested_configs_are_told_apart() -> None:
    config = transformers.Qwen2VLConfig(
        text_config=SIZES | {"rope_parameters": {
            "rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]}},
        vision_config={"depth": 1, "embed_dim": 32, "num_heads": 2, "hidden_size": 64},
    )  # fmt: skip
    tables = by_place(live_module.read(transformers.Qwen2VLForConditionalGeneration(config)))
    text = tables["model.language_model.rotary_emb.inv_freq"]
    assert text.state["config"] == "/text_config"
    assert any("visual" in name for name in tables)
