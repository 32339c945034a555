"""Live modules: real transformers models with tiny configs, bare and inside of wrappers."""

from __future__ import annotations

import dataclasses
import types
from typing import Any

import pytest

from ropeaudit.errors import InvalidValue
from ropeaudit.sources import live_module
from tests.tiny_models import SIZES, by_place, llama

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def test_plain_model() -> None:
    model = llama()
    reading = live_module.read(model)
    tables = by_place(reading)
    assert set(tables) == {"model.rotary_emb.inv_freq", "model.rotary_emb.original_inv_freq"}
    table = tables["model.rotary_emb.inv_freq"]
    assert table.values == tuple(model.model.rotary_emb.inv_freq.tolist())
    assert (table.dtype, table.shape, table.location.file) == ("float32", (8,), "<module>")
    assert table.attention_scaling == 1.0
    assert table.state["config"] == ""
    assert table.state["device"] == "cpu"
    assert table.state["module"] == "LlamaRotaryEmbedding"
    assert (reading.format, reading.target) == ("module", "LlamaForCausalLM")
    assert reading.document.data["rope_parameters"] == model.config.rope_parameters
    assert reading.document.file == "<module>"
    assert reading.files[0].bytes_read == 2 * 8 * 4
    assert reading.notes == ()


def test_one_table_a_layer_type() -> None:
    config = transformers.Gemma3TextConfig(**SIZES | {"num_hidden_layers": 6, "head_dim": 16})
    tables = by_place(live_module.read(transformers.Gemma3ForCausalLM(config)))
    for kind, base in (("sliding_attention", 1e4), ("full_attention", 1e6)):
        table = tables[f"model.rotary_emb.{kind}_inv_freq"]
        assert table.state["layer_type"] == kind
        assert table.state["rope_type"] == "default"
        assert table.values[1] == pytest.approx(base ** (-2 / 16), rel=1e-6)


def test_one_module_a_layer() -> None:
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    model = llama(num_hidden_layers=3)
    shared = LlamaRotaryEmbedding(model.config)
    for at, layer in enumerate(model.model.layers):
        layer.self_attn.rotary_emb = LlamaRotaryEmbedding(model.config) if at < 2 else shared
    model.model.layers[0].mlp.rotary_emb = shared
    tables = [t for t in live_module.read(model).tables if not t.name.endswith("original_inv_freq")]
    assert [t.layer for t in tables] == [0, 0, 1, None]
    assert len({id(t.values) for t in tables}) == 1, "equal tables share their values"


def longrope() -> Any:
    scaling = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": [1.0] * 8,
        "long_factor": [2.0] * 8,
        "original_max_position_embeddings": 16,
        "factor": 4.0,
    }
    options = {"rope_parameters": scaling, "original_max_position_embeddings": 16}
    return transformers.Phi3ForCausalLM(transformers.Phi3Config(**SIZES | options))


@pytest.mark.parametrize(("length", "which"), [(8, "short"), (20, "long")])
def test_longrope_says_which_list_is_current(length: int, which: str) -> None:
    model = longrope()
    with torch.no_grad():
        model(torch.ones(1, length, dtype=torch.long))
    reading = live_module.read(model)
    tables = by_place(reading)
    assert set(tables) == {
        f"model.rotary_emb.{kind}inv_freq" for kind in ("", "original_", "long_")
    }, "long_inv_freq is a plain attribute and no buffer"
    assert tables["model.rotary_emb.inv_freq"].attention_scaling == pytest.approx(1.2247449)
    (note,) = reading.notes
    assert note.kind == "current_list"
    assert f"the {which} list" in note.message


def test_dynamic_after_a_long_prompt_is_stale() -> None:
    scaling = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
    model = llama(rope_parameters=scaling)
    before = live_module.read(model)
    assert before.notes == ()
    with torch.no_grad():
        model(torch.ones(1, 200, dtype=torch.long))
    reading = live_module.read(model)
    tables = by_place(reading)
    table = tables["model.rotary_emb.inv_freq"]
    assert table.state["max_seq_len_cached"] == 200
    assert table.state["original_max_seq_len"] == 64
    assert table.values != tables["model.rotary_emb.original_inv_freq"].values
    (note,) = reading.notes
    assert note.kind == "stale_buffer"
    assert "200 positions" in note.message


def test_cast_buffers_keep_their_exact_values() -> None:
    model = llama().to(torch.bfloat16)
    table = by_place(live_module.read(model))["model.rotary_emb.inv_freq"]
    assert table.dtype == "bfloat16"
    assert table.values == tuple(model.model.rotary_emb.inv_freq.double().tolist())


def test_meta_device_has_no_values_and_says_so() -> None:
    with torch.device("meta"):
        model = llama()
    reading = live_module.read(model)
    assert reading.tables == ()
    assert reading.document is not None
    assert [n.kind for n in reading.notes] == ["meta_tensor"] * 2
    assert "model.rotary_emb.inv_freq" in reading.notes[0].message


def test_uninitialised_memory_is_reported_as_it_is() -> None:
    with torch.device("meta"):
        model = llama()
    model.to_empty(device="cpu")
    with torch.no_grad():
        model.model.rotary_emb.inv_freq.fill_(float("nan"))
        model.model.rotary_emb.inv_freq[0] = -1.5e34
    table = by_place(live_module.read(model))["model.rotary_emb.inv_freq"]
    assert table.values[0] == pytest.approx(-1.5e34)
    assert all(v != v for v in table.values[1:])


