"""Checkpoints written by the real torch, damaged ones included, and pickles that would run code."""

from __future__ import annotations

import builtins
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.errors import (
    InvalidValue,
    LfsPointer,
    MissingDependency,
    SourceError,
    TruncatedFile,
    UnsafePickle,
)
from ropeaudit.sources import torch_file

torch = pytest.importorskip("torch")

INV_FREQ = 1.0 / (10000.0 ** (torch.arange(0, 64, 2, dtype=torch.float32) / 64))
NAME = "model.layers.3.self_attn.rotary_emb.inv_freq"


def weights() -> dict[str, Any]:
    return {
        "model.embed_tokens.weight": torch.ones(256, 64),
        NAME: INV_FREQ.clone(),
        "model.layers.3.self_attn.q_proj.weight": torch.ones(64, 64),
    }


def save(path: Path, content: Any, **options: Any) -> Path:
    torch.save(content, path, **options)
    return path


def read(path: Path) -> Any:
    return torch_file.read(path, target=str(path))


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_table_is_found_with_its_place(tmp_path: Path, zipped: bool) -> None:
    path = save(tmp_path / "model.bin", weights(), _use_new_zipfile_serialization=zipped)
    reading = read(path)
    (table,) = reading.tables
    assert reading.format == "torch"
    assert table.values == tuple(INV_FREQ.tolist())
    assert (table.dtype, table.shape, table.role) == ("float32", (32,), "inv_freq")
    assert (table.layer, table.location.tensor, table.location.file) == (3, NAME, str(path))
    assert set(reading.tensor_names) == set(weights())


def test_weights_are_mapped_and_not_read(tmp_path: Path) -> None:
    content = weights() | {"lm_head.weight": torch.zeros(4096, 2048)}
    path = save(tmp_path / "model.bin", content)
    (file,) = read(path).files
    assert path.stat().st_size > 30_000_000
    assert file.bytes_read is not None
    assert file.bytes_read < 2_000


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (torch.bfloat16, "bfloat16"),
        (torch.float16, "float16"),
        (torch.float64, "float64"),
        (torch.float8_e4m3fn, "float8_e4m3"),
        (torch.float8_e5m2, "float8_e5m2"),
    ],
)
def test_narrow_formats_are_exact(tmp_path: Path, dtype: Any, name: str) -> None:
    narrow = INV_FREQ.to(dtype)
    path = save(tmp_path / "a.pt", {"rotary_emb.inv_freq": narrow})
    (table,) = read(path).tables
    assert table.dtype == name
    assert table.values == tuple(narrow.to(torch.float64).tolist())


@pytest.mark.parametrize(
    "wrap",
    [
        lambda w: {"state_dict": w, "epoch": 3, "optimizer_states": [{"state": {}}]},
        lambda w: {"model": w, "optimizer": {"state": {0: {"exp_avg": torch.ones(3)}}}},
        lambda w: {"model_state_dict": w},
        lambda w: {"module": w, "ema": {"decay": 0.99}},
    ],
    ids=["lightning", "rope-vit", "plain", "deepspeed"],
)
def test_the_usual_containers_add_no_step(tmp_path: Path, wrap: Any) -> None:
    (table,) = read(save(tmp_path / "a.ckpt", wrap(weights()))).tables
    assert table.name == NAME
    assert table.location.tensor == NAME


def test_other_nesting_becomes_a_path(tmp_path: Path) -> None:
    content = {"stages": [{"attn": {"inv_freq": INV_FREQ}}], "note": "text"}
    (table,) = read(save(tmp_path / "a.pt", content)).tables
    assert table.location.tensor == "stages.0.attn.inv_freq"


def test_a_dict_that_contains_itself_ends(tmp_path: Path) -> None:
    content: dict[str, Any] = weights()
    content["self"] = content
    assert len(read(save(tmp_path / "a.pt", content)).tables) == 1


def test_a_bare_vector_is_a_table(tmp_path: Path) -> None:
    (table,) = read(save(tmp_path / "a.pt", INV_FREQ)).tables
    assert table.values == tuple(INV_FREQ.tolist())
    assert read(save(tmp_path / "b.pt", torch.ones(3, 3))).tables == ()


