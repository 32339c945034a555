"""The files around a written config."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from ropeaudit.errors import UsageError
from ropeaudit.export.writing import write
from ropeaudit.resolve import resolve
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


def _gone(place: Path) -> None:
    place.symlink_to("gone")


def _loop(place: Path) -> None:
    place.symlink_to(place.name)


def _pipe(place: Path) -> None:
    os.mkfifo(place)


def _around(place: Path) -> None:
    place.symlink_to(place.parent.parent)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_gone, "is no file (a broken link, or a device); mend or remove it"),
        (_loop, "is no file (a broken link, or a device); mend or remove it"),
        (_pipe, "is no file (a broken link, or a device); mend or remove it"),
        (_around, "is a link to a folder around it, so that the copy would have no end"),
    ],
)
@pytest.mark.parametrize("name", ["odd.bin", "odd.txt", "inner/odd.txt"])
def test_a_fault_of_the_source_is_said_of_the_source(
    tmp_path: Path, make: Callable[[Path], None], said: str, name: str
) -> None:
    source = folder(tmp_path / "model", LLAMA)
    subject, made = variant(source, "int8:sym")
    make(source / name)
    with pytest.raises(UsageError, match=re.escape(f"{name} {said}")):
        write(made, f"hf={tmp_path / 'out'}", source=subject)
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    source = folder(tmp_path / "model", LLAMA)
    subject, made = variant(source, "int8:sym")
    (source / "tokenizer.json").chmod(0)
    if os.access(source / "tokenizer.json", os.R_OK):
        pytest.skip("this user may read anything")
    with pytest.raises(UsageError, match=r"tokenizer.json cannot be read: Permission denied"):
        write(made, f"hf={tmp_path / 'out'}", source=subject)


def test_the_note_names_the_folder_that_must_stay(tmp_path: Path) -> None:
    """In a hub cache that is the folder of blobs, not the snapshot of links."""
    source = folder(tmp_path / "snapshots" / "abc", LLAMA)
    (tmp_path / "blobs").mkdir()
    for n, name in enumerate(("model.safetensors", "config.json", "tokenizer.json")):
        (source / name).rename(tmp_path / "blobs" / str(n))
        (source / name).symlink_to(f"../../blobs/{n}")
    subject, made = variant(source, "int8:sym")
    written = write(made, f"hf={tmp_path / 'out'}", source=subject)
    assert any(f"a link into {tmp_path / 'blobs'}: " in n for n in written.notes)
    assert not (tmp_path / "out" / "config.json").is_symlink()
    assert resolve(str(tmp_path / "out")).error is None


def test_shards_and_their_index_stay_together(tmp_path: Path) -> None:
    source = folder(tmp_path / "model", LLAMA)
    (source / "model.safetensors").unlink()
    shards = [f"model-0000{n}-of-00002.safetensors" for n in (1, 2)]
    for n, name in enumerate(shards):
        save_file({f"w{n}": np.zeros(4, np.float32)}, source / name)
    index = {"metadata": {}, "weight_map": {f"w{n}": name for n, name in enumerate(shards)}}
    (source / "model.safetensors.index.json").write_text(json.dumps(index))
    subject, made = variant(source, "int8:sym")
    written = write(made, f"hf={tmp_path / 'out'}", source=subject)
    assert all((tmp_path / "out" / name).is_symlink() for name in shards)
    assert json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text()) == index
    assert any(n.startswith("2 weight files are links into ") for n in written.notes)
    assert resolve(str(tmp_path / "out")).error is None


@pytest.mark.parametrize("name", ["ö= =x", "with 'quotes\" and $", "line\nbreak", "-dash"])
def test_odd_names(tmp_path: Path, name: str) -> None:
    source = folder(tmp_path / f"{name} model", LLAMA)
    subject, made = variant(source, "int8:sym")
    written = write(made, f"hf={tmp_path / name}", source=subject)
    assert (tmp_path / name / "model.safetensors").samefile(source / "model.safetensors")
    assert all("\n" not in n for n in written.notes)
    again = write(made, str(tmp_path / f"{name}.safetensors"), source=subject)
    assert again.schedules == made.schedules
