"""The proposal in the place of the file: whole, with all else as it was, or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.normalise.run import attempt, normalise
from ropeaudit.normalise.write import write

TEXT = (
    '{\n  "model_type": "llama",\n  "hidden_size": 64,\n  "num_attention_heads": 4,\n'
    '  "note": "caf\\u00e9 é",\n  "max_position_embeddings": 4096,\n  "rope_parameters": '
    '{"rope_type": "default", "rope_theta": 1e6}\n}'
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "config.json"
    made.write_text(TEXT, encoding="utf-8")
    return made


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_only_what_changes_is_new(path: Path) -> None:
    path.chmod(0o640)
    before = path.stat()
    done = write(normalise(str(path.parent)))
    assert done.written
    assert path.read_text(encoding="utf-8") == TEXT.replace(
        '"rope_parameters": {', '"rope_theta": 1e6,\n  "rope_parameters": {'
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert (path.stat().st_uid, path.stat().st_gid) == (before.st_uid, before.st_gid)
    assert names(path.parent) == ["config.json"]
    again = write(normalise(str(path)))
    assert (again.status, again.written) == ("normal", False)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_byte_order_marks_and_line_ends_stay(path: Path, encoding: str) -> None:
    path.write_bytes(TEXT.replace("\n", "\r\n").encode(encoding))
    write(normalise(str(path)))
    content = path.read_bytes()
    mark = TEXT.encode(encoding)[:3]
    assert content.startswith(mark[:2])
    text = content.decode(encoding)
    assert '"rope_theta": 1e6,\r\n  "rope_parameters"' in text
    assert text.replace('  "rope_theta": 1e6,\r\n', "", 1) == TEXT.replace("\n", "\r\n")


def test_a_link_is_refused_and_left_alone(path: Path) -> None:
    blob = path.rename(path.with_name("blob"))
    path.symlink_to("blob")
    with pytest.raises(UsageError, match="symbolic link to blob"):
        write(normalise(str(path)))
    assert path.is_symlink()
    assert blob.read_text(encoding="utf-8") == TEXT
    assert write(normalise(str(blob))).written


def test_a_read_only_file_is_left_alone(path: Path) -> None:
    path.chmod(0o444)
    with pytest.raises(UsageError, match="read-only"):
        write(normalise(str(path)))
    assert path.read_text(encoding="utf-8") == TEXT


def test_a_file_that_changed_meanwhile_is_left_alone(path: Path) -> None:
    found = normalise(str(path))
    path.write_text(f"{TEXT}\n", encoding="utf-8")
    with pytest.raises(UsageError, match="changed since it was read"):
        write(found)
    assert path.read_text(encoding="utf-8") == f"{TEXT}\n"


def test_a_full_disk_leaves_the_file_and_nothing_beside_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = normalise(str(path))

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="cannot be written: No space left on device"):
        write(found)
    assert path.read_text(encoding="utf-8") == TEXT
    assert names(path.parent) == ["config.json"]


def test_an_interrupt_leaves_the_file_and_nothing_beside_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = normalise(str(path))

    def interrupted(number: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(found)
    assert path.read_text(encoding="utf-8") == TEXT
    assert names(path.parent) == ["config.json"]


def test_a_file_that_is_gone_is_not_made_again(path: Path) -> None:
    found = normalise(str(path))
    path.unlink()
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        write(found)
    assert names(path.parent) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            '{"model_type": "nobody_knows", "rope_theta": 1e4, "head_dim": 64}',
            "(nobody_knows) is unknown",
        ),
        (
            '{"model_type": "mine", "auto_map": {"AutoConfig": "a.B"}, "hidden_size": 64,'
            ' "num_attention_heads": 4, "rope_theta": 1e4}',
            "code that comes with the model",
        ),
        ('{"model_type": "gpt2", "n_embd": 64, "n_head": 4}', "no rotary|learned"),
        ('{"model_type": "internlm2", "hidden_size": 64}', "code of its own"),
        ('{"dim": 64, "n_layers": 2, "n_heads": 4, "rope_theta": 1e4}', "params.json"),
    ],
)
def test_what_has_nothing_to_normalise(path: Path, content: str, reason: str) -> None:
    path.write_text(content)
    found = normalise(str(path))
    assert found.status == "nothing"
    assert found.reason is not None
    assert any(word in found.reason for word in reason.split("|"))


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("{", "ends in the middle"),
        ('{"model_type": "llama", "model_type": "llama"}', "appears twice"),
        ('{"model_type": "llama", "rope_theta": "1e4"}', "rope_theta"),
        ('{"model_type": "llama", "rope_scaling": {"rope_type": "yarn"}}', "factor"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "LFS"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_one_sentence(
    path: Path, content: str, word: str
) -> None:
    path.write_text(content)
    found = attempt(str(path))
    assert found.status == "error"
    assert found.error is not None
    assert word in found.error.message
    assert "\n" not in found.error.message
    assert path.read_text() == content


def test_code_of_a_known_model_is_mentioned(path: Path) -> None:
    path.write_text(TEXT.replace('"note"', '"auto_map": {"AutoConfig": "a.B"}, "note"'))
    assert any("trust_remote_code" in text for text in normalise(str(path)).cautions)