@pytest.mark.parametrize("shape", [(64, 64), (1, 1, 64, 64), (64, 1, 64)])
def test_cos_and_sin_caches_give_angles_and_scaling(tmp_path: Path, shape: tuple[int, ...]) -> None:
    angles = torch.outer(torch.arange(64.0), INV_FREQ)
    both = torch.cat([angles, angles], -1)
    content = {
        "rotary.cos_cached": (both.cos() * 1.25).reshape(shape),
        "rotary.sin_cached": (both.sin() * 1.25).reshape(shape),
    }
    (table,) = read(save(tmp_path / "a.pt", content)).tables
    assert table.role == "cos_sin_cache"
    assert table.values == pytest.approx(INV_FREQ.tolist(), rel=3e-7)
    assert table.attention_scaling == 1.25
    assert table.shape == shape


def test_caches_cost_two_rows(tmp_path: Path) -> None:
    angles = torch.outer(torch.arange(4096.0), INV_FREQ)
    content = {"r.cos_cached": angles.cos(), "r.sin_cached": angles.sin()}
    (file,) = read(save(tmp_path / "a.pt", content)).files
    assert file.bytes_read is not None
    assert file.bytes_read < 4 * 32 * 4 + 1000


def test_joint_and_complex_caches(tmp_path: Path) -> None:
    angles = torch.outer(torch.arange(16.0), INV_FREQ)
    cis = torch.polar(torch.ones_like(angles), angles)
    content = {
        "a.cos_sin_cache": torch.cat([angles.cos(), angles.sin()], -1),
        "b.freqs_cis": cis,
        "c.freqs_cis": torch.view_as_real(cis).clone(),
    }
    tables = read(save(tmp_path / "a.pt", content)).tables
    assert len(tables) == 3
    for table in tables:
        assert table.values == pytest.approx(INV_FREQ.tolist(), rel=3e-7)


def test_what_is_no_table_is_said_and_not_dropped(tmp_path: Path) -> None:
    content = {
        "a.inv_freq": torch.arange(8, dtype=torch.int8),
        "a.cos_sin_cache": torch.ones(8, 3),
        "b.cos_cached": torch.ones(8, 4),
        "c.cos_cached": torch.full((8, 4), 0.5),
        "c.sin_cached": torch.full((8, 4), 0.5),
        "d.inv_freq": torch.ones(0),
        "e.sin_cached": torch.ones(8, 4),
        "positional_encoder._primitives": torch.ones(8, 64, 64),
        "rope.freqs": torch.ones(2, 12, 6, 32),
    }
    reading = read(save(tmp_path / "a.pt", content))
    unread = "unread_tensor"
    kinds = ["broken_table", unread, unread, unread, "broken_table", unread]
    assert [n.kind for n in reading.notes] == kinds
    assert "rows of 3 values" in reading.notes[1].message
    primitives, freqs = reading.tables
    assert (primitives.role, primitives.values) == ("learned", ())
    assert (freqs.role, freqs.values) == ("learned", (1.0,) * 2 * 12 * 6 * 32)


def test_sharded_index_opens_only_the_shards_with_tables(tmp_path: Path) -> None:
    first, second = "pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"
    save(tmp_path / first, weights())
    names = dict.fromkeys(weights(), first) | {"lm_head.weight": second}
    index = tmp_path / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": names}))
    reading = read(index)
    assert [t.location.file for t in reading.tables] == [str(tmp_path / first)]
    assert reading.tensor_names == tuple(names)
    assert [n.kind for n in reading.notes] == ["missing_shard"]
    (tmp_path / first).unlink()
    with pytest.raises(InvalidValue, match="is missing; download it again"):
        read(index)


@pytest.mark.parametrize("shard", ["../x.bin", "/etc/passwd", "..", "..\\b.bin"])
def test_index_cannot_lead_out_of_its_folder(tmp_path: Path, shard: str) -> None:
    index = tmp_path / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"weight_map": {"rotary_emb.inv_freq": shard}}))
    with pytest.raises(InvalidValue, match="expected a file inside its folder"):
        read(index)


