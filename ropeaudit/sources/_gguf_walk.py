"""One walk over a GGUF header: keep the few keys that touch positions, step over the rest.

A tokenizer array of 262,144 strings is stepped over by its length prefixes; turning it into
objects is what makes other readers need seconds. Layout: ``ggml/docs/gguf.md`` (magic, version,
tensor count, key count, key-value pairs, tensor infos, padding, data), versions 2 and 3.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from mmap import mmap
from typing import Any

from ropeaudit.errors import InvalidValue, TruncatedFile, quoted
from ropeaudit.records import record
from ropeaudit.sources._gguf_cursor import Cursor

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_KEY_BYTES = 65_535
"""The format's own limit for keys."""
MAX_NAME_BYTES = 1024
"""Tensor names have at most 63 bytes in ggml; other writers get some room."""
MAX_TEXT_BYTES = 4096
"""Longest string value that is kept; architecture names have 20 bytes."""
MAX_ITEMS = 4096
"""Longest array that is kept; one entry a layer, and engines stop at 512 layers."""
MAX_DEPTH = 4
MAX_DIMS = 4

_GENERAL = frozenset({"architecture", "name", "type", "alignment", "basename", "size_label"})
_OWN = frozenset(
    {
        "block_count",
        "context_length",
        "embedding_length",
        "full_attention_interval",
        "leading_dense_block_count",
        "nextn_predict_layers",
    }
)
_SPLIT = frozenset({"split.no", "split.count", "split.tensors.count"})
_STRING, _ARRAY, _BOOL = 8, 9, 7
_CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "b", 10: "Q", 11: "q", 12: "d"}
_SIZES = {kind: struct.calcsize("<" + code) for kind, code in _CODES.items()}


@record()
class TensorInfo:
    """A tensor as the header describes it; ``offset`` counts from the start of the data."""

    name: str
    dims: tuple[int, ...]
    kind: int
    offset: int


@record(kw_only=True)
class Header:
    """What one walk keeps. ``order`` is ``<`` or ``>``; ``end`` and ``data`` are byte offsets."""

    version: int
    order: str
    metadata: dict[str, Any]
    tensors: tuple[TensorInfo, ...]
    end: int
    data: int


