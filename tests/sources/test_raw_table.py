"""Bare tables: every format against numpy, kept exactly; what is something else is refused."""

from __future__ import annotations

import io
import json
import math
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue, SourceError, TruncatedFile, UnsafePickle
from ropeaudit.facts import StoredTable
from ropeaudit.sources.interface import MAX_TABLE_BYTES
from ropeaudit.sources.opening import open_target

INV = [1.0, 0.1, 1e-5, 3.3e-7]


def tables(path: Path) -> tuple[StoredTable, ...]:
    reading = open_target(str(path))
    assert reading.format == "raw"
    return reading.tables


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i4", "u1", "i8"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_npy(tmp_path: Path, kind: str, order: str) -> None:
    held = np.array([1, 0.5, 0.25, 0.1]).astype(order + kind)
    np.save(tmp_path / "a.npy", held)
    (table,) = tables(tmp_path / "a.npy")
    assert table.values == tuple(map(float, held))
    names = {"f2": "float16", "f4": "float32"}
    assert table.dtype == names.get(kind, "float64")


@pytest.mark.parametrize("fortran", [False, True])
def test_rows_are_tables(tmp_path: Path, fortran: bool) -> None:
    held = np.arange(1, 7, dtype="f4").reshape(2, 3)
    np.save(tmp_path / "a.npy", np.asfortranarray(held) if fortran else held)
    assert [t.values for t in tables(tmp_path / "a.npy")] == [(1, 2, 3), (4, 5, 6)]
    np.save(tmp_path / "b.npy", held[:, :1].T[None])
    assert [t.values for t in tables(tmp_path / "b.npy")] == [(1, 4)]


def test_scalar_and_empty(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.float32(0.5))
    assert tables(tmp_path / "a.npy")[0].values == (0.5,)
    np.save(tmp_path / "b.npy", np.zeros(0))
    with pytest.raises(InvalidValue, match="no numbers"):
        open_target(str(tmp_path / "b.npy"))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path: Path, save: Any) -> None:
    save(tmp_path / "a.npz", first=np.array(INV), second=np.array(INV, dtype="f4"))
    found = {t.name: t for t in tables(tmp_path / "a.npz")}
    assert found["first"].values == tuple(INV)
    assert found["second"].dtype == "float32"


def test_special_values_are_kept(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324]))
    (tmp_path / "a.json").write_text('[NaN, Infinity, "-inf", -0.0, 5e-324]')
    (tmp_path / "a.txt").write_text("nan\ninf\n-inf\n-0.0\n5e-324\n")
    for name in ("a.npy", "a.json", "a.txt"):
        values = tables(tmp_path / name)[0].values
        assert math.isnan(values[0])
        assert values[1:] == (math.inf, -math.inf, 0.0, 5e-324)
        assert math.copysign(1, values[3]) == -1


@pytest.mark.parametrize(
    "text",
    [
        "1.0\n0.5\n0.25\n",
        "1.0,0.5,0.25\n",
        "1.0 0.5 0.25",
        "1.0;0.5;0.25;\n",
        "\ufeff1.0\t0.5\r\n0.25\r\n",
        "# a comment\n1.0\n\n0.5 # and one more\n.25\n",
        "[1.0 0.5\n 0.25]\n",
        "inv_freq\n1.0\n0.5\n0.25\n",
        "k,inv_freq\n0,1.0\n1,0.5\n2,0.25\n",
        '"inv_freq","k"\n1.0,0\n0.5,1\n0.25,2\n',
        '"1.0","0.5","0.25"\n',
        "0 1.0\n1 0.5\n2 0.25\n",
        "1e0\n5E-1\n+25e-2\n",
    ],
)
def test_text(tmp_path: Path, text: str) -> None:
    for suffix in ("csv", "txt", "anything"):
        path = tmp_path / f"a.{suffix}"
        path.write_text(text, encoding="utf-8", newline="")
        (table,) = tables(path)
        assert table.values == (1.0, 0.5, 0.25)
        assert table.dtype == "float64"


@pytest.mark.parametrize(
    "text", ["1_000\n", "0x10\n", "1.0.0\n", "1,5e\n", "²\n", "1\n" + "9" * 3000]
)
def test_text_that_is_no_number(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(InvalidValue, match="line|named inv_freq|no numbers"):
        open_target(str(path))


@pytest.mark.parametrize(
    "data",
    [
        INV,
        {"inv_freq": INV},
        {"inv_freq": [INV]},
        {"schedules": [{"inv_freq": INV}]},
        {"schedules": {"a": INV}},
        {"subjects": [{"schedules": [{"inv_freq": INV}]}]},
        [INV],
    ],
)
def test_json(tmp_path: Path, data: Any) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(data))
    (table,) = tables(path)
    assert table.values == tuple(INV)
    assert table.dtype == "float64"


