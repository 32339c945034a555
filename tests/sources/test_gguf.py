"""GGUF files: against the gguf package, byte by byte, broken in every way."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.errors import InvalidValue, SourceError
from ropeaudit.sources import gguf, opening
from tests import models
from tests.gguf_files import pair, raw, tensor, text, write
from tests.gguf_headers import ARCHITECTURE, read, small

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
