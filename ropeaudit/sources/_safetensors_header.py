"""The header of a safetensors file: eight bytes of length, then JSON, then the data it describes.

The format is strict: tensors lie without gaps or overlaps and fill the file exactly, so the size
of the file tells whether it is whole. A header in which nothing matters is not even parsed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Protocol

from ropeaudit.errors import InvalidValue, TruncatedFile, quoted, quoted_path
from ropeaudit.records import record
from ropeaudit.sources.interface import HEAD_BYTES, MAX_HEADER_BYTES

BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "U16": 16, "I16": 16, "F16": 16, "BF16": 16,
    "U32": 32, "I32": 32, "F32": 32, "U64": 64, "I64": 64, "F64": 64, "C64": 64,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
"""Bits a value."""
DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3",
    "F8_E5M2": "float8_e5m2",
}
NEEDLES = (b"freq", b"_cache", b"rope_", b"_primitives", b"thetas", b"raw_")
"""Bytes without any of these name no tensor that matters."""
_LAST = re.compile(rb'"data_offsets"\s*:\s*\[\s*\d+\s*,\s*(\d{1,19})\s*\]')


class Ranged(Protocol):
    """Something that can be read from any offset: a file, or a file on a server."""

    path: Any
    size: int

    def read(self, offset: int, count: int) -> bytes: ...


@record()
class Entry:
    """One tensor; ``begin`` and ``end`` are absolute offsets in the file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def raw_header(file: Ranged, head: bytes | None = None) -> bytes:
    """The JSON bytes of the header; ``head`` is the start of the file where it is known.

    Raises TruncatedFile when the file is shorter than its header, InvalidValue when the length is
    beyond what the format allows.
    """
    name = quoted_path(file.path)
    if file.size < 8:
        raise TruncatedFile(
            f"{name} has {file.size} bytes, and a safetensors file begins with a length of 8; "
            "copy or download it again"
        )
    head = file.read(0, min(HEAD_BYTES, file.size)) if head is None else head
    length = int.from_bytes(head[:8], "little")
    if length > MAX_HEADER_BYTES:
        raise InvalidValue(
            f"{name} claims a header of {length} bytes, and safetensors allows "
            f"{MAX_HEADER_BYTES}; it is another format, or broken",
            where="byte 0",
        )
    if 8 + length > file.size:
        raise TruncatedFile(
            f"{name} has {file.size} bytes, and its header alone needs {8 + length}; "
            "copy or download it again",
            where="byte 8",
        )
    if length <= len(head) - 8:
        return head[8 : 8 + length]
    return head[8:] + file.read(len(head), 8 + length - len(head))


def nothing_matters(raw: bytes, size: int) -> bool:
    """Whether a header plainly names nothing of interest and the file has its full size.

    False only means that it has to be parsed. The last tensor listed usually ends the file; where
    it does, every tensor fits.
    """
    at = raw.rfind(b'"data_offsets"')
    match = _LAST.match(raw, at) if at >= 0 else None
    if match is None or 8 + len(raw) + int(match.group(1)) != size:
        return False
    # A backslash may spell any letter.
    return b"\\" not in raw and not any(needle in raw for needle in NEEDLES)


def entries(raw: bytes, file: Ranged) -> dict[str, Entry]:
    """All tensors of a header, checked against each other and the file's size.

    Raises InvalidValue for what the format does not allow, TruncatedFile for a file that ends
    before its last tensor.
    """
    header = _parsed(raw, file)
    start = 8 + len(raw)
    metadata = header.get("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise _broken(file, "__metadata__", "is not an object of strings")
    found = {n: _entry(n, e, start, file) for n, e in header.items() if n != "__metadata__"}
    at = start
    for name, entry in sorted(found.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin != at:
            raise _broken(file, name, f"begins at byte {entry.begin}, expected {at}")
        at = entry.end
    if at > file.size:
        raise TruncatedFile(
            f"{quoted_path(file.path)} has {file.size} bytes, and its header describes {at}; "
            "copy or download it again",
            where="__header__",
        )
    if at < file.size:
        raise InvalidValue(
            f"{quoted_path(file.path)} has {file.size - at} bytes behind its last tensor, which "
            "the safetensors format does not allow; write it again",
            where="__header__",
        )
    return found


def _parsed(raw: bytes, file: Ranged) -> Mapping[str, Any]:
    name = quoted_path(file.path)
    try:
        header = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidValue(f"the header of {name} is not UTF-8 (byte {8 + error.start})") from None
    except RecursionError:
        raise InvalidValue(f"the header of {name} is nested deeper than any header") from None
    except ValueError as error:  # invalid JSON, or an integer of thousands of digits
        why = error.msg if isinstance(error, json.JSONDecodeError) else "an integer is too long"
        raise InvalidValue(
            f"the header of {name} is not valid JSON: {why}; copy or download it again"
        ) from None
    if not isinstance(header, dict):
        raise InvalidValue(
            f"the header of {name} is a JSON {type(header).__name__}, expected an object"
        )
    if raw.count(b'"data_offsets"') > len(header) - ("__metadata__" in header):
        _refuse_twice(raw, name)
    return header


def _refuse_twice(raw: bytes, name: str) -> None:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    raise InvalidValue(
                        f"the header of {name} names {quoted(key)} twice; write it again", where=key
                    )
                seen.add(key)
        return found

    json.loads(raw, object_pairs_hook=unique)


def _entry(name: str, value: Any, start: int, file: Ranged) -> Entry:
    if not isinstance(value, dict):
        raise _broken(file, name, f"is described by {quoted(value)}, expected an object")
    dtype, shape, span = value.get("dtype"), value.get("shape"), value.get("data_offsets")
    if not isinstance(dtype, str):
        raise _broken(file, name, f"has dtype {quoted(dtype)}, expected a name such as F32")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise _broken(file, name, f"has shape {quoted(shape)}, expected a list of sizes")
    if not isinstance(span, list) or len(span) != 2 or not all(type(n) is int for n in span):
        raise _broken(file, name, f"has data_offsets {quoted(span)}, expected two offsets")
    begin, end = span
    if not 0 <= begin <= end < 1 << 63:
        raise _broken(file, name, f"has data_offsets {quoted(span)}, expected begin before end")
    bits = BITS.get(dtype)
    if bits is None:
        raise _broken(file, name, f"has dtype {quoted(dtype)}, which the format does not know")
    if math.prod(shape) * bits != 8 * (end - begin):
        raise _broken(
            file, name, f"has {end - begin} bytes, which {dtype} of shape {quoted(shape)} has not"
        )
    return Entry(dtype, tuple(shape), start + begin, start + end)


def _broken(file: Ranged, name: str, what: str) -> InvalidValue:
    return InvalidValue(
        f"in {quoted_path(file.path)} the tensor {quoted(name)} {what}", where=quoted(name)
    )
