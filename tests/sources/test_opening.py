"""Targets: what opens what, and what cannot be opened at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

from ropeaudit.errors import InvalidValue, SourceError, TruncatedFile, UnrecognisedFormat
from ropeaudit.sources import opening
from ropeaudit.sources.opening import open_target, sources

CONFIG = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
TABLE = np.array([1.0, 0.5, 0.25, 0.125], dtype="float32")


def test_every_source_keeps_the_interface() -> None:
    found = sources()
    assert {"hf-config", "safetensors", "raw", "torch", "gguf"} <= {s.FORMAT for s in found}
    for source in found:
        assert all(s.startswith(".") for s in source.SUFFIXES)
        assert not source.sniff(b"", Path("x"))


def test_content_decides_not_the_suffix(tmp_path: Path) -> None:
    save_file({"rope.inv_freq": TABLE}, tmp_path / "weights.json")
    (tmp_path / "config.safetensors").write_text(json.dumps(CONFIG))
    with (tmp_path / "table.csv").open("wb") as file:
        np.save(file, TABLE)
    assert open_target(str(tmp_path / "weights.json")).format == "safetensors"
    assert open_target(str(tmp_path / "config.safetensors")).format == "hf-config"
    assert open_target(str(tmp_path / "table.csv")).tables[0].dtype == "float32"


@pytest.mark.parametrize("length", [91, 123, 379])
def test_a_header_length_that_looks_like_a_bracket(tmp_path: Path, length: int) -> None:
    """91 and 123 are the codes of ``[`` and ``{``, and stand first in such a file."""
    raw = b'{"inv_freq":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'.ljust(length)
    path = tmp_path / "x"
    path.write_bytes(length.to_bytes(8, "little") + raw + TABLE.tobytes())
    assert open_target(str(path)).tables[0].values == (1.0, 0.5, 0.25, 0.125)


def test_a_config_imports_no_other_source() -> None:
    code = (
        "import sys, json, pathlib\n"
        "from ropeaudit.sources.opening import open_target\n"
        "print(open_target('-', stdin=b'{\"model_type\": \"llama\"}').format)\n"
        "print([m for m in sys.modules if m in ('numpy', 'yaml', 'torch', 'zipfile', 'sympy')"
        " or m.startswith('ropeaudit.sources.')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    kind, modules = done.stdout.splitlines()
    assert kind == "hf-config"
    for name in ("numpy", "yaml", "torch", "zipfile", "sympy", "safetensors", "gguf", "raw_table"):
        assert f"{name}'" not in modules


def test_standard_input() -> None:
    assert open_target("-", stdin=json.dumps(CONFIG).encode()).document.data == CONFIG
    assert open_target("-", stdin=b"1.0\n0.5\n").tables[0].values == (1.0, 0.5)
    assert open_target("-", stdin=b"[1, 0.5]").tables[0].values == (1.0, 0.5)
    assert open_target("-", stdin=b"[1, 0.5]").target == "-"


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b"", TruncatedFile, "empty"),
        (b" \n", TruncatedFile, "empty"),
        (b"GGUF\3\0\0\0" + b"\0" * 32, UnrecognisedFormat, "binary"),
        (b'{"weight_map": {"a": "b"}}', UnrecognisedFormat, "beside"),
        (b'{"base_model_name_or_path": "x"}', UnrecognisedFormat, "beside"),
        (b"not a table", InvalidValue, "not"),
    ],
)
def test_bad_standard_input(data: bytes, error: type[SourceError], words: str) -> None:
    with pytest.raises(error, match=words):
        open_target("-", stdin=data)


def test_an_existing_path_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hf:org").mkdir()
    Path("hf:org/name").write_text(json.dumps(CONFIG))
    Path("-").write_text(json.dumps(CONFIG))
    assert open_target("hf:org/name").format == "hf-config"
    assert open_target("-", stdin=b"[1.0]").format == "hf-config"


def test_missing_paths(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        open_target(str(tmp_path / "nothing.json"))
    with pytest.raises(SourceError, match="hf:org/name"):
        open_target("org/name")
    (tmp_path / "file").write_text("{}")
    with pytest.raises(SourceError, match="a part of the path is a file"):
        open_target(str(tmp_path / "file" / "config.json"))
    with pytest.raises(SourceError, match="empty string"):
        open_target("")
    with pytest.raises(SourceError, match="not a possible path"):
        open_target("a\0b")
    with pytest.raises(SourceError, match="longer than a path"):
        open_target("a" * 5000)


def test_symlink_loop(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(SourceError, match="loop of symbolic links"):
        open_target(str(tmp_path / "a"))
    (tmp_path / "config.json").symlink_to("config.json")
    with pytest.raises(SourceError, match="loop of symbolic links"):
        open_target(str(tmp_path))


def test_pipes_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="named pipe"):
        open_target(str(tmp_path / "pipe"))
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(SourceError, match="named pipe"):
        open_target(str(tmp_path))
    for device in ("/dev/zero", "/dev/null"):
        with pytest.raises(SourceError, match="character device"):
            open_target(device)


def test_a_socket_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.chdir(tmp_path)  # a socket's path may have 108 characters
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(SourceError, match="socket"):
            open_target("s")


def test_a_folder_named_config(tmp_path: Path) -> None:
    (tmp_path / "config.json").mkdir()
    with pytest.raises(SourceError, match=r"config\.json is a folder"):
        open_target(str(tmp_path))


def test_no_permission() -> None:
    """As root every file is readable, so a child gives up its rights first."""
    with tempfile.TemporaryDirectory() as name:
        outer = Path(name)
        outer.chmod(0o755)
        path = outer / "config.json"
        path.write_text(json.dumps(CONFIG))
        path.chmod(0)
        folder = outer / "closed"
        folder.mkdir(mode=0)
        for target in (path, folder, folder / "config.json"):
            message = _as_nobody(str(target))
            assert message.startswith(str(target)), message
            assert "permission denied" in message
        folder.chmod(0o700)


def _as_nobody(target: str) -> str:
    """What opening says without root's rights."""
    readable, writable = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            try:
                open_target(target)
                said = "it was read"
            except SourceError as error:
                said = str(error)
            os.write(writable, said.encode())
        finally:
            os._exit(0)
    os.close(writable)
    os.waitpid(child, 0)
    with os.fdopen(readable, "rb") as pipe:
        return pipe.read().decode()


def _claims(name: str, suffix: str) -> SimpleNamespace:
    return SimpleNamespace(FORMAT=name, SUFFIXES=(suffix,), sniff=lambda head, path: True)


def test_two_claimants(monkeypatch: pytest.MonkeyPatch) -> None:
    both = (_claims("one", ".one"), _claims("two", ".two"))
    monkeypatch.setattr(opening, "sources", lambda: both)
    assert opening.claimant(b"x", Path("x.two")) is both[1]
    with pytest.raises(UnrecognisedFormat, match="one and two"):
        opening.claimant(b"x", Path("x"))


def test_no_two_real_sources_claim_the_same_file(tmp_path: Path) -> None:
    import gguf
    import torch

    np.savez(tmp_path / "a.npz", a=TABLE)
    np.save(tmp_path / "a.npy", TABLE)
    np.savetxt(tmp_path / "a.csv", TABLE)
    (tmp_path / "a.json").write_text(json.dumps(CONFIG))
    (tmp_path / "list.json").write_text("[1.0]")
    save_file({"a": TABLE}, tmp_path / "a.safetensors")
    torch.save({"a": torch.zeros(2)}, tmp_path / "new.pt")
    torch.save({"a": torch.zeros(2)}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    for path in tmp_path.iterdir():
        head = path.read_bytes()[:4096]
        claims = [s.FORMAT for s in sources() if s.sniff(head, path)]
        assert len(claims) == 1, path
        assert claims[0] == opening.claimant(head, Path("no-suffix")).FORMAT