def test_json_numbers_beyond_a_float_are_infinite(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(f"[1e400, {'9' * 399}, -1e400]")
    assert tables(path)[0].values == (math.inf, math.inf, -math.inf)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "[[]]",
        "[null]",
        "[true]",
        "[1.0, [2.0]]",
        "[[[1.0]]]",
        '["1.0"]',
        "[1.0",
        '{"inv_freq": 1.0}',
        '{"inv_freq": "1.0"}',
        '{"schedules": [{}]}',
        '{"schedules": 3}',
        '{"schedules": [3]}',
        '{"subjects": [3]}',
        '{"subjects": [{"schedules": null}]}',
        "[" * 100_000,
        "[" + "9" * 5000 + "]",
    ],
)
def test_json_that_is_no_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises((InvalidValue, TruncatedFile), match=r"a\.json|expected"):
        open_target(str(path))


def test_what_show_writes_reads_back_as_float32(tmp_path: Path) -> None:
    single = np.array(INV, dtype="f4").astype("f8").tolist()
    subject = {
        "target": "x",
        "schedules": [
            {"name": "text/full_attention", "inv_freq": single},
            {"name": "text/sliding_attention", "inv_freq": [*single[:-1], "nan"]},
        ],
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"schema": "ropeaudit/schedules/1", "subjects": [subject]}))
    first, second = tables(path)
    assert first.name == "text.full_attention.inv_freq", "spelled as a tensor"
    assert (first.values, first.dtype, second.dtype) == (tuple(single), "float32", "float32")
    assert str(first.location) == f"{path} /subjects/0/schedules/0/inv_freq"
    assert math.isnan(second.values[-1])


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    mark = tmp_path / "ran"

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(mark),)

    np.save(tmp_path / "a.npy", np.array([Evil()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "b.npz", a=np.array([Evil()], dtype=object))
    for name in ("a.npy", "b.npz"):
        with pytest.raises(UnsafePickle, match="Python objects"):
            open_target(str(tmp_path / name))
    assert not mark.exists()


def header(literal: str, body: bytes = b"") -> bytes:
    text = literal.encode().ljust(64)
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + body


@pytest.mark.parametrize(
    "literal",
    [
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 4}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (True,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': 4, 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2000, 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0x" + "f" * 9000 + ",)}",
        "(" * 3000,
        "-" * 3000 + "1",
        "[1] * 1000000000",
        "9" * 5000,
    ],
)
def test_npy_headers_that_are_wrong(tmp_path: Path, literal: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(header(literal, b"\0" * 32_000))
    with pytest.raises(InvalidValue, match=r"a\.npy"):
        open_target(str(path))


@pytest.mark.parametrize("version", [0, 4, 255])
def test_npy_versions(tmp_path: Path, version: int) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + b"\0" * 64)
    with pytest.raises(InvalidValue, match="version"):
        open_target(str(path))


def test_zip_bombs_are_refused_by_what_they_declare(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w") as a,
    ):
        np.lib.format.write_array_header_1_0(
            a, {"descr": "<f8", "fortran_order": False, "shape": (MAX_TABLE_BYTES,)}
        )
        for _ in range(65):
            a.write(bytes(1 << 20))
    assert path.stat().st_size < 200_000
    with pytest.raises(InvalidValue, match="unpack to"):
        open_target(str(path))


def test_zip_bombs_that_lie_about_their_size_stay_small(tmp_path: Path) -> None:
    """The declared size is patched down; no more than that is unpacked."""
    path = tmp_path / "bomb.npz"
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", header("x") + bytes(1 << 22))
    size = struct.pack("<I", 74 + (1 << 22))
    path.write_bytes(data.getvalue().replace(size, struct.pack("<I", 80)))
    with pytest.raises(InvalidValue, match="damaged|header"):
        open_target(str(path))


def test_a_directory_that_claims_more_than_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=np.array(INV))
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\5\6")
    data[at + 12 : at + 16] = struct.pack("<I", 1 << 30)
    path.write_bytes(data)
    with pytest.raises(InvalidValue, match="directory of 1073741824 bytes"):
        open_target(str(path))


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "no arrays")
    with pytest.raises(InvalidValue, match="without arrays"):
        open_target(str(path))


def test_sizes_are_limited(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    with path.open("wb") as file:
        np.save(file, np.array(INV))
        file.truncate(MAX_TABLE_BYTES + 1)
    with pytest.raises(InvalidValue, match=f"at most {MAX_TABLE_BYTES}"):
        open_target(str(path))


@given(
    values=st.lists(st.floats(width=32), min_size=1, max_size=40),
    dtype=st.sampled_from(["<f4", ">f4", "<f8", "<f2"]),
)
@settings(max_examples=80)
def test_whatever_numpy_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], dtype: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.npy"
    with np.errstate(over="ignore", invalid="ignore"):
        held = np.array(values).astype(dtype)
    np.save(path, held)
    (table,) = tables(path)
    np.testing.assert_array_equal(np.array(table.values), held.astype("f8"))


@given(
    values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=40),
    sep=st.sampled_from("\n,; \t"),
)
@settings(max_examples=80)
def test_text_keeps_every_digit(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], sep: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.txt"
    path.write_text(sep.join(map(repr, values)))
    try:
        (table,) = tables(path)
    except SourceError as error:  # a list that counts itself is numbers with their position
        raise AssertionError(str(error)) from None
    assert table.values == tuple(values)