def test_config_changed_after_construction_shows_beside_the_old_buffer() -> None:
    model = llama()
    old = tuple(model.model.rotary_emb.inv_freq.tolist())
    model.config.rope_parameters["rope_theta"] = 500000.0
    reading = live_module.read(model)
    assert reading.document.data["rope_parameters"]["rope_theta"] == 500000.0
    assert by_place(reading)["model.rotary_emb.inv_freq"].values == old


class Meta(torch.nn.Module):
    """A model that keeps complex rows as a plain attribute, and its settings as a dataclass."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        angles = torch.outer(torch.arange(8.0), torch.tensor([1.0, 0.1]))
        self.freqs_cis = torch.polar(torch.ones_like(angles), angles)
        self.register_buffer("cos_cached", angles.cos() * 2, persistent=False)
        self.register_buffer("sin_cached", angles.sin() * 2, persistent=False)


@dataclasses.dataclass
class Settings:
    dim: int = 64
    rope_theta: float = 10000.0
    kind: Any = torch.float32


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"rope_theta": 5e5, "kind": torch.float16}, {"rope_theta": 5e5, "kind": "torch.float16"}),
        (Settings(), {"dim": 64, "rope_theta": 10000.0, "kind": "torch.float32"}),
        (types.SimpleNamespace(dim=8, layers=(1, 2)), {"dim": 8, "layers": [1, 2]}),
    ],
    ids=["dict", "dataclass", "namespace"],
)
def test_models_without_transformers(config: Any, expected: Any) -> None:
    reading = live_module.read(Meta(config))
    assert reading.document.data == expected
    tables = by_place(reading)
    assert set(tables) == {"freqs_cis", "cos_cached"}
    for table in tables.values():
        assert table.role == "cos_sin_cache"
        assert table.values == pytest.approx((1.0, 0.1), rel=1e-6)
    assert tables["cos_cached"].attention_scaling == 2.0


def test_the_rotary_module_alone_brings_its_config() -> None:
    reading = live_module.read(llama().model.rotary_emb)
    assert set(by_place(reading)) == {"inv_freq", "original_inv_freq"}
    assert reading.document.data["model_type"] == "llama"


def test_config_is_taken_from_the_rotary_modules_when_the_root_has_none() -> None:
    root = torch.nn.Sequential(llama().model.rotary_emb, torch.nn.Linear(2, 2))
    reading = live_module.read(root)
    assert reading.document.data["model_type"] == "llama"


def test_learned_frequencies_are_read() -> None:
    model = torch.nn.Module()
    model.rope = torch.nn.Module()
    model.rope.freqs = torch.nn.Parameter(torch.ones(2, 4, 8))
    (table,) = live_module.read(model).tables
    assert (table.role, table.shape) == ("learned", (2, 4, 8))
    assert table.values == (1.0,) * 64


def test_nothing_to_audit() -> None:
    reading = live_module.read(torch.nn.Linear(2, 2))
    assert [n.kind for n in reading.notes] == ["insufficient"]
    assert reading.tables == ()
    with pytest.raises(InvalidValue, match=r"expected a path, an hf: id or a torch\.nn\.Module"):
        live_module.read(42)


def test_no_parameter_is_touched() -> None:
    """A weight without storage would raise as soon as anything asked for its values."""
    model = llama()
    for _, parameter in model.named_parameters():
        parameter.data = torch.empty(0)
    assert len(live_module.read(model).tables) == 2


def test_sines_before_cosines() -> None:
    config = transformers.GPTJConfig(
        n_embd=64, n_head=2, n_layer=2, rotary_dim=16, n_positions=32, vocab_size=64
    )
    tables = live_module.read(transformers.GPTJForCausalLM(config)).tables
    assert len(tables) >= 1
    for table in tables:
        expected = [10000 ** (-2 * k / 16) for k in range(8)]
        assert table.values == pytest.approx(expected, rel=1e-6)
        assert table.role == "cos_sin_cache"


class Odd:
    """A config whose own code fails."""

    def to_dict(self) -> Any:
        raise RuntimeError("no\ndict")


def test_a_config_that_cannot_be_read_leaves_the_tables() -> None:
    reading = live_module.read(Meta(Odd()))
    assert len(reading.tables) == 2
    assert reading.document is None
    assert reading.notes[0].kind == "config_unread"
    assert reading.notes[0].message.isprintable()


def test_odd_values_in_a_config_become_plain() -> None:
    config = {
        "weights": torch.zeros(100, 100),
        "few": torch.tensor([1.0, 2.0]),
        "id2label": {0: "a"},
        "kinds": {"x"},
        "self": None,
    }
    config["self"] = config
    data = live_module.read(Meta(config)).document.data
    assert (data["weights"], data["few"]) == ("Tensor", [1.0, 2.0])
    assert (data["id2label"], data["kinds"]) == ({"0": "a"}, ["x"])


def test_real_data_parallel_wrapper() -> None:
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        reading = live_module.read(DistributedDataParallel(llama()))
    finally:
        dist.destroy_process_group()
    assert reading.target == "LlamaForCausalLM"
    assert by_place(reading)["module.model.rotary_emb.inv_freq"].name == "model.rotary_emb.inv_freq"
    assert reading.document.data["model_type"] == "llama"


def test_real_fully_sharded_module() -> None:
    import torch.distributed as dist
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        mesh = dist.device_mesh.init_device_mesh("cpu", (1,))
        model = fully_shard(llama(), mesh=mesh)
        reading = live_module.read(model)
    finally:
        dist.destroy_process_group()
    assert set(by_place(reading)) >= {"model.rotary_emb.inv_freq"}
    assert reading.document.data["model_type"] == "llama"
