"""GGUF files for tests: by the gguf package, or byte by byte where it cannot write them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SIZED = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def write(
    path: Path,
    architecture: str,
    keys: Mapping[str, Any],
    tensors: Mapping[str, Sequence[float]] | None = None,
    *,
    big_endian: bool = False,
    kind: str = "F32",
) -> Path:
    """A file by ``gguf.GGUFWriter``; keys are named without the architecture's prefix."""
    import gguf

    order = gguf.GGUFEndian.BIG if big_endian else gguf.GGUFEndian.LITTLE
    writer = gguf.GGUFWriter(path, architecture, endianess=order)
    add = {
        bool: writer.add_bool,
        int: writer.add_uint32,
        float: writer.add_float32,
        str: writer.add_string,
        list: writer.add_array,
    }
    for key, value in keys.items():
        full = key if key.startswith(("general.", "tokenizer.")) else f"{architecture}.{key}"
        add[type(value)](full, value)
    for name, values in (tensors or {}).items():
        data = np.asarray(values, dtype=np.float32)
        if kind == "BF16":
            raw = gguf.quants.quantize(data, gguf.GGMLQuantizationType.BF16)
            writer.add_tensor(name, raw, raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(name, data.astype({"F32": "f4", "F16": "f2", "F64": "f8"}[kind]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def text(value: str | bytes, order: str = "<") -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack(order + "Q", len(data)) + data


def pair(key: str | bytes, kind: int, value: Any, order: str = "<") -> bytes:
    """A key-value pair; a list value is ``(item kind, items)``, bytes are taken as they are."""
    return text(key, order) + struct.pack(order + "I", kind) + payload(kind, value, order)


def payload(kind: int, value: Any, order: str = "<") -> bytes:
    if isinstance(value, bytes):
        return value
    if kind == 8:
        return text(value, order)
    if kind == 9:
        item, items = value
        head = struct.pack(order + "IQ", item, len(items))
        return head + b"".join(payload(item, v, order) for v in items)
    return struct.pack(order + SIZED[kind], value)


def tensor(
    name: str, dims: Sequence[int] = (4,), kind: int = 0, offset: int = 0, order: str = "<"
) -> bytes:
    head = text(name, order) + struct.pack(order + "I", len(dims))
    return head + struct.pack(f"{order}{len(dims)}QIQ", *dims, kind, offset)


def raw(
    pairs: Sequence[bytes],
    tensors: Sequence[bytes] = (),
    data: bytes = b"",
    *,
    version: int = 3,
    order: str = "<",
    counts: tuple[int, int] | None = None,
    alignment: int = 32,
) -> bytes:
    """A file byte by byte; ``counts`` overrides the tensor and key counts of the header."""
    tensor_count, key_count = counts or (len(tensors), len(pairs))
    head = b"GGUF" + struct.pack(order + "IQQ", version, tensor_count, key_count)
    body = head + b"".join(pairs) + b"".join(tensors)
    return body + b"\0" * (-len(body) % alignment) + data if data else body
