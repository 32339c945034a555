"""What lies beside a config or in its place: adapters, tokenizers, PyTorch and GGUF files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.numpy import save_file

from ropeaudit.errors import (
    InvalidValue,
    MissingDependency,
    SourceError,
    UnrecognisedFormat,
)
from ropeaudit.sources.opening import open_target
from tests.folders import CONFIG, NAME, TABLE, kinds, write


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
