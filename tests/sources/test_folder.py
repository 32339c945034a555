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
    SourceError,
    TruncatedFile,
)
from ropeaudit.sources._files import RegularFile
from ropeaudit.sources.opening import open_target
from tests.folders import CONFIG, NAME, TABLE, kinds, write


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
