"""Configs of variants: what must stay, what changes, and what cannot be said."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from ropeaudit.export.interface import Written
from ropeaudit.export.writing import write
from ropeaudit.records import replace
from ropeaudit.resolve import resolve
from tests.export.configs import CONFIGS, DEEPSEEK, GEMMA3, LLAMA, LLAMA3, PHI3
from tests.export.variants import exported, folder, same_shape, variant

RECIPES = ("int8:sym", "int4:affine", "noise:eps=0.1,seed=3", "zero:from=3,to=5")


def rope_dicts(config: Any) -> list[dict[str, Any]]:
    """Every longrope dict of a config."""
    if not isinstance(config, dict):
        return []
    own = [config] if config.get("rope_type") == "longrope" else []
    return own + [d for v in config.values() for d in rope_dicts(v)]


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", CONFIGS)
def test_the_written_config_gives_the_wanted_tables(tmp_path: Path, name: str, recipe: str) -> None:
    source = folder(tmp_path / "model", CONFIGS[name])
    subject, made = variant(source, recipe)
    written = write(made, f"hf={tmp_path / 'out'}", source=subject)
    read = resolve(str(tmp_path / "out"))
    assert read.error is None
    found = {(s.layer_type, s.variant): s for s in read.built()}
    for wanted, claimed in zip(made.schedules, written.schedules, strict=True):
        for part in (wanted.variant,) if wanted.variant else ("short", "long"):
            own = found[wanted.layer_type, part]
            assert own.inv_freq == claimed.inv_freq
            assert own.rotary_dim == wanted.rotary_dim
            assert own.layers == wanted.layers
            assert own.attention_scaling == pytest.approx(wanted.attention_scaling, rel=1e-12)
            assert own.softmax_scale == pytest.approx(wanted.softmax_scale, rel=1e-12)
        same_shape(wanted, claimed.inv_freq)
    stable(tmp_path, made, written, subject)


def stable(tmp_path: Path, made: Any, written: Written, subject: Any) -> None:
    """The recorded tables, written again, give the same files bit for bit."""
    again = replace(made, schedules=written.schedules)
    second = write(again, f"hf={tmp_path / 'again'}", source=subject)
    assert second.schedules == written.schedules
    assert second.max_ulp == 0
    files = [tmp_path / n / "config.json" for n in ("out", "again")]
    assert files[0].read_bytes() == files[1].read_bytes()
    # The record says how far the tables are from what was asked for, which is 0 the second time.
    old, new = json.loads(written.document), json.loads(second.document)
    assert old["schedules"] == new["schedules"]
    assert new["written"][0]["max_ulp"] == 0
    document = json.loads(written.document)
    assert [tuple(s["inv_freq"]) for s in document["schedules"]] == [
        s.inv_freq for s in written.schedules
    ]
    assert (tmp_path / "out" / "ropeaudit-variant.json").read_text() == written.document


@pytest.mark.parametrize("name", CONFIGS)
def test_identity_changes_no_byte(tmp_path: Path, name: str) -> None:
    source = folder(tmp_path / "model", CONFIGS[name])
    subject, made = variant(source, "identity")
    written = write(made, f"hf={tmp_path / 'out'}", source=subject)
    assert written.max_ulp == 0
    assert (tmp_path / "out" / "config.json").read_bytes() == (source / "config.json").read_bytes()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("llama", True, False),
        ("llama-null", True, False),
        ("llama-bare", True, False),
        ("llama3-old", True, False),
        ("llama3-new", False, True),
        ("llama3-both", True, True),
        ("phi3", True, False),
        ("gemma3-new", False, True),
    ],
)
def test_the_schema_is_the_sources(tmp_path: Path, name: str, old: bool, new: bool) -> None:
    _, config = exported(tmp_path, CONFIGS[name], "noise:eps=0.1,seed=1")
    assert ("rope_scaling" in config, "rope_parameters" in config) == (old, new)
    if old and new:
        assert config["rope_scaling"] == config["rope_parameters"]
    assert config.get("rope_theta") == CONFIGS[name].get("rope_theta")
    rest = {k: v for k, v in config.items() if k not in ("rope_scaling", "rope_parameters")}
    before = CONFIGS[name].items()
    assert rest == {k: v for k, v in before if k not in ("rope_scaling", "rope_parameters")}


def test_attention_scaling_and_deepseeks_softmax_survive(tmp_path: Path) -> None:
    _, config = exported(tmp_path, DEEPSEEK, "noise:eps=0.1,seed=1")
    (rope,) = rope_dicts(config)
    assert rope["factor"] == 40.0
    assert rope["mscale"] == rope["mscale_all_dim"] == 1.0
    assert rope["attention_factor"] == 1.0
    (own, _) = resolve(str(tmp_path / "out")).built()
    root = 0.1 * math.log(40) + 1
    assert own.softmax_scale == pytest.approx(root * root)


def test_yarns_attention_scaling_is_stated_for_each_engine(tmp_path: Path) -> None:
    _, config = exported(tmp_path, CONFIGS["yarn"], "noise:eps=0.1,seed=1")
    (rope,) = rope_dicts(config)
    wanted = pytest.approx(0.1 * math.log(40) + 1)
    assert rope["attention_factor"] == wanted
    assert rope["short_mscale"] == wanted
    assert rope["long_mscale"] == wanted
    assert rope["original_max_position_embeddings"] == config["max_position_embeddings"]
    assert "beta_fast" not in rope
    assert "type" not in rope


def test_unrelated_keys_stay(tmp_path: Path) -> None:
    extra = {"my_key": [1, 2], "llama_4_scaling_beta": 0.1}
    source = LLAMA | {"rope_scaling": LLAMA3 | extra}
    _, config = exported(tmp_path, source, "noise:eps=0.1,seed=1")
    (rope,) = rope_dicts(config)
    assert rope["my_key"] == [1, 2]
    assert rope["llama_4_scaling_beta"] == 0.1
    assert rope["original_max_position_embeddings"] == 1024, "read beside that key"


def test_a_wanted_zero_is_an_infinite_factor(tmp_path: Path) -> None:
    written, config = exported(tmp_path, LLAMA, "zero:from=60,to=63")
    (rope,) = rope_dicts(config)
    assert rope["short_factor"] == rope["long_factor"] == [1.0] * 60 + [1e39] * 4
    assert written.schedules[0].inv_freq[60:] == (0.0,) * 4
    assert rope["factor"] == 1.0
    assert rope["rope_theta"] == 1e6


def test_phi3_keeps_two_tables_and_its_spelling(tmp_path: Path) -> None:
    written, config = exported(tmp_path, PHI3, "noise:eps=0.1,seed=1")
    rope = config["rope_scaling"]
    assert rope["type"] == rope["rope_type"] == "longrope"
    assert rope["short_factor"] != rope["long_factor"]
    assert rope["original_max_position_embeddings"] == 64
    assert rope["attention_factor"] == pytest.approx(math.sqrt(1 + math.log(4) / math.log(64)))
    assert "factor" not in rope
    assert any("vLLM chooses by max_model_len" in n for n in written.notes)


def test_a_part_alone_stays_the_others(tmp_path: Path) -> None:
    """Old-schema Gemma 3 can say a change of its global layers."""
    written, config = exported(tmp_path, GEMMA3, "int8:sym@full_attention")
    assert config["rope_scaling"]["rope_type"] == "longrope"
    assert "rope_parameters" not in config
    assert not any("transformers 4.x" in n for n in written.notes)


def test_sliding_layers_of_gemma3_need_the_new_schema(tmp_path: Path) -> None:
    source = CONFIGS["gemma3-linear"]
    written, config = exported(tmp_path, source, "int8:sym@sliding_attention")
    assert "rope_scaling" not in config
    assert config["rope_parameters"]["sliding_attention"]["rope_type"] == "longrope"
    assert config["rope_parameters"]["full_attention"]["factor"] == 8.0
    assert config["rope_parameters"]["full_attention"]["rope_type"] == "linear"
    said = next(n for n in written.notes if "nested by layer type" in n)
    for reader in ("transformers 4.x", "mlx-lm", "ExLlama", "TGI", "CTranslate2"):
        assert reader in said


def test_base_one_is_said_and_stands_on_top_too(tmp_path: Path) -> None:
    written, config = exported(tmp_path, LLAMA, "int8:affine")
    assert config["rope_theta"] == config["rope_scaling"]["rope_theta"] == 1.0
    assert any("rope_theta is 1" in n for n in written.notes)
    assert written.schedules[0].rope_theta == 1e6, "the recorded schedule keeps the model's base"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (DEEPSEEK, "as YaRN and lose the table"),
        (
            {
                "model_type": "cohere",
                "hidden_size": 256,
                "num_attention_heads": 2,
                "num_hidden_layers": 2,
                "max_position_embeddings": 4096,
                "rope_theta": 10000.0,
            },
            "refuse longrope with interleaved pairs",
        ),
        (
            {
                "model_type": "qwen2_vl",
                "hidden_size": 256,
                "num_attention_heads": 2,
                "num_hidden_layers": 2,
                "max_position_embeddings": 4096,
                "rope_theta": 1e6,
                "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
            },
            "vLLM and SGLang drop the axes",
        ),
        (
            LLAMA | {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}},
            "dynamic scaling has become two fixed tables, @4096 and @8192",
        ),
        (LLAMA, "llama.cpp's converter drops the factors"),
    ],
)
def test_engines_that_lose_it_are_named(tmp_path: Path, config: dict[str, Any], said: str) -> None:
    written, new = exported(tmp_path, config, "noise:eps=0.1,seed=1")
    assert any(said in n for n in written.notes), written.notes
    section = [d.get("mrope_section") for d in rope_dicts(new)]
    assert section == ([[16, 24, 24]] if "qwen" in str(config) else [None])


def test_dynamic_lengths_become_two_tables(tmp_path: Path) -> None:
    config = LLAMA | {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}
    written, new = exported(tmp_path, config, "noise:eps=0.1,seed=1")
    assert [s.variant for s in written.schedules] == ["@4096", "@8192"]
    assert rope_dicts(new)[0]["original_max_position_embeddings"] == 4096


@pytest.mark.parametrize(
    ("config", "stated"),
    [
        (CONFIGS["mixtral"], 128),
        (LLAMA | {"model_type": "qwen2", "head_dim": None}, 128),
        (LLAMA, None),
    ],
)
def test_head_dim_is_stated_where_the_class_has_none(
    tmp_path: Path, config: dict[str, Any], stated: int | None
) -> None:
    """transformers multiplies head_dim for longrope, and fails on None."""
    _, written = exported(tmp_path, config, "noise:eps=0.1,seed=1")
    assert written.get("head_dim") == stated


def test_a_scaling_recipe_brings_its_own_attention(tmp_path: Path) -> None:
    written, config = exported(tmp_path, LLAMA, "yarn:factor=4,original=1024")
    (rope,) = rope_dicts(config)
    wanted = 0.1 * math.log(4) + 1
    assert rope["attention_factor"] == rope["short_mscale"] == pytest.approx(wanted)
    (short, long) = resolve(str(tmp_path / "out")).built()
    assert short.inv_freq == long.inv_freq == written.schedules[0].inv_freq


def test_factors_from_a_file_make_two_tables_of_one(tmp_path: Path) -> None:
    lists = {"short_factor": [1.0] * 64, "long_factor": [1.0 + k / 8 for k in range(64)]}
    file = tmp_path / "factors.json"
    file.write_text(json.dumps(lists | {"original_max_position_embeddings": 1024}))
    written, config = exported(tmp_path, LLAMA, f"longrope:{file}")
    (rope,) = rope_dicts(config)
    assert rope["short_factor"] == lists["short_factor"]
    assert rope["long_factor"] == pytest.approx(lists["long_factor"], rel=2e-7)
    assert rope["original_max_position_embeddings"] == 1024
    assert [s.variant for s in written.schedules] == ["short", "long"]
    assert rope["attention_factor"] == pytest.approx(math.sqrt(1 + math.log(4) / math.log(1024)))


def test_a_table_stored_among_the_weights_is_left_and_named(tmp_path: Path) -> None:
    source = folder(tmp_path / "model", LLAMA)
    subject, _ = variant(source, "int8:sym")
    table = np.array(subject.schedules[0].inv_freq, dtype=np.float32)
    save_file({"model.rotary_emb.inv_freq": table}, source / "model.safetensors")
    subject, made = variant(source, "int8:sym")
    assert [s.variant for s in made.schedules] == [None, "stored"]
    written = write(made, f"hf={tmp_path / 'out'}", source=subject)
    assert any("store a table of their own" in n for n in written.notes)
    assert [s.name for s in written.schedules] == [s.name for s in made.schedules]
    stable(tmp_path, made, written, subject)
