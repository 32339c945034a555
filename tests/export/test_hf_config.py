"""Configs of variants: what must stay, what changes, and what cannot be said."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.export.interface import Written, write
from ropeaudit.records import replace
from ropeaudit.resolve import resolve
from tests.export.variants import (
    DEEPSEEK,
    GEMMA3,
    LLAMA,
    LLAMA3,
    PHI3,
    YARN,
    exported,
    folder,
    same_shape,
    variant,
)

NEW_LLAMA3 = {
    **{k: v for k, v in LLAMA.items() if k != "rope_theta"},
    "rope_parameters": LLAMA3 | {"rope_theta": 5e5},
}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": LLAMA,
    "llama-null": LLAMA | {"rope_scaling": None},
    "llama-bare": {k: v for k, v in LLAMA.items() if k != "rope_theta"},
    "llama3-old": LLAMA | {"rope_scaling": LLAMA3},
    "llama3-new": NEW_LLAMA3,
    "llama3-both": NEW_LLAMA3 | {"rope_theta": 5e5, "rope_scaling": LLAMA3},
    "linear": LLAMA | {"rope_scaling": {"type": "linear", "factor": 4.0}},
    "yarn": LLAMA | {"rope_scaling": YARN | {"mscale": None, "mscale_all_dim": None}},
    "llama-partial": LLAMA | {"partial_rotary_factor": 0.5},
    "deepseek": DEEPSEEK,
    "gemma3": GEMMA3,
    "gemma3-linear": GEMMA3 | {"rope_scaling": {"rope_type": "linear", "factor": 8.0}},
    "phi3": PHI3,
    "neox": {
        "model_type": "gpt_neox",
        "hidden_size": 256,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "rotary_pct": 0.25,
        "rotary_emb_base": 10000,
        "max_position_embeddings": 2048,
    },
    "glm4": {
        "model_type": "glm4",
        "hidden_size": 256,
        "num_attention_heads": 2,
        "head_dim": 128,
        "num_hidden_layers": 2,
        "partial_rotary_factor": 0.5,
        "max_position_embeddings": 4096,
        "rope_theta": 10000.0,
    },
    "gemma4": {
        "model_type": "gemma4_text",
        "head_dim": 128,
        "global_head_dim": 256,
        "num_hidden_layers": 6,
        "max_position_embeddings": 4096,
        "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {
                "rope_type": "proportional",
                "rope_theta": 1000000.0,
                "partial_rotary_factor": 0.25,
            },
        },
    },
    "vision": {"model_type": "gemma3", "text_config": GEMMA3},
}
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
    for file in ("config.json", "ropeaudit-variant.json"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "out" / file).read_bytes()
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
        ("gemma4", False, True),
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
    ("config", "recipe", "said"),
    [
        (LLAMA | {"auto_map": {"AutoModel": "x.Y"}}, "int8:sym", r"code of its own \(auto_map\)"),
        (LLAMA | {"model_type": "novel"}, "int8:sym", "is not one that transformers knows"),
        (LLAMA, "int8:sym@layers=0-0", "cannot hold two tables"),
        (
            {
                "model_type": "gptj",
                "n_embd": 256,
                "n_head": 2,
                "n_layer": 2,
                "rotary_dim": 64,
                "n_positions": 2048,
            },
            "int8:sym",
            "builds one kind of table|no settings of this config",
        ),
    ],
)
def test_what_cannot_be_said_is_refused(
    tmp_path: Path, config: dict[str, Any], recipe: str, said: str
) -> None:
    source = folder(tmp_path / "model", config)
    subject, made = variant(source, recipe)
    with pytest.raises(UsageError, match=said) as caught:
        write(made, f"hf={tmp_path / 'out'}", source=subject)
    assert "--to FILE.safetensors" in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    written = write(made, str(tmp_path / "patch.safetensors"), source=subject)
    assert written.schedules == made.schedules


@pytest.mark.parametrize("name", ["t.safetensors", "t.json"])
def test_sources_that_are_no_model_folder(tmp_path: Path, name: str) -> None:
    subject, made = variant(folder(tmp_path / "model", LLAMA), "int8:sym")
    write(made, str(tmp_path / name), source=subject)
    table, again = variant(tmp_path / name, "int4:sym")
    with pytest.raises(UsageError, match=r"needs a model folder with a config\.json"):
        write(again, f"hf={tmp_path / 'out'}", source=table)


def test_overrides_are_refused(tmp_path: Path) -> None:
    from ropeaudit.perturb.variant import make

    source = folder(tmp_path / "model", LLAMA)
    subject = resolve(str(source), overrides=["rope_theta=5"])
    with pytest.raises(UsageError, match="leave the overrides out"):
        write(make(subject.schedules, "int8:sym"), f"hf={tmp_path / 'out'}", source=subject)


class TestFiles:
    def test_weights_are_links_and_the_rest_is_copied(self, tmp_path: Path) -> None:
        written, _ = exported(tmp_path, LLAMA, "int8:sym")
        out, source = tmp_path / "out", tmp_path / "model"
        weights = out / "model.safetensors"
        assert weights.is_symlink()
        assert weights.resolve() == (source / "model.safetensors").resolve()
        assert not (out / "tokenizer.json").is_symlink()
        assert (out / "inner" / "pooling.json").read_text() == "{}"
        said = next(n for n in written.notes if "links" in n)
        assert "1 weight file" in said
        assert "--copy" in said

    def test_copies_share_nothing(self, tmp_path: Path) -> None:
        source = folder(tmp_path / "model", LLAMA)
        subject, made = variant(source, "int8:sym")
        written = write(made, f"hf={tmp_path / 'out'}", source=subject, copy=True)
        weights = tmp_path / "out" / "model.safetensors"
        assert not weights.is_symlink()
        assert weights.stat().st_nlink == 1
        assert weights.stat().st_ino != (source / "model.safetensors").stat().st_ino
        assert not any("links" in n for n in written.notes)

    def test_links_of_a_cache_are_followed_to_the_end(self, tmp_path: Path) -> None:
        source = folder(tmp_path / "model", LLAMA)
        blob = tmp_path / "blob"
        (source / "model.safetensors").rename(blob)
        (source / "model.safetensors").symlink_to(os.path.relpath(blob, source))
        subject, made = variant(source, "int8:sym")
        write(made, f"hf={tmp_path / 'out'}", source=subject)
        assert (tmp_path / "out" / "model.safetensors").readlink() == blob

    def test_what_states_another_schedule_is_left_out(self, tmp_path: Path) -> None:
        source = folder(tmp_path / "model", LLAMA)
        for name in ("params.json", "model-q4.gguf", ".gitattributes"):
            (source / name).write_text("{}")
        subject, made = variant(source / "config.json", "int8:sym")
        written = write(made, f"hf={tmp_path / 'out'}", source=subject)
        held = {p.name for p in (tmp_path / "out").iterdir()}
        assert held == {
            "config.json", "inner", "model.safetensors", "ropeaudit-variant.json", "tokenizer.json"
        }  # fmt: skip
        assert any("model-q4.gguf, params.json" in n for n in written.notes)

    def test_a_variant_can_be_forced_over_and_varied_again(self, tmp_path: Path) -> None:
        exported(tmp_path, LLAMA, "int8:sym")
        subject, made = variant(tmp_path / "out", "noise:eps=0.1,seed=1")
        write(made, f"hf={tmp_path / 'second'}", source=subject)
        with pytest.raises(UsageError, match="exists; choose another name, or add --force"):
            write(made, f"hf={tmp_path / 'second'}", source=subject)
        write(made, f"hf={tmp_path / 'second'}", source=subject, force=True)
        linked = tmp_path / "second" / "model.safetensors"
        assert linked.readlink() == (tmp_path / "model" / "model.safetensors")

    def test_a_broken_link_among_the_weights(self, tmp_path: Path) -> None:
        source = folder(tmp_path / "model", LLAMA)
        subject, made = variant(source, "int8:sym")
        (source / "model.safetensors").unlink()
        (source / "model.safetensors").symlink_to("gone")
        with pytest.raises(UsageError, match="cannot be written"):
            write(made, f"hf={tmp_path / 'out'}", source=subject)
        assert not (tmp_path / "out").exists()
