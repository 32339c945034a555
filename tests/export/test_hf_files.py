"""The files around a written config."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.export.interface import write
from tests.export.configs import LLAMA
from tests.export.variants import exported, folder, variant


def test_weights_are_links_and_the_rest_is_copied(tmp_path: Path) -> None:
    written, _ = exported(tmp_path, LLAMA, "int8:sym")
    out, source = tmp_path / "out", tmp_path / "model"
    weights = out / "model.safetensors"
    assert weights.is_symlink()
    assert weights.resolve() == (source / "model.safetensors").resolve()
    assert not (out / "tokenizer.json").is_symlink()
    assert (out / "inner" / "pooling.json").read_text() == "{}"
    said = next(n for n in written.notes if "--copy" in n)
    assert said.startswith("1 weight file is a link into ")


def test_copies_share_nothing(tmp_path: Path) -> None:
    source = folder(tmp_path / "model", LLAMA)
    subject, made = variant(source, "int8:sym")
    written = write(made, f"hf={tmp_path / 'out'}", source=subject, copy=True)
    weights = tmp_path / "out" / "model.safetensors"
    assert not weights.is_symlink()
    assert weights.stat().st_nlink == 1
    assert weights.stat().st_ino != (source / "model.safetensors").stat().st_ino
    assert not any("link" in n for n in written.notes)


def test_links_of_a_cache_are_followed_to_the_end(tmp_path: Path) -> None:
    source = folder(tmp_path / "model", LLAMA)
    blob = tmp_path / "blob"
    (source / "model.safetensors").rename(blob)
    (source / "model.safetensors").symlink_to(os.path.relpath(blob, source))
    subject, made = variant(source, "int8:sym")
    write(made, f"hf={tmp_path / 'out'}", source=subject)
    assert (tmp_path / "out" / "model.safetensors").readlink() == blob


def test_what_states_another_schedule_is_left_out(tmp_path: Path) -> None:
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


def test_a_variant_can_be_forced_over_and_varied_again(tmp_path: Path) -> None:
    exported(tmp_path, LLAMA, "int8:sym")
    subject, made = variant(tmp_path / "out", "noise:eps=0.1,seed=1")
    write(made, f"hf={tmp_path / 'second'}", source=subject)
    with pytest.raises(UsageError, match="exists; choose another name, or add --force"):
        write(made, f"hf={tmp_path / 'second'}", source=subject)
    write(made, f"hf={tmp_path / 'second'}", source=subject, force=True)
    linked = tmp_path / "second" / "model.safetensors"
    assert linked.readlink() == (tmp_path / "model" / "model.safetensors")


def test_a_broken_link_among_the_weights(tmp_path: Path) -> None:
    source = folder(tmp_path / "model", LLAMA)
    subject, made = variant(source, "int8:sym")
    (source / "model.safetensors").unlink()
    (source / "model.safetensors").symlink_to("gone")
    with pytest.raises(UsageError, match="cannot be written"):
        write(made, f"hf={tmp_path / 'out'}", source=subject)
    assert not (tmp_path / "out").exists()
