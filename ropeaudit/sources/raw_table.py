"""A bare table of frequencies: JSON, ``.npy``, ``.npz``, or numbers in text.

Numbers are kept as they are, NaN and infinities included: whether they are right is for the checks
to say. Text and JSON are float64; the output of ``ropeaudit show`` reads back as it was written.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ropeaudit.document import Document, escape, loads
from ropeaudit.errors import InvalidValue, UnrecognisedFormat, quoted, quoted_path, shown
from ropeaudit.facts import InputFile, Json, Location, Note, Reading, StoredTable, as_number
from ropeaudit.records import replace
from ropeaudit.sources import _npy, _variants
from ropeaudit.sources._files import Memory, RegularFile, refuse_pointer
from ropeaudit.sources._json import opening_bracket, text_of
from ropeaudit.sources._numbers import looks_numeric, numbers_of
from ropeaudit.sources._zip import require_modest
from ropeaudit.sources.interface import HEAD_BYTES, MAX_TABLE_BYTES

FORMAT = "raw"
SUFFIXES: tuple[str, ...] = (".npy", ".npz", ".csv", ".tsv", ".txt", ".dat")
MAX_VALUES = 1 << 18
"""Values of one table; a rotary table has a few hundred, a learned one up to 49,152."""
MAX_ROWS = 1024
"""Rows of a two-dimensional table; each is a table of its own."""
_ZIP = b"PK\x03\x04"
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def sniff(head: bytes, path: Path) -> bool:
    """Whether ``head`` begins an npy or npz file, a JSON list, or lines of numbers."""
    if head.startswith(_npy.MAGIC) or opening_bracket(head) == "[":
        return True
    if head.startswith(_ZIP):
        length = int.from_bytes(head[26:28], "little")
        return head[30 : 30 + length].endswith(b".npy")
    return looks_numeric(head)


def read(path: Path, *, target: str) -> Reading:
    """The tables in ``path``; raises SourceError."""
    with RegularFile(path) as file:
        file.head(HEAD_BYTES)
        data = file.all(MAX_TABLE_BYTES, "a frequency table")
    return read_bytes(data, target=target, path=path)


def read_bytes(data: bytes, *, target: str, path: Path | None) -> Reading:
    """Tables that are already in memory; ``path`` is None for standard input."""
    file = "-" if path is None else str(path)
    refuse_pointer(data[:1024], file)
    suffix = "" if path is None else path.suffix.lower()
    if data.startswith(_npy.MAGIC) or suffix == ".npy":
        arrays = [_npy.read_npy(data, file, "inv_freq", MAX_VALUES)]
        tables = [t for a in arrays for t in _of_array(a, file)]
    elif data.startswith(_ZIP) or suffix == ".npz":
        arrays = list(_archive(data, file))
        tables = [t for a in arrays for t in _of_array(a, file)]
    elif opening_bracket(data[:HEAD_BYTES]) == "[" and not _printed(data):
        tables = list(_of_list(loads(text_of(data, file), file), file, "", "inv_freq"))
    elif b"\0" in data[:64]:
        raise UnrecognisedFormat(
            f"{quoted_path(file)} holds binary data that is no table; give the path of the file, "
            "whose content decides how it is read"
        )
    else:
        values = numbers_of(text_of(data, file), file, MAX_VALUES)
        tables = [_table("inv_freq", values, "float64", Location(file=file))]
    return _reading(tables, target, file, data)


def from_document(document: Document, *, target: str) -> Reading:
    """The tables of a JSON object: ``inv_freq``, or what ``ropeaudit show`` writes."""
    file, data = document.file, (document.text or "").encode("utf-8", "surrogatepass")
    tables: list[StoredTable] = []
    notes: list[Note] = []
    for pointer, schedule in _schedules(document.data, ""):
        values = schedule.get("inv_freq") if isinstance(schedule, dict) else schedule
        name = schedule.get("name") if isinstance(schedule, dict) else None
        label = "inv_freq"
        if isinstance(name, str) and name:  # spelled as a tensor, whose name tells what it serves
            label = f"{name.replace('/', '.')}.inv_freq"
        if values is None:
            raise InvalidValue(
                f"{quoted_path(file)} has a schedule without inv_freq at {quoted(pointer)}",
                where=pointer,
            )
        inner = f"{pointer}/inv_freq" if isinstance(schedule, dict) else pointer
        tables += _of_list(values, file, inner, label)
    if "subjects" in document.data:
        notes.append(Note("shown", "read back from the output of ropeaudit show"))
    tensors = _variants.tensors_in(document.data, file)
    made = _reading(tables, target, file, data, notes, alone=not tensors)
    if not tensors:
        return made
    return replace(made, tensors=tensors, stored_config=_variants.config_in(document.data, file))


def _schedules(data: Json, at: str) -> Iterator[tuple[str, Json]]:
    """Pointers and objects of everything that holds a table."""
    if "inv_freq" in data:
        inner = data["inv_freq"]
        if isinstance(inner, dict):
            for key, value in inner.items():
                yield f"{at}/inv_freq/{escape(key)}", value
        else:
            yield at, data
    for key in ("schedules", "subjects"):
        inner = data.get(key)
        if inner is None:
            continue
        items = inner.items() if isinstance(inner, dict) else enumerate(_list(inner, f"{at}/{key}"))
        for step, value in items:
            place = f"{at}/{key}/{escape(str(step))}"
            if key == "subjects" and isinstance(value, dict):
                yield from _schedules(value, place)
            else:
                yield place, value


def _list(value: Json, where: str) -> list[Json]:
    if not isinstance(value, list):
        raise InvalidValue(f"{where} holds {shown(value)}, expected a list", where=where)
    return value


def _of_list(values: Json, file: str, pointer: str, name: str) -> Iterator[StoredTable]:
    """One table for a list of numbers, one a row for a list of lists."""
    items = _list(values, pointer or quoted_path(file))
    if items and all(isinstance(v, list) for v in items):
        if len(items) > MAX_ROWS:
            raise InvalidValue(_too_many_rows(file, len(items)), where=pointer or None)
        for at, row in enumerate(items):
            yield from _of_list(_flat(row, file), file, f"{pointer}/{at}", f"{name}[{at}]")
        return
    if len(items) > MAX_VALUES:
        raise InvalidValue(f"{quoted_path(file)} lists {len(items)} values, expected {MAX_VALUES}")
    numbers = tuple(_number(v, file, f"{pointer}/{i}") for i, v in enumerate(items))
    shown = pointer.startswith(("/schedules", "/subjects")) and _single(numbers)
    dtype = "float32" if shown else "float64"
    yield _table(name, numbers, dtype, Location(file=file, pointer=pointer or None))


def _printed(data: bytes) -> bool:
    """Whether a list has spaces for commas, as ``print`` shows an array."""
    several = b"," not in data and len(data.strip(b"[] \t\r\n").split()) > 1
    whole = data.count(b"[") == data.count(b"]") == 1
    return several and whole and looks_numeric(data[:HEAD_BYTES])


def _flat(row: list[Json], file: str) -> list[Json]:
    if any(isinstance(v, list) for v in row):
        raise InvalidValue(
            f"{quoted_path(file)} nests lists three deep, expected a list of numbers, or of rows"
        )
    return row


def _number(value: Json, file: str, where: str) -> float:
    if isinstance(value, str) and value in _SPECIAL:
        return _SPECIAL[value]
    number = as_number(value)
    if number is None:
        raise InvalidValue(
            f"{quoted_path(file)} holds {shown(value)} at {where}, expected a number", where=where
        )
    return number


def _single(values: Sequence[float]) -> bool:
    """Whether every value is a float32."""
    rounded = array("f", values)
    return all(a == b or (a != a and b != b) for a, b in zip(values, rounded, strict=True))


def _archive(data: bytes, file: str) -> Iterable[_npy.Array]:
    require_modest(Memory(data, file))
    arrays = list(_npy.read_npz(data, file, MAX_VALUES))
    if not arrays:
        raise InvalidValue(f"{quoted_path(file)} is an archive without arrays (*.npy)")
    return arrays


def _of_array(found: _npy.Array, file: str) -> Iterator[StoredTable]:
    axes = [n for n in found.shape if n != 1]
    place = Location(file=file, tensor=found.name)
    if len(axes) <= 1:
        yield _table(found.name, found.values, found.dtype, place, found.shape)
        return
    if len(axes) > 2:
        raise InvalidValue(
            f"{quoted_path(file)} has shape {quoted(list(found.shape))}, expected one table or rows"
        )
    rows, width = axes
    if rows > MAX_ROWS:
        raise InvalidValue(_too_many_rows(file, rows))
    for at in range(rows):
        values = found.values[at * width : (at + 1) * width]
        yield _table(f"{found.name}[{at}]", values, found.dtype, place)


def _too_many_rows(file: str, rows: int) -> str:
    return (
        f"{quoted_path(file)} has {rows} rows, and a table has at most {MAX_ROWS}; it looks like a "
        "cache of angles, give the frequencies instead"
    )


def _table(
    name: str,
    values: tuple[float, ...],
    dtype: str,
    location: Location,
    shape: tuple[int, ...] | None = None,
) -> StoredTable:
    return StoredTable(
        name=name,
        values=values,
        dtype=dtype,
        shape=(len(values),) if shape is None else shape,
        location=location,
    )


def _reading(
    tables: list[StoredTable],
    target: str,
    file: str,
    data: bytes,
    notes: Sequence[Note] = (),
    *,
    alone: bool = True,
) -> Reading:
    """``alone``: the tables are all that the file holds, so there has to be one."""
    if alone and not any(t.values for t in tables):
        raise InvalidValue(f"{quoted_path(file)} holds no numbers, expected a table of frequencies")
    return Reading(
        target=target,
        format=FORMAT,
        tables=tuple(t for t in tables if t.values),
        files=(InputFile(path=file, format=FORMAT, bytes_read=len(data), content=data),),
        notes=tuple(notes),
    )
