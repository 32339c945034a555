"""NumPy's ``.npy`` and ``.npz`` without NumPy: a table of 64 numbers does not need it.

The header is a Python literal (numpy/lib/format.py, versions 1.0 to 3.0); it is evaluated as a
literal only, and what it declares is held against the bytes that are there before any is decoded.
Arrays of objects are pickles and are refused.
"""

from __future__ import annotations

import ast
import math
import struct
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from ropeaudit.errors import InvalidValue, TruncatedFile, UnsafePickle, quoted, quoted_path
from ropeaudit.records import record
from ropeaudit.sources._floats import decode
from ropeaudit.sources.interface import MAX_TABLE_BYTES

MAGIC = b"\x93NUMPY"
MAX_LITERAL = 10_000
"""NumPy's own limit for a header."""
MAX_MEMBERS = 4096
_FLOATS = {"f8": "float64", "f4": "float32", "f2": "float16"}
_INTEGERS = {f"{kind}{size}": size for kind in "iu" for size in (1, 2, 4, 8)}
_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}


@record()
class Array:
    """Values in C order; integers are given as float64."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    values: tuple[float, ...]


def read_npy(data: bytes, file: str, name: str, most: int) -> Array:
    """The array in ``data``, of at most ``most`` values; raises SourceError."""
    header, start = _header(data, file)
    descr, shape = _declared(header, file)
    kind, width, big = _kind(descr, file)
    count = math.prod(shape)
    if count > most:
        raise InvalidValue(
            f"{quoted_path(file)} declares the shape {quoted(shape)}, more than the {most} "
            "values that a frequency table can have"
        )
    if len(data) - start < count * width:
        raise TruncatedFile(
            f"{quoted_path(file)} declares {count} values of {width} bytes and holds "
            f"{len(data) - start} bytes; copy it again"
        )
    body = data[start : start + count * width]
    if kind in _INTEGERS:
        code = _CODES[width].upper() if kind[0] == "u" else _CODES[width]
        values = tuple(map(float, struct.unpack(f"{'>' if big else '<'}{count}{code}", body)))
        dtype = "float64"
    else:
        dtype = _FLOATS[kind]
        values = decode(body, dtype, big=big)
    if header["fortran_order"] and len(shape) == 2:
        rows, columns = shape
        values = tuple(values[c * rows + r] for r in range(rows) for c in range(columns))
    return Array(name, shape, dtype, values)


def read_npz(data: bytes, file: str, most: int) -> Iterator[Array]:
    """The arrays of an archive, one by one; raises SourceError, zip bombs included."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
            total = sum(m.file_size for m in members)
            if len(members) > MAX_MEMBERS:
                raise InvalidValue(
                    f"{quoted_path(file)} holds {len(members)} arrays, expected at most "
                    f"{MAX_MEMBERS}"
                )
            if total > MAX_TABLE_BYTES:
                raise InvalidValue(
                    f"{quoted_path(file)} would unpack to {total} bytes in {len(members)} arrays, "
                    f"and tables have at most {MAX_TABLE_BYTES}"
                )
            for member in members:
                with archive.open(member) as opened:  # reads no more than the declared size
                    unpacked = opened.read(MAX_TABLE_BYTES + 1)
                name = member.filename.removesuffix(".npy")
                yield read_npy(unpacked, f"{file}:{member.filename}", name, most)
    except InvalidValue:
        raise
    except (TruncatedFile, UnsafePickle):
        raise
    except Exception as error:  # zipfile, zlib, bz2 and lzma each have errors of their own
        raise InvalidValue(
            f"{quoted_path(file)} is a damaged or encrypted zip archive ({quoted(str(error))}); "
            "write it again with numpy.savez"
        ) from None


def _header(data: bytes, file: str) -> tuple[dict[str, Any], int]:
    if not data.startswith(MAGIC):
        raise InvalidValue(
            f"{quoted_path(file)} begins with bytes {data[:6].hex(' ')}, expected those of an npy "
            f"file ({MAGIC.hex(' ')}); write it again with numpy.save"
        )
    size = 2 if data[6:7] == b"\1" else 4
    start = 8 + size + int.from_bytes(data[8 : 8 + size], "little")
    if data[6:7] not in (b"\1", b"\2", b"\3") or start > 8 + size + MAX_LITERAL:
        raise InvalidValue(
            f"{quoted_path(file)} has an npy header of version {data[6:7].hex() or 'none'} and "
            f"{start - 8 - size} bytes, expected version 1 to 3 and at most {MAX_LITERAL} bytes"
        )
    if len(data) < start:
        raise TruncatedFile(f"{quoted_path(file)} ends inside its npy header; copy it again")
    literal = data[8 + size : start]
    try:
        header = ast.literal_eval(literal.decode("utf-8" if data[6] == 3 else "latin-1").strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        header = None
    if not isinstance(header, dict) or header.keys() != {"descr", "fortran_order", "shape"}:
        raise InvalidValue(
            f"{quoted_path(file)} has the npy header {quoted(literal.decode('latin-1'))}, expected "
            "descr, fortran_order and shape"
        )
    return header, start


def _declared(header: dict[str, Any], file: str) -> tuple[str, tuple[int, ...]]:
    descr, shape = header["descr"], header["shape"]
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        raise InvalidValue(
            f"{quoted_path(file)} has shape {quoted(shape)}, expected a tuple of sizes"
        )
    if not isinstance(descr, str):
        raise InvalidValue(
            f"{quoted_path(file)} holds records ({quoted(descr)}), expected plain floats"
        )
    if descr.lstrip("|<>=").startswith("O"):
        raise UnsafePickle(
            f"{quoted_path(file)} holds Python objects, which only unpickling can read; "
            "save the table as an array of floats"
        )
    return descr, shape


def _kind(descr: str, file: str) -> tuple[str, int, bool]:
    """The type without its byte order, its width in bytes, and whether it is big-endian."""
    kind = descr.lstrip("|<>=")
    if kind not in _FLOATS and kind not in _INTEGERS:
        raise InvalidValue(
            f"{quoted_path(file)} has dtype {quoted(descr)}, expected float16, float32 or float64; "
            "convert the table and save it again"
        )
    return kind, int(kind[1:]), descr.startswith(">")
