"""Configs and model folders: what is read together, and what a loader would leave aside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from ropeaudit.errors import (
    InvalidValue,
    MissingDependency,
    SourceError,
    TruncatedFile,
    UnrecognisedFormat,
)
from ropeaudit.facts import Reading
from ropeaudit.sources._files import RegularFile
from ropeaudit.sources.opening import open_target

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "max_position_embeddings": 4096,
}
TABLE = np.array([1.0, 0.5, 0.25, 0.125], dtype="float32")
NAME = "model.rotary_emb.inv_freq"


def write(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def kinds(reading: Reading) -> list[str]:
    return [note.kind for note in reading.notes]


def test_a_config_remembers_its_text(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{\n "model_type": "llama",\n "rope_theta": 1e6\n}')
    reading = open_target(str(path))
    assert reading.format == "hf-config"
    assert reading.document.spelling("/rope_theta") == "1e6"
    assert str(reading.document.location("/rope_theta")) == f"{path}:3 /rope_theta"
    assert reading.files[0].bytes_read == path.stat().st_size


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"dim": 4096, "n_layers": 32, "n_heads": 32, "rope_theta": 1e6}, "params-json"),
        ({"model_type": "distilbert", "dim": 768, "n_layers": 6, "n_heads": 12}, "hf-config"),
        ({"hidden_size": 64, "rope_theta": 1e4}, "hf-config"),
        ({"unknown": 1}, "hf-config"),
        ({}, "hf-config"),
    ],
)
def test_meta_and_mistral_are_told_apart_by_content(
    tmp_path: Path, data: dict[str, Any], kind: str
) -> None:
    assert open_target(str(write(tmp_path / "any.json", data))).format == kind


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_read_and_said(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(
        json.dumps({"model_type": "llama", "a": "é"}, ensure_ascii=False).encode(encoding)
    )
    reading = open_target(str(path))
    assert reading.document.data == {"model_type": "llama", "a": "é"}
    assert kinds(reading) == ["encoding"]


def test_a_config_beside_weights(tmp_path: Path) -> None:
    write(tmp_path / "config.json", CONFIG)
    save_file({NAME: TABLE, "w": np.zeros((8, 8))}, tmp_path / "model.safetensors")
    reading = open_target(str(tmp_path))
    assert reading.format == "hf-config"
    assert reading.document.data == CONFIG
    assert [t.values for t in reading.tables] == [(1.0, 0.5, 0.25, 0.125)]
    assert [f.format for f in reading.files] == ["hf-config", "safetensors"]


def test_a_bare_config_reads_no_neighbours(tmp_path: Path) -> None:
    path = write(tmp_path / "config.json", CONFIG)
    (tmp_path / "model.safetensors").write_bytes(b"broken")
    assert open_target(str(path)).tables == ()


def test_weights_without_config(tmp_path: Path) -> None:
    save_file({NAME: TABLE}, tmp_path / "model.safetensors")
    reading = open_target(str(tmp_path))
    assert (reading.format, reading.document, len(reading.tables)) == ("safetensors", None, 1)


def test_config_before_params_and_no_consolidated_twins(tmp_path: Path) -> None:
    write(tmp_path / "config.json", CONFIG)
    write(tmp_path / "params.json", {"dim": 64, "n_layers": 2, "n_heads": 4})
    save_file({"a.inv_freq": TABLE}, tmp_path / "consolidated.safetensors")
    save_file({"b.inv_freq": TABLE}, tmp_path / "other.safetensors")
    reading = open_target(str(tmp_path))
    assert reading.format == "hf-config"
    assert [t.name for t in reading.tables] == ["b.inv_freq"]
    (tmp_path / "config.json").unlink()
    (tmp_path / "other.safetensors").unlink()
    reading = open_target(str(tmp_path))
    assert reading.format == "params-json"
    assert [t.name for t in reading.tables] == ["a.inv_freq"]


def sharded(folder: Path, config: bool = True) -> None:
    if config:
        write(folder / "config.json", CONFIG)
    folder.mkdir(exist_ok=True)
    names = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    save_file({"w": np.zeros(4)}, folder / names[0])
    save_file({NAME: TABLE}, folder / names[1])
    write(folder / "model.safetensors.index.json", {"weight_map": {"w": names[0], NAME: names[1]}})


def test_shards(tmp_path: Path) -> None:
    sharded(tmp_path)
    reading = open_target(str(tmp_path))
    assert len(reading.tables) == 1
    assert [Path(f.path).name for f in reading.files] == [
        "config.json",
        "model.safetensors.index.json",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ]


def test_an_index_given_as_target(tmp_path: Path) -> None:
    sharded(tmp_path)
    reading = open_target(str(tmp_path / "model.safetensors.index.json"))
    assert (reading.format, reading.document, len(reading.tables)) == ("safetensors", None, 1)


def test_a_tensor_that_the_index_forgot_is_found(tmp_path: Path) -> None:
    sharded(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    data = json.loads(index.read_text())
    data["weight_map"] = {"w": "model-00001-of-00002.safetensors", "x": data["weight_map"][NAME]}
    write(index, data)
    assert len(open_target(str(tmp_path)).tables) == 1


@pytest.mark.parametrize("broken", ["truncated", "longer", "pointer", "missing", "folder"])
def test_broken_shards_are_named(tmp_path: Path, broken: str) -> None:
    sharded(tmp_path)
    shard = tmp_path / "model-00001-of-00002.safetensors"
    data = shard.read_bytes()
    shard.unlink()
    if broken == "truncated":
        shard.write_bytes(data[:-1])
    elif broken == "longer":
        shard.write_bytes(data + b"x")
    elif broken == "pointer":
        shard.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    elif broken == "folder":
        shard.mkdir()
    with pytest.raises(SourceError, match=shard.name):
        open_target(str(tmp_path))


@pytest.mark.parametrize("shard", ["/etc/passwd", "../x.safetensors", "", 1, None, ["a"], "a\0b"])
def test_an_index_may_not_lead_out(tmp_path: Path, shard: Any) -> None:
    write(tmp_path / "config.json", CONFIG)
    write(tmp_path / "model.safetensors.index.json", {"weight_map": {"w": shard}})
    with pytest.raises(InvalidValue, match="inside the same folder"):
        open_target(str(tmp_path))


def adapter(folder: Path, base: Any) -> Path:
    return write(folder / "adapter_config.json", {"base_model_name_or_path": base}).parent


def test_an_adapter_reads_the_base_beside_it(tmp_path: Path) -> None:
    write(tmp_path / "base" / "config.json", CONFIG)
    folder = adapter(tmp_path / "lora", "org/base")
    for base in ("../base", str(tmp_path / "base"), "org/base", "base"):
        adapter(folder, base)
        reading = open_target(str(folder))
        assert reading.document.data == CONFIG
        assert reading.target == str(folder)
        assert kinds(reading) == ["adapter"]
        assert open_target(str(folder / "adapter_config.json")).document.data == CONFIG


def test_an_adapter_whose_base_is_elsewhere_is_insufficient(tmp_path: Path) -> None:
    folder = adapter(tmp_path / "lora", "meta-llama/Llama-3.1-8B")
    save_file({"base_model.model.q.lora_A.weight": TABLE}, folder / "adapter_model.safetensors")
    reading = open_target(str(folder))
    assert (reading.document, reading.tables) == (None, ())
    assert kinds(reading) == ["adapter", "insufficient"]
    assert all("meta-llama/Llama-3.1-8B" in n.message for n in reading.notes)


def test_an_adapter_with_a_config_of_its_own(tmp_path: Path) -> None:
    write(adapter(tmp_path, "org/base") / "config.json", CONFIG)
    reading = open_target(str(tmp_path))
    assert reading.document.data == CONFIG
    assert kinds(reading) == ["adapter"]


@pytest.mark.parametrize("base", [None, "", 3, [], {}])
def test_an_adapter_without_base(tmp_path: Path, base: Any) -> None:
    with pytest.raises(InvalidValue, match="base_model_name_or_path"):
        open_target(str(adapter(tmp_path, base)))


@pytest.mark.parametrize("base", [".", "x" * 5000, "a\0b", "\x1b[31m"])
def test_an_adapter_with_a_strange_base(tmp_path: Path, base: str) -> None:
    reading = open_target(str(adapter(tmp_path / "lora", base)))
    assert "insufficient" in kinds(reading)
    assert all(n.message.isprintable() for n in reading.notes)


def test_a_pipeline_reads_its_transformer(tmp_path: Path) -> None:
    index = {"_class_name": "FluxPipeline", "_diffusers_version": "0.30", "vae": ["diffusers", "V"]}
    path = write(tmp_path / "model_index.json", index)
    with pytest.raises(UnrecognisedFormat, match=r"transformer/config\.json"):
        open_target(str(tmp_path))
    inner = {"_class_name": "FluxTransformer2DModel", "axes_dims_rope": [16, 56, 56]}
    write(tmp_path / "transformer" / "config.json", inner)
    for target in (tmp_path, path):
        reading = open_target(str(target))
        assert reading.document.data == inner
        assert kinds(reading) == ["pipeline"]


def test_the_tokenizer_may_state_another_length(tmp_path: Path) -> None:
    write(tmp_path / "config.json", CONFIG)
    for length, expected in ((131072, ["tokenizer_length"]), (4096, []), (10**30, []), ("x", [])):
        write(tmp_path / "tokenizer_config.json", {"model_max_length": length})
        assert kinds(open_target(str(tmp_path))) == expected
    (tmp_path / "tokenizer_config.json").write_text("{broken")
    assert kinds(open_target(str(tmp_path))) == []


def test_torch_files_are_opened_only_when_they_can_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ropeaudit.sources import torch_file

    opened = []
    real = torch_file.read
    monkeypatch.setattr(
        torch_file, "read", lambda path, target: opened.append(path) or real(path, target=target)
    )
    write(tmp_path / "config.json", CONFIG)
    for new in (True, False):
        path = tmp_path / "pytorch_model.bin"
        torch.save({"w": torch.ones(4)}, path, _use_new_zipfile_serialization=new)
        reading = open_target(str(tmp_path))
        assert (opened, reading.tables, len(reading.files)) == ([], (), 2)
        torch.save({NAME: torch.tensor(TABLE)}, path, _use_new_zipfile_serialization=new)
        assert open_target(str(tmp_path)).tables[0].values == (1.0, 0.5, 0.25, 0.125)
        assert opened.pop() == path


def test_sharded_torch(tmp_path: Path) -> None:
    write(tmp_path / "config.json", CONFIG)
    torch.save({NAME: torch.tensor(TABLE)}, tmp_path / "a.bin")
    torch.save({"w": torch.ones(2)}, tmp_path / "b.bin")
    write(tmp_path / "pytorch_model.bin.index.json", {"weight_map": {NAME: "a.bin", "w": "b.bin"}})
    assert len(open_target(str(tmp_path)).tables) == 1
    (tmp_path / "b.bin").unlink()
    with pytest.raises(SourceError, match=r"b\.bin"):
        open_target(str(tmp_path))


def test_without_torch_a_config_is_still_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    torch.save({NAME: torch.tensor(TABLE)}, tmp_path / "pytorch_model.bin")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependency, match="torch"):
        open_target(str(tmp_path))
    write(tmp_path / "config.json", CONFIG)
    reading = open_target(str(tmp_path))
    assert kinds(reading) == ["torch_skipped"]


def test_optimizer_states_are_no_weights(tmp_path: Path) -> None:
    (tmp_path / "optimizer.pt").write_bytes(b"x")
    (tmp_path / "training_args.bin").write_bytes(b"x")
    with pytest.raises(UnrecognisedFormat, match="neither a config nor weights"):
        open_target(str(tmp_path))


def test_a_folder_of_gguf_files(tmp_path: Path) -> None:
    import gguf

    def make(name: str) -> None:
        writer = gguf.GGUFWriter(tmp_path / name, "llama")
        writer.add_rope_freq_base(1e5)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()

    make("a.Q4_0.gguf")
    assert open_target(str(tmp_path)).format == "gguf"
    make("b.Q8_0.gguf")
    with pytest.raises(SourceError, match="2 GGUF files"):
        open_target(str(tmp_path))


def test_metas_own_checkpoints_keep_their_table(tmp_path: Path) -> None:
    write(tmp_path / "params.json", {"dim": 64, "n_layers": 2, "n_heads": 8})
    for part in ("00", "01"):
        torch.save({"rope.freqs": torch.tensor(TABLE)}, tmp_path / f"consolidated.{part}.pth")
    reading = open_target(str(tmp_path))
    assert reading.format == "params-json"
    assert [(t.name, t.role) for t in reading.tables] == [("rope.freqs", "inv_freq")]
    assert [Path(f.path).name for f in reading.files] == ["params.json", "consolidated.00.pth"]


def test_numbered_files_without_an_index(tmp_path: Path) -> None:
    write(tmp_path / "config.json", CONFIG)
    for at in (1, 3):
        save_file({f"layers.{at}.inv_freq": TABLE}, tmp_path / f"m-0000{at}-of-00003.safetensors")
    with pytest.raises(SourceError, match=r"lacks a shard.*m-00002-of-00003\.safetensors"):
        open_target(str(tmp_path))
    save_file({"layers.2.inv_freq": TABLE}, tmp_path / "m-00002-of-00003.safetensors")
    assert [t.layer for t in open_target(str(tmp_path)).tables] == [1, 2, 3]


def test_the_plain_index_comes_before_its_variants(tmp_path: Path) -> None:
    write(tmp_path / "config.json", CONFIG)
    for name in ("diffusion", "diffusion.fp16"):
        save_file({f"{name}.inv_freq": TABLE}, tmp_path / f"{name}-x.safetensors")
        index = {"weight_map": {"a": f"{name}-x.safetensors"}}
        write(tmp_path / f"{name}.safetensors.index.json", index)
    assert [t.name for t in open_target(str(tmp_path)).tables] == ["diffusion.inv_freq"]


def test_many_missing_shards_are_counted(tmp_path: Path) -> None:
    shards = {f"t{i}": f"s{i}.safetensors" for i in range(9)}
    write(tmp_path / "model.safetensors.index.json", {"weight_map": shards})
    with pytest.raises(SourceError, match=r"lacks 9 shards.*s3\.safetensors and 5 more"):
        open_target(str(tmp_path))


def test_a_large_tokenizer_file_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "config.json", CONFIG)
    write(tmp_path / "tokenizer_config.json", {"model_max_length": 7, "x": "y" * (1 << 18)})
    assert open_target(str(tmp_path)).notes == ()


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    with RegularFile(path) as file:
        assert file.read(2, 3) == b"234"
        path.write_bytes(b"01234")
        with pytest.raises(TruncatedFile, match="ends at byte 5"):
            file.read(0, 10)
        assert file.touched == 8


def test_the_same_complaint_is_not_repeated_for_every_layer(tmp_path: Path) -> None:
    tensors = {f"layers.{i}.inv_freq": np.zeros(4, "i4") for i in range(100)}
    save_file(tensors, tmp_path / "model.safetensors")
    write(tmp_path / "config.json", CONFIG)
    assert 0 < len(open_target(str(tmp_path)).notes) < 40
