"""What a written variant says about learned encodings: parameters (JSON), and the model's settings.

Both stand in the document ``ropeaudit/variant/1``, which is a file of its own or the metadata of a
safetensors file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue, quoted_path
from ropeaudit.facts import CONVERSION, Json, Location, StoredTensor, as_number
from ropeaudit.sources import tensor_names as names

KEY = "ropeaudit"
"""Metadata key of the document."""
CONFIG = "model_config"
TENSORS = "tensors"


def config_of(raw: bytes, file: str) -> Document | None:
    """The model's settings in the header ``raw`` of a safetensors file; None for other files.

    Of a conversion its whole document, which says what the tensors mean.
    """
    if f'"{KEY}"'.encode() not in raw:
        return None
    try:
        document = json.loads(json.loads(raw)["__metadata__"][KEY])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None  # another program's key of that name
    if isinstance(document, Mapping) and document.get("schema") == CONVERSION:
        return Document(file=file, data={CONVERSION: document})
    return config_in(document, file)


def is_converted(config: Document | None, name: str) -> bool:
    """Whether a tensor holds the frequencies of an encoding that was converted to RoPE.

    Of a single head their shape is that of a plain table; its positions may be no tokens.
    """
    said = config.data.get(CONVERSION) if config is not None else None
    source = said.get("source") if isinstance(said, Mapping) else None
    is_table = not isinstance(source, Mapping) or source.get("origin") in (None, "schedule")
    return name == "rotary.freqs" and not is_table


def config_in(data: Any, file: str) -> Document | None:
    """The model's settings that a variant was made with."""
    found = data.get(CONFIG) if isinstance(data, Mapping) else None
    return Document(file=file, data=found) if isinstance(found, Mapping) else None


def tensors_in(data: Mapping[str, Json], file: str) -> tuple[StoredTensor, ...]:
    """The parameters that a variant lists; raises InvalidValue for entries that are none."""
    found = data.get(TENSORS)
    if found is None:
        if data.get("encodings") and not data.get("schedules") and "recipe" in data:
            raise InvalidValue(
                f"{quoted_path(file)} records a variant of an encoding whose numbers no checkpoint "
                "stores, and holds no parameters; judge the model itself with audit --apply RECIPE",
                where="/encodings",
            )
        return ()
    if not isinstance(found, list):
        raise _wrong(file, f"/{TENSORS}")
    return tuple(_tensor(entry, f"/{TENSORS}/{at}", file) for at, entry in enumerate(found))


def _tensor(entry: Any, at: str, file: str) -> StoredTensor:
    name = entry.get("name") if isinstance(entry, Mapping) else None
    if not isinstance(name, str) or not isinstance(entry.get("dtype"), str):
        raise _wrong(file, at)
    shape, listed = entry.get("shape"), entry.get("values")
    if not isinstance(listed, list) or not _is_shape(shape) or math.prod(shape) != len(listed):
        raise _wrong(file, at)
    values = [as_number(v) for v in listed]
    if None in values:
        raise _wrong(file, f"{at}/values/{values.index(None)}")

    def read() -> Any:
        import numpy as np

        return np.array(values, dtype=np.float64).reshape(shape)

    return StoredTensor(
        name=names.unwrapped(name),
        shape=tuple(shape),
        dtype=entry["dtype"],
        location=Location(file=file, tensor=name),
        read=read,
    )


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, Sequence) and all(type(n) is int and n >= 0 for n in shape)


def _wrong(file: str, at: str) -> InvalidValue:
    return InvalidValue(
        f"{quoted_path(file)} holds no tensor at {at}, expected name, dtype, shape and as many "
        "numbers in values; write the variant again",
        where=at,
    )
