"""What a folder on the command line stands for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ropeaudit.cli._targets import expand as expand_all
from ropeaudit.cli._targets import say_left_out
from ropeaudit.errors import UsageError


def expand(names: list[str]) -> list[str]:
    found, left_out = expand_all(names)
    assert left_out == []
    return found


def _tree(root: Path, *files: str) -> str:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    return str(root)


def _names(root: Path, found: list[str]) -> list[str]:
    return [Path(f).relative_to(root).as_posix() for f in found]


def test_a_model_folder_is_one_target(tmp_path: Path) -> None:
    folder = _tree(tmp_path, "config.json", "tokenizer.json", "sub/config.json", "x.safetensors")
    assert expand([folder]) == [folder]


def test_a_folder_of_configs_or_models_is_many(tmp_path: Path) -> None:
    folder = _tree(tmp_path, "a.json", "tokenizer.json", "d/x.json", "d/notes.txt", ".git/y.json")
    assert _names(tmp_path, expand([folder])) == ["a.json", "d/x.json"]
    folder = _tree(tmp_path / "m", "b/config.json", "b/deep/config.json", "c/w.gguf")
    assert _names(tmp_path / "m", expand([folder])) == ["b", "c"]


def test_an_index_beside_models_is_left_out_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _tree(tmp_path, "index.json", "b/config.json")
    found, left_out = expand_all([folder])
    assert _names(tmp_path, found) == ["b"]
    assert _names(tmp_path, left_out) == ["index.json"]
    say_left_out(left_out)
    assert "left out beside model folders" in capsys.readouterr().err


def test_a_config_beside_models_is_no_index(tmp_path: Path) -> None:
    folder = _tree(tmp_path, "b/config.json", "index.json")
    (tmp_path / "small.json").write_text('{"model_type": "llama"}')
    (tmp_path / "cut.json").write_text('{"model_type": "lla')
    (tmp_path / "models.json").write_text('{"models": [{"model_type": "llama"}]}')
    found, left_out = expand_all([folder])
    assert _names(tmp_path, found) == ["cut.json", "small.json", "b"]
    assert _names(tmp_path, left_out) == ["index.json", "models.json"]


def test_a_folder_of_gguf_files_is_many(tmp_path: Path) -> None:
    parts = [f"b-0000{k}-of-00002.gguf" for k in (1, 2)]
    folder = _tree(tmp_path / "m", "x/a.gguf", *(f"x/{p}" for p in parts), "x/README.md")
    assert _names(tmp_path / "m", expand([folder])) == ["x/a.gguf", f"x/{parts[0]}"]
    assert len(expand([folder + "/x"])) == 2
    one = _tree(tmp_path / "one", *(f"y/{p}" for p in parts))
    assert _names(tmp_path / "one", expand([one])) == ["y"]
    beside = _tree(tmp_path / "beside", "z/config.json", "z/a.gguf", "z/b.gguf")
    assert _names(tmp_path / "beside", expand([beside])) == ["z"]


def test_checkpoints_of_training_loops(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for name in ("1.chk", "2.chk", "last.ckpt"):
        (tmp_path / "runs" / name).write_bytes(b"x")
    expected = [str(tmp_path / "runs" / n) for n in ("1.chk", "2.chk", "last.ckpt")]
    assert expand([str(tmp_path)]) == expected
    assert expand([str(tmp_path / "runs")]) == expected
    (tmp_path / "runs" / "config.json").write_text("{}")
    assert expand([str(tmp_path)]) == [str(tmp_path / "runs")]


def test_hub_cache_layout(tmp_path: Path) -> None:
    folder = _tree(tmp_path, "models--o--n/snapshots/abc/config.json", "models--o--n/refs/main")
    assert _names(tmp_path, expand([folder])) == ["models--o--n/snapshots/abc"]


def test_an_empty_folder_and_a_missing_path_stay(tmp_path: Path) -> None:
    assert expand([str(tmp_path), "nowhere", "-"]) == [str(tmp_path), "nowhere", "-"]


def test_linked_folders_are_looked_into_once(tmp_path: Path) -> None:
    _tree(tmp_path / "elsewhere", "model/config.json")
    root = tmp_path / "models"
    _tree(root, "own/config.json")
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    (root / "twice").symlink_to(tmp_path / "elsewhere" / "model")
    (root / "up").symlink_to(root)
    assert _names(root, expand([str(root)])) == ["linked/model", "own"]


def test_a_folder_that_cannot_be_listed_is_a_target(tmp_path: Path) -> None:
    """It may hold models, so it is not silently clean. Too deep a path fails even for root."""
    _tree(tmp_path, "model/config.json")
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=here)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    found = expand([str(tmp_path)])
    assert found[0] == str(tmp_path / "model")
    assert len(found) == 2
    assert len(found[1]) > 4000


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    _tree(tmp_path, "a/x.json")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    assert _names(tmp_path, expand([str(tmp_path)])) == ["a/x.json"]


def test_nothing_named_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no target"):
        expand([])
