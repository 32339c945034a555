"""What pins a file: configs in full, headers of weights, and the differences in words."""

from __future__ import annotations

import io
import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.facts import InputFile, Reading, file_name
from ropeaudit.resolve import resolve
from ropeaudit.sources._digests import differences, inputs
from ropeaudit.sources._gguf_walk import walk
from tests.gguf_files import write
from tests.make_fixtures import NAME, plain, save

CONFIG = b'{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}\n'


def entries(target: Path | str) -> list[dict[str, Any]]:
    return list(inputs(reading(target)))


def reading(target: Path | str) -> Reading:
    found = resolve(str(target), offline=True).reading
    assert found is not None
    return found


def digest(data: bytes) -> dict[str, Any]:
    return {"sha256": sha256(data).hexdigest(), "bytes": len(data)}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_config_counts_byte_by_byte(
    tmp_path: Path, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = CONFIG.decode().encode(encoding)
    path = tmp_path / "config.json"
    path.write_bytes(data)
    assert entries(path) == [{"target": str(path), "file": "config.json", **digest(data)}]
    assert entries(tmp_path) == [{"target": str(tmp_path), "file": "config.json", **digest(data)}]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert entries("-") == [{"target": "-", "file": "-", **digest(data)}]


def test_tables_count_in_full(tmp_path: Path) -> None:
    for name, text in (("a.json", "[1.0, 0.5]"), ("b.csv", "1.0\n0.5\n")):
        path = tmp_path / name
        path.write_text(text)
        (found,) = entries(path)
        assert found == {"target": str(path), "file": name, **digest(text.encode())}
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"inv_freq": [1.0, 0.5]}))
    assert entries(path)[0]["sha256"] == sha256(path.read_bytes()).hexdigest()


def test_of_weights_the_header_counts(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(CONFIG)
    save(tmp_path / "model.safetensors", {NAME: ("F32", plain(1e4, 16))})
    before = entries(tmp_path)
    data = bytearray((tmp_path / "model.safetensors").read_bytes())
    size = 8 + int.from_bytes(data[:8], "little")
    assert before[1] == {
        "target": str(tmp_path), "file": "model.safetensors", **digest(bytes(data[:size])),
        "part": "header",
    }  # fmt: skip
    data[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(data)
    assert entries(tmp_path) == before


def test_of_gguf_all_before_the_tensors_counts(tmp_path: Path) -> None:
    keys = {"rope.freq_base": 1e6, "block_count": 2, "attention.head_count": 4}
    path = write(tmp_path / "m.gguf", "llama", keys, {"rope_freqs.weight": [1.0, 2.0]})
    data = path.read_bytes()
    (found,) = entries(path)
    assert found["part"] == "header"
    assert found["sha256"] == sha256(data[: walk(data, "x").end]).hexdigest()


def test_differences_are_said(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(CONFIG)
    read = reading(tmp_path)
    (own,) = inputs(read)
    assert differences(read, [own]) == []
    (changed,) = differences(read, [own | {"sha256": "0" * 64}])
    assert changed.startswith("config.json has sha256 ")
    assert "the certificate is about 0000000000000000" in changed
    gone, added = differences(read, [own | {"file": "params.json"}])
    assert gone.startswith("params.json is named by the certificate and no part of ")
    assert added.startswith("config.json takes part in ")


def test_what_cannot_be_read_again_has_no_entry(tmp_path: Path) -> None:
    files = (InputFile(path="<module>", format="module"), InputFile(path="hf:a/b/x", format="hub"))
    assert list(inputs(Reading(target="x", format="module", files=files))) == []


def test_a_config_from_a_server_counts_by_what_was_received() -> None:
    config = InputFile(path="hf:a/b/config.json", format="hub", content=CONFIG)
    weights = InputFile(path="hf:a/b/model.safetensors", format="hub", bytes_read=96)
    reading = Reading(target="hf:a/b", format="hub", files=(config, weights))
    assert list(inputs(reading)) == [
        {"target": "hf:a/b", "file": "config.json", **digest(CONFIG)},
    ]


@pytest.mark.parametrize(
    ("target", "path", "name"),
    [
        ("models/a", "models/a/config.json", "config.json"),
        ("models/a", "models/a/text/config.json", "text/config.json"),
        ("config.json", "config.json", "config.json"),
        ("/x/config.json", "/x/config.json", "config.json"),
        ("hf:org/name@main", "hf:org/name@main/config.json", "config.json"),
        ("hf:org/adapter", "hf:org/base/config.json", "config.json"),
        ("-", "-", "-"),
        ("x/m-00001-of-00002.gguf", "x/m-00002-of-00002.gguf", "m-00002-of-00002.gguf"),
        ("x/adapter/adapter_config.json", "x/base/config.json", "../base/config.json"),
        ("bad\0name", "other\0name", "other\0name"),
    ],
)
def test_files_are_named_as_seen_from_their_target(target: str, path: str, name: str) -> None:
    assert file_name(target, path) == name


def test_learned_encodings_count_with_their_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numpy = pytest.importorskip("numpy")
    save_file = pytest.importorskip("safetensors.numpy").save_file
    path = tmp_path / "a.safetensors"
    save_file({"positional_encoder._primitives": numpy.ones((2, 4, 4), numpy.float32)}, path)
    (found,) = entries(path)
    assert found == {"target": str(path), "file": "a.safetensors", **digest(path.read_bytes())}
    monkeypatch.setattr("ropeaudit.sources._digests._WHOLE_ENCODING", 100)
    assert entries(path)[0]["part"] == "header"  # too large to be read for this
