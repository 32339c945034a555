"""GGUF files: against the gguf package, byte by byte, broken in every way."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue, LfsPointer, SourceError, TruncatedFile
from ropeaudit.facts import Reading
from ropeaudit.readers import llama_cpp
from ropeaudit.sources import gguf, opening
from tests import models
from tests.gguf_files import pair, raw, tensor, text, write

LLAMA: dict[str, Any] = {
    "context_length": 8192,
    "embedding_length": 512,
    "block_count": 4,
    "attention.head_count": 8,
    "attention.head_count_kv": [4, 4, 2, 2],
    "rope.freq_base": 500000.0,
    "rope.dimension_count": 64,
    "rope.scaling.finetuned": True,
    "rope.scaling.type": "linear",
}
FACTORS = [1.0] * 16 + [1.5, 2.0, 3.0, 5.0] + [8.0] * 12
ARCHITECTURE = pair("general.architecture", 8, "llama")


def read(path: Path) -> Reading:
    return gguf.read(path, target=str(path))


@pytest.fixture
def save(tmp_path: Path):
    def save(data: bytes, name: str = "model.gguf") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return save


@pytest.mark.parametrize(
    ("kind", "big_endian"),
    # The gguf package leaves bf16 tensors unswapped; big-endian ones are written by hand below.
    [(k, b) for k in ("F32", "F16", "F64") for b in (False, True)] + [("BF16", False)],
)
def test_agrees_with_the_gguf_package(tmp_path: Path, kind: str, big_endian: bool) -> None:
    import gguf as peer

    tokens = {"tokenizer.ggml.tokens": [f"token {n}" for n in range(500)]}
    tensors = {"token_embd.weight": [0.5] * 96, "rope_freqs.weight": FACTORS}
    path = write(
        tmp_path / "model.gguf", "llama", LLAMA | tokens, tensors, big_endian=big_endian, kind=kind
    )
    reading = read(path)
    known = peer.GGUFReader(path)
    assert reading.metadata is not None
    for key, value in reading.metadata.items():
        assert known.fields[key].contents() == value, key
    own = {k for k in known.fields if k.startswith("llama.")}
    assert own <= reading.metadata.keys()
    assert reading.tensor_names == tuple(t.name for t in known.tensors)
    (table,) = reading.tables
    assert table.role == "rope_factors"
    assert table.values == tuple(FACTORS)  # all of them exact in every format
    assert (
        table.dtype
        == {
            "F32": "float32",
            "F16": "float16",
            "BF16": "bfloat16",
            "F64": "float64",
        }[kind]
    )
    assert table.location.tensor == "rope_freqs.weight"
    assert bool(reading.notes) == big_endian


def test_big_endian_bfloat16_by_hand(save) -> None:
    halves = [0x3F80, 0x3FC0, 0x4000, 0x4120]  # 1, 1.5, 2, 10
    for order in "<>":
        data = raw(
            [pair("general.architecture", 8, "llama", order)],
            [tensor("rope_freqs.weight", (4,), 30, 0, order)],
            struct.pack(order + "4H", *halves),
            order=order,
        )
        (table,) = read(save(data)).tables
        assert table.values == (1.0, 1.5, 2.0, 10.0)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [2, 3])
def test_both_versions_by_hand(save, version: int, order: str) -> None:
    pairs = [
        pair("llama.rope.freq_base", 6, 10000.0, order),  # before the architecture is known
        pair("general.architecture", 8, "llama", order),
        pair("llama.context_length", 10, 4096, order),
        pair("qwen2.rope.freq_base", 6, 1e6, order),
        pair("tokenizer.ggml.merges", 9, (8, ["a b"] * 7), order),
        pair("tokenizer.chat_template", 8, "{{ x }}" * 4000, order),
        pair("llama.attention.flags", 9, (7, [True, False]), order),
        pair("llama.vocab_size", 4, 9, order),
    ]
    for nested in ((9, [(4, [1, 2]), (4, [])]), (9, [(9, [(8, ["x"])])]), (9, [])):
        pairs.append(pair(f"nested.{len(pairs)}", 9, nested, order))
    reading = read(save(raw(pairs, version=version, order=order)))
    assert reading.metadata == {
        "llama.rope.freq_base": 10000.0,
        "general.architecture": "llama",
        "llama.context_length": 4096,
        "llama.attention.flags": [True, False],
    }
    assert reading.files[0].bytes_read == (Path(reading.target).stat().st_size)


def test_long_arrays_and_texts_are_stepped_over(save) -> None:
    pairs = [
        ARCHITECTURE,
        pair("llama.rope.list", 9, (4, list(range(4097)))),
        pair("llama.rope.short", 9, (4, list(range(4096)))),
        pair("llama.rope.text", 8, "x" * 5000),
    ]
    metadata = read(save(raw(pairs))).metadata or {}
    assert metadata["llama.rope.list"] is None
    assert metadata["llama.rope.text"] is None
    assert metadata["llama.rope.short"] == list(range(4096))


def test_reads_per_layer_and_stored_tables(save) -> None:
    names = ["blk.3.rope_freqs.weight", "rope_factors_long.weight", "blk.0.attn_rot_embd.weight"]
    tensors = [tensor(n, (2,), 0, 32 * i) for i, n in enumerate(names)]
    data = b"".join(struct.pack("<2f24x", 1.0, 0.5 + i) for i in range(3))
    tables = read(save(raw([ARCHITECTURE], tensors, data))).tables
    assert [(t.role, t.layer, t.values) for t in tables] == [
        ("rope_factors", 3, (1.0, 0.5)),
        ("rope_factors_long", None, (1.0, 1.5)),
        ("inv_freq", 0, (1.0, 2.5)),
    ]


@pytest.mark.parametrize("asked", [1, 2, 3])
def test_split_files_are_read_as_one(tmp_path: Path, asked: int) -> None:
    import gguf as peer
    import numpy as np

    writer = peer.GGUFWriter(tmp_path / "m.gguf", "llama", split_max_tensors=1)
    writer.add_context_length(4096)
    for name in ("a.weight", "rope_freqs.weight", "b.weight"):
        writer.add_tensor(name, np.full(32, 2.0, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    reading = read(tmp_path / f"m-{asked:05d}-of-00003.gguf")
    assert (reading.metadata or {})["llama.context_length"] == 4096
    assert reading.tensor_names == ("a.weight", "rope_freqs.weight", "b.weight")
    assert [t.values for t in reading.tables] == [(2.0,) * 32]
    assert Path(reading.tables[0].location.file).name == "m-00002-of-00003.gguf"
    assert len(reading.files) == 3

    lost = 2 if asked != 2 else 1
    (tmp_path / f"m-{lost:05d}-of-00003.gguf").unlink()
    with pytest.raises(SourceError, match=f"m-0000{lost}-of-00003.gguf is missing") as caught:
        read(tmp_path / f"m-{asked:05d}-of-00003.gguf")
    assert type(caught.value) is SourceError


def test_shards_must_fit_together(save) -> None:
    def shard(count: int) -> bytes:
        return raw([ARCHITECTURE, pair("split.count", 2, count)])

    save(shard(2), "x-00001-of-00002.gguf")
    path = save(shard(3), "x-00002-of-00002.gguf")
    with pytest.raises(InvalidValue, match="its name means 2"):
        read(path)
    with pytest.raises(InvalidValue, match="shards are of different models"):
        read(path.with_name("x-00001-of-00002.gguf"))
    with pytest.raises(InvalidValue, match="its name means 1"):
        read(save(shard(2), "renamed.gguf"))
    whole = save(raw([ARCHITECTURE]), "y-00002-of-00007.gguf")  # only named like a shard
    assert read(whole).metadata == {"general.architecture": "llama"}


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


def small() -> bytes:
    """A file with one of everything, 900 bytes."""
    pairs = [
        ARCHITECTURE,
        pair("llama.context_length", 4, 4096),
        pair("llama.embedding_length", 4, 64),
        pair("llama.block_count", 4, 4),
        pair("llama.attention.head_count", 9, (4, [8, 8, 8, 8])),
        pair("llama.rope.freq_base", 6, 10000.0),
        pair("llama.rope.dimension_count", 4, 8),
        pair("llama.rope.scaling.type", 8, "yarn"),
        pair("llama.rope.scaling.factor", 12, 4.0),
        pair("tokenizer.ggml.tokens", 9, (8, ["a", "bc", ""])),
        pair("tokenizer.ggml.scores", 9, (6, [0.5, 1.5])),
        pair("nested", 9, (9, [(8, ["x", "y"])])),
    ]
    infos = [tensor("blk.0.attn_q.weight", (4, 2)), tensor("rope_freqs.weight", (4,), 0, 32)]
    return raw(pairs, infos, struct.pack("<8f", *[0.0] * 8) + struct.pack("<4f", 1, 1, 2, 4))


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


def test_content_decides_and_the_suffix_helps(save) -> None:
    good = save(small(), "weights.bin")
    assert opening.open_target(str(good)).format == "gguf"
    web_page = save(b"\x00not it" * 9, "model.gguf")
    with pytest.raises(InvalidValue, match="expected 'GGUF'"):
        opening.open_target(str(web_page))
    assert not gguf.sniff(b"GGU", Path("x.gguf"))


def test_names_with_odd_lengths(save) -> None:
    assert text("ab") == b"\2" + b"\0" * 7 + b"ab"
    name = "n" * 1024
    assert read(save(raw([], [tensor(name)], b"\0" * 16))).tensor_names == (name,)
    with pytest.raises(InvalidValue, match="1025 bytes"):
        read(save(raw([], [tensor(name + "n")], b"\0" * 16)))


def test_reading_imports_no_array_library(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", "llama", LLAMA, {"rope_freqs.weight": FACTORS})
    code = (
        "import sys; from pathlib import Path\n"
        "from ropeaudit.sources import gguf; from ropeaudit.readers import llama_cpp\n"
        f"r = llama_cpp.read(gguf.read(Path({str(path)!r}), target='m'), ())\n"
        "assert r.schedules\n"
        "print([m for m in ('numpy', 'gguf', 'torch', 'yaml', 'mpmath') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("model", [models.smollm2, models.gemma3])
def test_real_files_against_the_gguf_package(model) -> None:
    import gguf as peer

    path = model()
    reading = read(path)
    known = peer.GGUFReader(path)
    metadata = reading.metadata or {}
    prefix = f"{metadata['general.architecture']}."
    wanted = [
        k for k in known.fields if k.startswith(prefix) and (".rope." in k or ".attention." in k)
    ]
    assert wanted
    for key in (*wanted, f"{prefix}block_count", f"{prefix}context_length"):
        assert metadata[key] == known.fields[key].contents(), key
    assert reading.tensor_names == tuple(t.name for t in known.tensors)
    assert reading.files[0].bytes_read < 10_000_000