class Bomb:
    """Unpickled without care, this makes a folder."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("kind", ["zip", "legacy", "pickle2", "pickle4"])
def test_code_in_a_pickle_is_refused_and_never_run(tmp_path: Path, kind: str) -> None:
    path, marker = tmp_path / "evil.bin", tmp_path / "ran"
    content = weights() | {"x": Bomb(marker)}
    if kind.startswith("pickle"):
        path.write_bytes(pickle.dumps(Bomb(marker), protocol=int(kind[-1])))
    else:
        save(path, content, _use_new_zipfile_serialization=kind == "zip")
    with pytest.raises(UnsafePickle) as caught:
        read(path)
    assert not marker.exists()
    message = str(caught.value)
    assert "\n" not in message
    assert "running code from it" in message
    if kind != "pickle4":  # its framing opcode comes first, and is refused already
        assert "it calls for posix.mkdir" in message


def test_torchscript_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "script.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", b"\x80\x02}.")
        archive.writestr("m/constants.pkl", b"\x80\x02).")
        archive.writestr("m/code/a.py", b"", zipfile.ZIP_DEFLATED)
    with pytest.raises(UnsafePickle, match="TorchScript"):
        read(path)


def damaged(tmp_path: Path) -> dict[str, tuple[bytes, type[SourceError]]]:
    zipped = save(tmp_path / "z", weights()).read_bytes()
    legacy = save(tmp_path / "l", weights(), _use_new_zipfile_serialization=False).read_bytes()
    return {
        "half": (zipped[: len(zipped) // 2], TruncatedFile),
        "signature": (zipped[:4], TruncatedFile),
        "legacy_end": (legacy[:-4], TruncatedFile),
        "legacy_start": (legacy[:60], TruncatedFile),
        "empty": (b"", TruncatedFile),
        "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", LfsPointer),
        "other": (b"\x00\x01\x02\x03 something else", InvalidValue),
        "noise": (b"PK\x03\x04" + bytes(range(256)) * 8, TruncatedFile),
        "pickled": (pickle.dumps({"a": 1}, protocol=2), SourceError),
    }


@pytest.mark.parametrize(
    "name",
    [
        "half",
        "signature",
        "legacy_end",
        "legacy_start",
        "empty",
        "lfs",
        "other",
        "noise",
        "pickled",
    ],
)
def test_damaged_files_give_one_sentence(tmp_path: Path, name: str) -> None:
    data, expected = damaged(tmp_path)[name]
    path = tmp_path / "model.bin"
    path.write_bytes(data)
    with pytest.raises(expected) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_compressed_and_foreign_archives(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/data.pkl", b"\x80\x02" + b"N0" * 5_000_000 + b"}.")
    with pytest.raises(InvalidValue, match="compressed entries"):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", b"hello")
    with pytest.raises(InvalidValue, match=r"0 data\.pkl"):
        read(path)


def test_missing_and_forbidden_files(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        read(tmp_path / "absent.bin")
    with pytest.raises(SourceError, match="a folder"):
        read(tmp_path)


def test_sniff_goes_by_content(tmp_path: Path) -> None:
    zipped = save(tmp_path / "weights.unknown", weights())
    legacy = save(tmp_path / "old", weights(), _use_new_zipfile_serialization=False)
    npz = tmp_path / "table.npz"
    with zipfile.ZipFile(npz, "w") as archive:
        archive.writestr("inv_freq.npy", b"\x93NUMPY")
    assert torch_file.sniff(zipped.read_bytes()[:4096], zipped)
    assert torch_file.sniff(legacy.read_bytes()[:4096], legacy)
    assert not torch_file.sniff(npz.read_bytes()[:4096], npz)
    assert not torch_file.sniff(b"GGUF", tmp_path / "model.bin")
    index = tmp_path / "pytorch_model.bin.index.json"
    assert torch_file.sniff(b'{"weight_map": {}}', index)
    assert not torch_file.sniff(b'{"a": 1}', tmp_path / "config.json")


def test_without_torch_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / "a.pt", weights())
    real = builtins.__import__

    def absent(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "torch":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingDependency) as caught:
        read(path)
    assert "pip install 'ropeaudit[torch]'" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("version", "safe"), [("2.5.1+cu121", False), ("2.6.0", True)])
def test_unpatched_torch_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, safe: bool
) -> None:
    path = save(tmp_path / "a.pt", weights())
    monkeypatch.setattr(torch, "__version__", version)
    if safe:
        assert read(path).tables
        return
    with pytest.raises(MissingDependency, match="CVE-2025-32434"):
        read(path)
