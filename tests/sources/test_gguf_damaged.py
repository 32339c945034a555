"""Damaged GGUF files: one clear sentence for each, whatever is broken."""

from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue, LfsPointer, SourceError, TruncatedFile
from ropeaudit.readers import llama_cpp
from tests.gguf_files import pair, raw, tensor
from tests.gguf_headers import ARCHITECTURE, read, small


def nested(depth: int) -> bytes:
    """An array in an array, ``depth`` times."""
    value: Any = (4, [1])
    for _ in range(depth):
        value = (9, [value])
    return pair("x", 9, value)


BROKEN: dict[str, tuple[bytes, type[SourceError], str]] = {
    "magic": (b"GGML" + b"\0" * 40, InvalidValue, "47 47 4d 4c, expected 'GGUF'"),
    "short header": (b"GGUF\3\0\0\0", TruncatedFile, "ends at byte 8"),
    "version 1": (raw([], version=1), InvalidValue, "GGUF version 1"),
    "version 4": (raw([], version=4), InvalidValue, "GGUF version 4"),
    "version 0": (raw([], version=0), InvalidValue, "GGUF version 0"),
    "absurd keys": (raw([], counts=(0, 2**60)), InvalidValue, "1152921504606846976 entries"),
    "absurd tensors": (raw([], counts=(2**63, 0)), InvalidValue, "which no file holds"),
    "many keys": (raw([ARCHITECTURE], counts=(0, 99)), TruncatedFile, "the key table"),
    "many tensors": (raw([ARCHITECTURE], counts=(99, 1)), TruncatedFile, "the tensor table"),
    "key twice": (raw([ARCHITECTURE, ARCHITECTURE]), InvalidValue, "appears twice"),
    "long key": (raw([pair("k" * 70_000, 4, 1)]), InvalidValue, "70000 bytes"),
    "key in latin-1": (raw([pair(b"\xff", 4, 1)]), InvalidValue, "not UTF-8"),
    "value type": (raw([pair("x", 13, b"1234")]), InvalidValue, "unknown type 13"),
    "item type": (raw([pair("x", 9, struct.pack("<IQ", 77, 0))]), InvalidValue, "unknown type 77"),
    "deep nesting": (raw([nested(5)]), InvalidValue, "deeper than 4"),
    "array beyond the end": (
        raw([pair("x", 9, struct.pack("<IQ", 4, 1000))]),
        TruncatedFile,
        "in the middle of the value of x",
    ),
    "absurd strings": (
        raw([pair("x", 9, struct.pack("<IQ", 8, 2**61))]),
        InvalidValue,
        "no file holds",
    ),
    "string beyond the end": (
        raw([pair("tokenizer.x", 9, struct.pack("<IQQ", 8, 2, 2**64 - 1) + b"\0" * 9)]),
        TruncatedFile,
        "tokenizer.x",
    ),
    "architecture is a number": (
        raw([pair("general.architecture", 4, 7)]),
        InvalidValue,
        "not a short text",
    ),
    "alignment 3": (raw([pair("general.alignment", 4, 3)]), InvalidValue, "power of two"),
    "alignment text": (raw([pair("general.alignment", 8, "32")]), InvalidValue, "power of two"),
    "alignment 0": (raw([pair("general.alignment", 4, 0)]), InvalidValue, "power of two"),
    "tensor twice": (
        raw([], [tensor("a"), tensor("a")], b"\0" * 64),
        InvalidValue,
        "the tensor a appears twice",
    ),
    "five dimensions": (raw([], [tensor("a", (1,) * 5)], b"\0" * 64), InvalidValue, "5 dimensions"),
    "odd offset": (raw([], [tensor("a", offset=4)], b"\0" * 64), InvalidValue, "no multiple of 32"),
    "data cut": (raw([], [tensor("a", (64,))], b"\0" * 255), TruncatedFile, "its tensors need"),
    "quantised factors": (
        raw([], [tensor("rope_freqs.weight", (32,), 8)], b"\0" * 64),
        InvalidValue,
        "ggml type 8, expected F32",
    ),
    "empty factors": (
        raw([], [tensor("rope_freqs.weight", (0,))], b"\0" * 64),
        InvalidValue,
        "has 0 values",
    ),
    "huge factors": (
        raw([], [tensor("rope_freqs.weight", (70_000,))], b"\0" * 280_000),
        InvalidValue,
        "has 70000 values",
    ),
    "empty file": (b"", TruncatedFile, "is empty"),
    "lfs pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
        LfsPointer,
        "git lfs pull",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_one_clear_sentence(save, name: str) -> None:
    data, kind, words = BROKEN[name]
    path = save(data)
    with pytest.raises(SourceError) as caught:
        read(path)
    message = str(caught.value)
    assert type(caught.value) is kind, message
    assert words in message
    assert str(path)[:40] in message
    assert message.isprintable()
    assert len(message) < 500


def test_control_characters_stay_out_of_messages(save) -> None:
    with pytest.raises(InvalidValue) as caught:
        read(save(raw([pair("\x1b[31mred\n", 99, b"")])))
    assert str(caught.value).isprintable()


def test_folders_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(SourceError, match="does not exist"):
        read(tmp_path / "no.gguf")


def test_every_truncation_is_said(save) -> None:
    data = small()
    assert read(save(data)).tables[0].values == (1.0, 1.0, 2.0, 4.0)
    for end in range(len(data)):
        path = save(data[:end])
        with pytest.raises(SourceError) as caught:
            read(path)
        if end >= 4:
            assert isinstance(caught.value, TruncatedFile), (end, caught.value)


@settings(
    max_examples=400,
    deadline=2000,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    edits=st.lists(
        st.tuples(st.integers(4, len(small()) - 1), st.binary(min_size=1, max_size=8)),
        min_size=1,
        max_size=6,
    ),
    cut=st.none() | st.integers(0, len(small())),
)
def test_mutations_raise_source_errors_only(
    tmp_path: Path, edits: list[tuple[int, bytes]], cut: int | None
) -> None:
    data = bytearray(small())
    for at, new in edits:
        data[at : at + len(new)] = new
    path = tmp_path / "mutated.gguf"
    path.write_bytes(bytes(data[:cut]))
    try:
        resolution = llama_cpp.read(read(path), ())
    except SourceError as error:
        assert str(error).isprintable()
    else:
        assert all(s.inv_freq for s in resolution.schedules)


def test_numbers_at_every_edge(tmp_path: Path) -> None:
    """Each 4- and 8-byte word in turn becomes a number at the edge of its type."""
    data = small()
    path = tmp_path / "edge.gguf"
    started = time.perf_counter()
    for at in range(4, len(data) - 8, 4):
        for word in (b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f", struct.pack("<d", 1e308)):
            path.write_bytes(data[:at] + word + data[at + len(word) :])
            try:
                llama_cpp.read(read(path), ())
            except SourceError as error:
                assert str(error).isprintable()
    assert time.perf_counter() - started < 60
