"""Whatever the bytes are: a reading or a SourceError of one line; no crash, no hang, no flood."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from ropeaudit.errors import SourceError
from ropeaudit.facts import Reading
from ropeaudit.sources.opening import open_target

TABLE = np.array([1.0, 0.5, 0.25, 0.125], dtype="float32")
CONFIG = {
    "model_type": "llama",
    "rope_scaling": {"rope_type": "longrope", "short_factor": [1.0, 2.5e0], "factor": 4},
    "text": 'a\\"\u00e9',
}
SUFFIXES = ("", ".json", ".safetensors", ".npy", ".npz", ".csv", ".gguf", ".pt")
SECONDS = 5.0
"""Far above what any of these small files takes, and below what a hang is."""


def _npy() -> bytes:
    data = io.BytesIO()
    np.save(data, TABLE)
    return data.getvalue()


def _npz() -> bytes:
    data = io.BytesIO()
    np.savez_compressed(data, a=TABLE, b=TABLE.astype("f8"))
    return data.getvalue()


def _torch() -> bytes:
    data = io.BytesIO()
    torch.save({"model.rotary_emb.inv_freq": torch.tensor(TABLE)}, data)
    return data.getvalue()


def _safetensors() -> bytes:
    rows = np.arange(3)[:, None] * TABLE
    return save(
        {"a.inv_freq": TABLE, "r.cos_cached": np.cos(rows), "r.sin_cached": np.sin(rows)},
        metadata={"format": "np"},
    )


SEEDS: dict[str, Callable[[], bytes]] = {
    ".json": lambda: json.dumps(CONFIG, indent=1).encode(),
    ".list.json": lambda: json.dumps(TABLE.tolist()).encode(),
    ".index.json": lambda: b'{"weight_map": {"a.inv_freq": "x.safetensors"}}',
    ".utf16.json": lambda: json.dumps(CONFIG).encode("utf-16"),
    ".safetensors": _safetensors,
    ".npy": _npy,
    ".npz": _npz,
    ".csv": lambda: b"k,inv_freq\n0,1.0\n1,0.5\n2,2.5e-1\n",
    ".pt": _torch,
}
QUICK = sorted(SEEDS.keys() - {".pt"})
"""Without torch, which takes a millisecond to refuse a file."""


@cache
def seed(name: str) -> bytes:
    return SEEDS[name]()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def read(folder: Path, data: bytes, suffix: str) -> Reading | None:
    """The reading, or None after a SourceError that is fit to be shown."""
    path = folder / f"x{suffix}"
    path.unlink(missing_ok=True)  # some file systems flush a file that is written over
    path.write_bytes(data)
    start = time.perf_counter()
    try:
        return open_target(str(path))
    except SourceError as error:
        message = str(error)
        assert message
        assert message.isprintable()
        assert len(message) < 1000
        return None
    finally:
        assert time.perf_counter() - start < SECONDS


@given(data=st.binary(max_size=200), suffix=st.sampled_from(SUFFIXES))
@example(data=b"{", suffix="")
@example(data=b"\xff\xfe{", suffix="")
@example(data=b"\xff\xfe\0\0{", suffix=".json")
@example(data=b"PK\3\4", suffix=".npz")
@example(data=b"PK\5\6" + b"\0" * 18, suffix=".npz")
@example(data=b"\x80\2", suffix=".pt")
@example(data=b"\x93NUMPY", suffix="")
@example(data=b"\x93NUMPY\1", suffix="")
@settings(max_examples=400)
def test_noise(folder: Path, data: bytes, suffix: str) -> None:
    read(folder, data, suffix)


@given(
    head=st.sampled_from(
        [b"{", b"[", b"\x93NUMPY\1\0v\0", b"PK\3\4", b"GGUF\3\0\0\0", b"\x10" + b"\0" * 7 + b"{"]
    ),
    data=st.binary(max_size=200),
    suffix=st.sampled_from(SUFFIXES),
)
@settings(max_examples=300)
def test_noise_behind_a_good_beginning(folder: Path, head: bytes, data: bytes, suffix: str) -> None:
    read(folder, head + data, suffix)


@given(text=st.text(alphabet='{}[]",:0123456789.eE+-ntfu\\ \n#;', max_size=80))
@settings(max_examples=400)
def test_noise_of_brackets_and_digits(folder: Path, text: str) -> None:
    for suffix in (".json", ".csv"):
        read(folder, text.encode(), suffix)


@pytest.mark.parametrize("name", QUICK)
def test_every_truncation(folder: Path, name: str) -> None:
    """A file cut anywhere is refused, except where what is left is whole in itself (text)."""
    data = seed(name)
    assert (read(folder, data, name) is None) == (name == ".index.json")
    for size in range(len(data)):
        reading = read(folder, data[:size], name)
        assert reading is None or name == ".csv", size


@pytest.mark.parametrize("name", QUICK)
def test_every_byte_changed(folder: Path, name: str) -> None:
    data = seed(name)
    for at in range(len(data)):
        for other in (0, 0xFF, data[at] ^ 1):
            read(folder, data[:at] + bytes([other]) + data[at + 1 :], name)


@given(
    name=st.sampled_from(QUICK),
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 12), st.binary(max_size=12)),
        min_size=1,
        max_size=4,
    ),
)
@settings(max_examples=400)
def test_valid_files_mutated(
    folder: Path, name: str, edits: list[tuple[float, int, bytes]]
) -> None:
    data = seed(name)
    for place, removed, added in edits:
        at = int(place * len(data))
        data = data[:at] + added + data[at + removed :]
    read(folder, data, name)


@given(
    name=st.sampled_from([".safetensors", ".npz", ".npy"]),
    at=st.integers(0, 400),
    value=st.sampled_from([0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1]),
    width=st.sampled_from(["<I", "<Q"]),
)
@settings(max_examples=400)
def test_sizes_replaced_by_absurd_ones(
    folder: Path, name: str, at: int, value: int, width: str
) -> None:
    data = bytearray(seed(name))
    size = struct.calcsize(width)
    at %= len(data) - size
    data[at : at + size] = struct.pack(width, value % (1 << 8 * size))
    read(folder, bytes(data), name)


def test_torch_files_cut_and_changed(folder: Path) -> None:
    data = seed(".pt")
    step = max(1, len(data) // 60)
    for at in range(0, len(data), step):
        assert read(folder, data[:at], ".pt") is None
        read(folder, data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :], ".pt")


def test_gguf_files_cut_and_changed(folder: Path) -> None:
    path = folder / "seed.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_rope_freq_base(1e5)
    writer.add_tensor("rope_freqs.weight", TABLE)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    data = path.read_bytes()
    assert read(folder, data, ".gguf") is not None
    for at in range(len(data)):
        read(folder, data[:at], ".gguf")
        for other in (0xFF, data[at] ^ 1):
            read(folder, data[:at] + bytes([other]) + data[at + 1 :], ".gguf")


BOMBS = {
    "nesting.json": "b'[' * (10 << 20)",
    "objects.json": "b'{\"a\":' * (2 << 20)",
    "closed.json": "b'[' * 5000 + b']' * 5000",
    "deep.json": "b'{\"a\":' * 500 + b'1' + b'}' * 500",
    "digits.json": "b'{\"a\": ' + b'9' * (10 << 20) + b'}'",
    "key.json": "b'{\"' + b'k' * (10 << 20) + b'\": 1, \"' + b'k' * (10 << 20) + b'\": 2}'",
    "blank.json": "b' ' * (10 << 20)",
    "unterminated.json": "b'{\"' + b'k' * (10 << 20)",
    "large.json": "b'{\"a\": \"' + b'k' * (40 << 20) + b'\"}'",
    "list.json": "b'[' + b'1,' * (4 << 20) + b'1]'",
    "line.csv": "b'1' * (10 << 20)",
    "commas.csv": "b',' * (10 << 20)",
    "numbers.csv": "b'1.5\\n' * (10 << 20)",
    "row.csv": "b'1.5 ' * (10 << 20)",
    "words.csv": "b'a ' * (10 << 20)",
    "header.safetensors": "(50 << 20).to_bytes(8, 'little') + b'{' * (50 << 20)",
    "spaces.safetensors": "(50 << 20).to_bytes(8, 'little') + b'{' + b' ' * (50 << 20)",
    "nested.safetensors": "(10 << 20).to_bytes(8, 'little') + b'{\"a\":' * (2 << 20)",
}
CHILD = """
import resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from ropeaudit.errors import SourceError
from ropeaudit.sources.opening import open_target
with open(sys.argv[1], "wb") as file:
    file.write({expression})
start = time.perf_counter()
try:
    open_target(sys.argv[1])
except SourceError as error:
    assert str(error).isprintable() and len(str(error)) < 1000
    print("refused")
print(time.perf_counter() - start)
"""


@pytest.mark.parametrize("name", sorted(BOMBS))
def test_bombs_are_refused_in_a_gigabyte_and_seconds(tmp_path: Path, name: str) -> None:
    code = CHILD.replace("{expression}", BOMBS[name])
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / name)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said, seconds = done.stdout.split()
    assert said == "refused"
    assert float(seconds) < SECONDS
