"""safetensors: every dtype against the safetensors package, and its strictness against ours."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from ropeaudit.api import audit
from ropeaudit.errors import InvalidValue, SourceError
from ropeaudit.findings import Verdict
from ropeaudit.sources import tensor_names
from ropeaudit.sources._safetensors_header import NEEDLES
from ropeaudit.sources.opening import open_target
from ropeaudit.sources.safetensors import MAX_LEARNED, read_many

INV = torch.tensor([1.0, 0.7, 0.01, 3e-7])
DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float8_e4m3": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
}


def raw(header: Any, data: bytes = b"") -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_values_are_exact(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.safetensors"
    held = INV.to(DTYPES[name])
    save_file({"model.layers.3.rotary_emb.inv_freq": held, "w": torch.zeros(9)}, path)
    (table,) = open_target(str(path)).tables
    assert table.values == tuple(held.double().tolist())
    assert (table.dtype, table.shape, table.role) == (name, (4,), "inv_freq")
    assert table.layer == 3
    assert str(table.location) == f"{path} model.layers.3.rotary_emb.inv_freq"


def test_not_a_number_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"inv_freq": torch.tensor([math.nan, math.inf, 1e-40])}, path)
    (table,) = open_target(str(path)).tables
    assert math.isnan(table.values[0])
    assert table.values[1:] == (math.inf, torch.tensor(1e-40).item())


@pytest.mark.parametrize("layout", ["halves", "neighbours", "single"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_of_a_cache_two_rows_are_read(tmp_path: Path, layout: str, dtype: torch.dtype) -> None:
    path = tmp_path / "x.safetensors"
    angles = torch.arange(4096)[:, None] * torch.tensor([1.0, 0.25, 0.001])
    wide = {
        "halves": torch.cat([angles, angles], 1),
        "neighbours": angles.repeat_interleave(2, 1),
        "single": angles,
    }[layout][None, None]
    save_file(
        {
            "rotary.cos_cached": (1.25 * wide.cos()).to(dtype).contiguous(),
            "rotary.sin_cached": (1.25 * wide.sin()).to(dtype).contiguous(),
        },
        path,
    )
    reading = open_target(str(path))
    (table,) = reading.tables
    assert table.role == "cos_sin_cache"
    assert table.attention_scaling == 1.25
    tolerance = 3e-7 if dtype is torch.float32 else 4e-3
    assert table.values == pytest.approx((1.0, 0.25, 0.001), rel=tolerance)
    assert (reading.files[0].bytes_read or 0) < 5000


def test_joint_and_complex_caches(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    angles = torch.arange(8)[:, None] * torch.tensor([1.0, 0.25])
    save_file(
        {
            "a.cos_sin_cache": torch.cat([angles.cos(), angles.sin()], 1),
            "b.freqs_cis": torch.polar(torch.ones_like(angles), angles),
        },
        path,
    )
    tables = open_target(str(path)).tables
    assert sorted(t.name for t in tables) == [
        "a.cos_sin_cache",
        "b.freqs_cis",
    ]
    for table in tables:
        assert table.values == pytest.approx((1.0, 0.25), rel=1e-7)


def test_caches_in_two_shards_find_each_other(tmp_path: Path) -> None:
    angles = torch.arange(8)[:, None] * torch.tensor([1.0, 0.25])
    for part, values in (("cos", angles.cos()), ("sin", angles.sin())):
        save_file({f"r.{part}_cached": values}, tmp_path / f"{part}.safetensors")
    reading = read_many([tmp_path / "cos.safetensors", tmp_path / "sin.safetensors"], target="x")
    assert reading.tables[0].values == pytest.approx((1.0, 0.25), rel=1e-7)


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({"r.cos_cached": torch.ones(8, 4)}, "no partner"),
        ({"r.cos_cached": torch.ones(8, 4), "r.sin_cached": torch.ones(8, 4)}, "position 0"),
        ({"r.cos_cached": torch.ones(8, 4), "r.sin_cached": torch.zeros(8, 2)}, "no partner"),
        ({"r.cos_sin_cache": torch.ones(8, 3)}, "rows of 3"),
        ({"r.cos_cached": torch.ones(8)}, "no rotary table"),
        ({"inv_freq": torch.zeros(0)}, "no rotary table"),
        ({"inv_freq": torch.zeros(4, dtype=torch.int32)}, "stored as I32"),
        ({"freqs": torch.zeros(2, MAX_LEARNED)}, "more than any learned"),
    ],
)
def test_what_cannot_be_used_is_said(
    tmp_path: Path, tensors: dict[str, torch.Tensor], words: str
) -> None:
    path = tmp_path / "x.safetensors"
    save_file(tensors, path)
    reading = open_target(str(path))
    assert not any(t.values for t in reading.tables)
    assert any(words in n.message for n in reading.notes), reading.notes


@pytest.mark.parametrize(
    ("tensors", "kind"),
    [
        ({"m.inv_freq": torch.zeros(0)}, "broken_table"),
        ({"m.inv_freq": torch.zeros(4, dtype=torch.int32)}, "broken_table"),
        ({f"m.{part}_cached": torch.zeros(8, 4) for part in ("cos", "sin")}, "broken_table"),
        ({f"m.{part}_cached": torch.ones(8, 4) * math.nan for part in ("cos", "sin")},
         "broken_table"),
        ({f"m.{part}_cached": torch.ones(8, 4) * 1e30 for part in ("cos", "sin")}, "broken_table"),
        ({f"m.{part}_cached": torch.ones(8, 4) for part in ("cos", "sin")}, "unread_tensor"),
        ({"m.cos_cached": torch.ones(8, 4)}, "unread_tensor"),
    ],
)  # fmt: skip
def test_a_table_of_the_model_that_cannot_be_read_leaves_the_verdict_open(
    tmp_path: Path, tensors: dict[str, torch.Tensor], kind: str
) -> None:
    save_file(tensors, tmp_path / "model.safetensors")
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8,
              "max_position_embeddings": 4096, "rope_theta": 10000.0}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    report = audit(tmp_path).subjects[0]
    assert [n.kind for n in report.subject.notes] == [kind]
    assert report.verdict is (Verdict.UNKNOWN if kind == "broken_table" else Verdict.PASS)


def test_a_layer_number_of_5000_digits_is_no_layer(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({f"layers.{'9' * 5000}.inv_freq": INV}, path)
    assert [t.layer for t in open_target(str(path)).tables] == [None]


def test_learned_frequencies_are_read_and_generators_named(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    freqs = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(1))
    save_file({"freqs": freqs, "encoder._primitives": torch.ones(4, 4)}, path)
    learned = {t.name: t for t in open_target(str(path)).tables}
    assert learned["freqs"].values == tuple(freqs.double().flatten().tolist())
    assert (learned["freqs"].role, learned["freqs"].shape) == ("learned", (2, 3, 8))
    assert learned["encoder._primitives"].values == ()


def test_weights_are_never_read(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"w": torch.zeros(1 << 20), "inv_freq": INV}, path)
    reading = open_target(str(path))
    assert (reading.files[0].bytes_read or 0) < 5000


def test_a_file_without_tables_is_insufficient(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"w": torch.zeros(4)}, path)
    for target in (path, tmp_path):
        (note,) = open_target(str(target)).notes
        assert note.kind == "insufficient"
    (tmp_path / "config.json").write_text("{}")
    assert open_target(str(tmp_path)).notes == ()


def test_no_telling_name_can_escape_the_skim() -> None:
    names = [
        *tensor_names._EXACT,
        "inv_freq",
        "long_inv_freq",
        "inverse_freqs",
        "inverse_frequency",
    ]
    assert all(tensor_names.interesting(n) for n in names)
    assert all(any(needle in n.encode() for needle in NEEDLES) for n in names)


def test_a_name_written_with_escapes_is_found_in_a_shard(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    text = rb'{"inv\u005ffre\u0071":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'
    path.write_bytes(struct.pack("<Q", len(text)) + text + INV.numpy().tobytes())
    assert len(read_many([path], target="x").tables) == 1


@pytest.mark.parametrize(
    "header",
    [
        [],
        "x",
        {"a": None},
        {"a": {}},
        {"a": {"dtype": "F32", "shape": "x", "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}},
        {"a": {"dtype": 1, "shape": [1], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 1 << 70]}},
        {"a": {"dtype": "F32", "shape": [1 << 70], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}},
    ],
)
def test_headers_that_are_wrong(tmp_path: Path, header: Any) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(raw(header, b"\0" * 4))
    with pytest.raises(InvalidValue, match=r"x\.safetensors"):
        open_target(str(path))


@pytest.mark.parametrize(
    "text", [b"{" * 100_000, b'{"a":' + b"9" * 5000 + b"}", b"{\xff}", b"{}\0"]
)
def test_headers_that_are_no_json(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    with pytest.raises(InvalidValue, match=r"x\.safetensors"):
        open_target(str(path))


entry = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F32", "BF16", "U8", "I64", "X"]),
        "shape": st.lists(st.integers(0, 3), max_size=2),
        "data_offsets": st.lists(st.integers(0, 24), min_size=1, max_size=3),
    }
)


@given(
    header=st.dictionaries(st.sampled_from(["a", "b", "inv_freq"]), entry, max_size=3),
    size=st.integers(0, 24),
)
@settings(max_examples=300)
def test_we_refuse_what_the_package_refuses(
    tmp_path_factory: pytest.TempPathFactory, header: dict[str, Any], size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "strict.safetensors"
    path.write_bytes(raw(header, b"\0" * size))
    try:
        with safe_open(path, "np") as opened:
            theirs = sorted(opened.keys())
    except (SafetensorError, OSError):
        theirs = None
    try:
        ours = open_target(str(path))
    except SourceError:
        assert theirs is None
    else:
        assert theirs is not None
        assert set(ours.tensor_names) <= set(theirs)


@given(
    widths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    dtype=st.sampled_from(sorted(DTYPES)),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_whatever_the_package_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, widths: list[int], dtype: str, seed: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.safetensors"
    rng = np.random.default_rng(seed)
    tensors = {
        f"layers.{i}.inv_freq": torch.tensor(rng.random(w)).to(DTYPES[dtype])
        for i, w in enumerate(widths)
    }
    save_file(tensors, path)
    for table in open_target(str(path)).tables:
        assert table.values == tuple(tensors[table.name].double().tolist())
