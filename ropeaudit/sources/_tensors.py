"""Tensors that parameterise a position encoding, as float64 arrays that are read on demand.

Every format that checkpoints use (float16, bfloat16, float8, float32, float64) is a part of
float64, so nothing is rounded.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

from ropeaudit.errors import SourceError, TruncatedFile, quoted_path
from ropeaudit.facts import Location, StoredTensor
from ropeaudit.sources import tensor_names as names
from ropeaudit.sources._files import RegularFile
from ropeaudit.sources._floats import WIDTH, decode
from ropeaudit.sources._safetensors_header import Entry, Ranged

MAX_VALUES = 1 << 26
"""Values of one encoding that are read; the largest published (LieRE_64 of ViT-H) has 4.2 million,
and 3-D ones half as many again."""


def in_file(file: Ranged, name: str, entry: Entry, dtype: str) -> StoredTensor:
    """The tensor ``name`` of an open safetensors file; ``dtype`` as this package spells it.

    A local file is opened again when somebody reads, and has to have kept its size and its time.
    """
    count = entry.end - entry.begin
    shape = entry.shape
    if isinstance(file, RegularFile):
        bytes_of = _local(file, entry.begin, count)
    else:

        def bytes_of() -> bytes:
            return file.read(entry.begin, count)

    return StoredTensor(
        name=names.unwrapped(name),
        shape=shape,
        dtype=dtype,
        location=Location(file=str(file.path), tensor=name),
        read=lambda: array_of(bytes_of(), dtype, shape),
    )


def _local(file: RegularFile, begin: int, count: int) -> Callable[[], bytes]:
    path, before = file.path, _state(file)

    def read() -> bytes:
        with RegularFile(path) as again:
            if _state(again) != before:
                raise changed(path)
            return again.read(begin, count)

    return read


def _state(file: RegularFile) -> tuple[int, int]:
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


def changed(path: object) -> SourceError:
    return SourceError(
        f"{quoted_path(path)} has changed since it was opened; wait until it is written, and "
        "audit it again"
    )


def array_of(data: bytes, dtype: str, shape: tuple[int, ...]) -> Any:
    """``data`` (little-endian) as a float64 array of ``shape``; raises TruncatedFile."""
    import numpy as np

    if len(data) != math.prod(shape) * WIDTH[dtype]:
        raise TruncatedFile(f"a tensor of shape {list(shape)} has {len(data)} bytes of {dtype}")
    if dtype == "bfloat16":  # the upper half of a float32
        high = np.frombuffer(data, "<u2").astype(np.uint32) << np.uint32(16)
        values = high.view(np.float32)
    elif dtype.startswith("float8"):
        values = np.array(decode(data, dtype))
    else:
        values = np.frombuffer(data, {"float64": "<f8", "float32": "<f4", "float16": "<f2"}[dtype])
    return values.astype(np.float64).reshape(shape)


def of_torch(name: str, tensor: Any, dtype: str, file: str) -> StoredTensor:
    """A torch tensor that may be mapped from ``file``; nothing of it is read yet."""
    before = _size(file)

    def read() -> Any:
        # Touching a mapped page that is no longer in the file would end the process.
        if _size(file) != before:
            raise changed(file)
        import numpy as np

        found = tensor.detach()
        found = found.float() if found.element_size() < 4 else found
        return found.cpu().numpy().astype(np.float64)

    return StoredTensor(
        name=names.unwrapped(name),
        shape=tuple(tensor.shape),
        dtype=dtype,
        location=Location(file=file, tensor=name),
        read=read,
    )


def _size(file: str) -> int | None:
    try:
        return os.stat(file).st_size  # noqa: PTH116 (also called for what is no path)
    except (OSError, ValueError):  # a live module has no file
        return None