def walk(buf: mmap | bytes, file: str) -> Header:
    """Reads the header of a GGUF file; time is linear in the header, whatever it claims.

    Raises TruncatedFile, with the offset, when the file ends too early, and InvalidValue for wrong
    magic, unsupported versions, counts and lengths that no file holds, unknown value types, arrays
    nested deeper than MAX_DEPTH, duplicate keys or tensors and a wrong alignment.
    """
    version, order = _version(buf, file)
    cursor = Cursor(buf, file, order)
    cursor.pos = 8
    tensor_count, key_count = cursor.u64("the tensor count"), cursor.u64("the key count")
    cursor.room(key_count, 13, "the key table")
    cursor.room(tensor_count, 24, "the tensor table")
    values = _values(cursor, key_count)
    metadata = _own(values, cursor)
    alignment = _alignment(metadata, cursor)
    tensors = _tensors(cursor, tensor_count, alignment)
    end = cursor.pos
    return Header(
        version=version,
        order=order,
        metadata=metadata,
        tensors=tensors,
        end=end,
        data=-(-end // alignment) * alignment,
    )


def _version(buf: mmap | bytes, file: str) -> tuple[int, str]:
    if buf[:4] != MAGIC:
        raise InvalidValue(
            f"{quoted(file)} begins with bytes {buf[:4].hex(' ') or '(none)'}, expected 'GGUF' "
            "(47 47 55 46); it is no GGUF file, or not all of it has been downloaded",
            where="byte 0",
        )
    if len(buf) < 24:
        raise TruncatedFile(
            f"{quoted(file)} ends at byte {len(buf)}, before its 24-byte GGUF header does; "
            "copy or download it again",
            where=f"byte {len(buf)}",
        )
    version: int = struct.unpack_from("<I", buf, 4)[0]
    order = "<"
    if version and not version & 0xFFFF:  # a small number with its bytes swapped
        version, order = struct.unpack_from(">I", buf, 4)[0], ">"
    if version not in VERSIONS:
        raise InvalidValue(
            f"{quoted(file)} says GGUF version {version}, and versions 2 and 3 are read; "
            "convert the model again with a current converter",
            where="byte 4",
        )
    return version, order


def _values(cursor: Cursor, count: int) -> dict[str, Any]:
    """Every key outside the tokenizer with a scalar or a short numeric array; others are None."""
    found: dict[str, Any] = {}
    for _ in range(count):
        at = cursor.pos
        key = cursor.text(MAX_KEY_BYTES, "a key")
        if key in found:
            raise cursor.wrong(f"the key {quoted(key)} appears twice", at)
        kind = cursor.u32(f"the type of {quoted(key)}")
        if key.startswith("tokenizer."):
            found[key] = None
            _skip(cursor, kind, key)
        else:
            found[key] = _value(cursor, kind, key)
    return found


def _value(cursor: Cursor, kind: int, key: str) -> Any:
    if kind in _CODES:
        values = _numbers(cursor, kind, 1, key)
        return values[0]
    if kind == _STRING:
        start = cursor.pos
        length = cursor.u64(quoted(key))
        if length > MAX_TEXT_BYTES:
            cursor.step(length, f"the value of {quoted(key)}")
            return None
        cursor.pos = start
        return cursor.text(MAX_TEXT_BYTES, f"the value of {quoted(key)}")
    start = cursor.pos
    if kind == _ARRAY:
        item, count = cursor.u32(quoted(key)), cursor.u64(quoted(key))
        if item in _CODES and count <= MAX_ITEMS:
            return list(_numbers(cursor, item, count, key))
        cursor.pos = start
    _skip(cursor, kind, key)
    return None


def _numbers(cursor: Cursor, kind: int, count: int, key: str) -> tuple[Any, ...]:
    start = cursor.pos
    cursor.step(count * _SIZES[kind], f"the value of {quoted(key)}")
    values = struct.unpack_from(f"{cursor.order}{count}{_CODES[kind]}", cursor.buf, start)
    return tuple(v != 0 for v in values) if kind == _BOOL else values


def _skip(cursor: Cursor, kind: int, key: str, depth: int = 0) -> None:
    what = f"the value of {quoted(key)}"
    if kind in _SIZES:
        cursor.step(_SIZES[kind], what)
    elif kind == _STRING:
        cursor.strings(1, what)
    elif kind == _ARRAY:
        if depth == MAX_DEPTH:
            raise cursor.wrong(f"{what} nests arrays deeper than {MAX_DEPTH}", cursor.pos)
        item, count = cursor.u32(what), cursor.u64(what)
        if item in _SIZES:
            cursor.room(count, _SIZES[item], what)
            cursor.step(count * _SIZES[item], what)
        elif item == _STRING:
            cursor.strings(count, what)
        elif item != _ARRAY:
            raise cursor.wrong(f"{what} has items of the unknown type {item}", cursor.pos - 12)
        else:
            cursor.room(count, 12, what)
            for _ in range(count):
                _skip(cursor, item, key, depth + 1)
    else:
        raise cursor.wrong(f"{what} has the unknown type {kind}, expected 0 to 12", cursor.pos - 4)


def _own(values: dict[str, Any], cursor: Cursor) -> dict[str, Any]:
    """The keys of the file's own architecture that touch positions, and a few general ones."""
    architecture = values.get("general.architecture")
    if "general.architecture" in values and not isinstance(architecture, str):
        raise cursor.wrong("general.architecture is not a short text", 24)
    prefix = f"{architecture}." if architecture else None
    kept = {}
    for key, value in values.items():
        if key.startswith("general."):
            if key[8:] in _GENERAL and value is not None:
                kept[key] = value
        elif key in _SPLIT:
            kept[key] = value
        elif prefix is not None and key.startswith(prefix):
            rest = key[len(prefix) :]
            if rest in _OWN or rest.startswith(("rope.", "attention.")):
                kept[key] = value
    return kept


def _alignment(metadata: dict[str, Any], cursor: Cursor) -> int:
    value = metadata.get("general.alignment", 32)
    if type(value) is not int or not 1 <= value <= 2**20 or value & (value - 1):
        raise cursor.wrong(
            f"general.alignment is {quoted(value)}, expected a power of two", cursor.pos
        )
    return value


def _tensors(cursor: Cursor, count: int, alignment: int) -> tuple[TensorInfo, ...]:
    layouts = _layouts(cursor.order)
    found: dict[str, TensorInfo] = {}
    for _ in range(count):
        at = cursor.pos
        name = cursor.text(MAX_NAME_BYTES, "a tensor name")
        if name in found:
            raise cursor.wrong(f"the tensor {quoted(name)} appears twice", at)
        dims = cursor.u32("a tensor")
        if not 0 <= dims <= MAX_DIMS:
            raise cursor.wrong(f"the tensor {quoted(name)} has {dims} dimensions", at)
        unpack, size = layouts[dims]
        start = cursor.pos
        cursor.step(size, f"the tensor {quoted(name)}")
        *shape, kind, offset = unpack(cursor.buf, start)
        if offset % alignment:
            raise cursor.wrong(
                f"the tensor {quoted(name)} starts at {offset}, no multiple of {alignment}", at
            )
        found[name] = TensorInfo(name, tuple(shape), kind, offset)
    return tuple(found.values())


def _layouts(order: str) -> list[tuple[Callable[..., tuple[Any, ...]], int]]:
    parts = [struct.Struct(f"{order}{'Q' * dims}IQ") for dims in range(MAX_DIMS + 1)]
    return [(part.unpack_from, part.size) for part in parts]
