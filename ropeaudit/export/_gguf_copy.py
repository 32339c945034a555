"""A copy of a GGUF file with other divisors, through the ``gguf`` package.

Tensors go from the mapped source to the output one by one, so memory does not grow with the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ropeaudit.errors import UsageError, quoted_path
from ropeaudit.records import record

TENSOR = "rope_freqs.weight"
RECIPE = "ropeaudit.recipe"
"""Metadata key for the recipe's text; readers pass over keys that they do not know."""
_KEPT = ("finetuned", "original_context_length")
"""Scaling keys that do not scale: a switch of Granite, and the length that Mistral 3 needs."""


@record(kw_only=True)
class Change:
    """``factors``: divisors, shape (channels,). ``base``: another base, None to keep it.

    ``attention``: the factor on cosines and sines, which the scaling keys gave before.
    """

    factors: tuple[float, ...]
    base: float | None
    attention: float
    recipe: str


def copy(source: Path, target: Path, change: Change | None) -> None:
    """Write ``source`` with ``change`` to ``target``; byte by byte without one.

    Raises UsageError without the ``gguf`` package and for files that it cannot read, OSError where
    the output cannot be written.
    """
    if change is None:
        import shutil

        shutil.copyfile(source, target)
        return
    try:
        import gguf
    except ImportError:
        raise UsageError(
            "--to gguf= needs the gguf package; pip install 'ropeaudit[gguf]'"
        ) from None
    try:
        reader = gguf.GGUFReader(source)
    except (ValueError, KeyError, IndexError) as error:
        raise UsageError(f"the gguf package cannot read {quoted_path(source)}: {error}") from None
    writer = gguf.GGUFWriter(
        target, _text(reader, "general.architecture"), endianess=reader.endianess
    )
    try:
        _metadata(gguf, reader, writer, change)
        _tensors(gguf, reader, writer, change)
    finally:
        writer.close()


def _text(reader: Any, key: str) -> str:
    field = reader.get_field(key)
    return "" if field is None else str(field.contents())


def _metadata(gguf: Any, reader: Any, writer: Any, change: Change) -> None:
    kinds = gguf.GGUFValueType
    arch = _text(reader, "general.architecture")
    alignment = reader.get_field("general.alignment")
    if alignment is not None:
        writer.add_custom_alignment(int(alignment.contents()))
    scaled = False
    for name, field in reader.fields.items():
        inner = name.removeprefix(f"{arch}.rope.")
        if name.startswith("GGUF.") or name in _OWN:
            continue
        if inner == "scale_linear" or inner.removeprefix("scaling.") not in (inner, *_KEPT):
            scaled = True
            continue
        if inner == "freq_base" and change.base is not None:
            continue
        kind, value = field.types[0], field.contents()
        if kind != kinds.ARRAY:
            writer.add_key_value(name, value, kind)
        elif len(value):  # the writer cannot write an empty list, which says nothing
            writer.add_key_value(name, value, kind, sub_type=field.types[-1])
    if change.base is not None:
        writer.add_float32(f"{arch}.rope.freq_base", change.base)
    if scaled:
        writer.add_string(f"{arch}.rope.scaling.type", "none")
    if change.attention != 1.0:
        writer.add_float32(f"{arch}.rope.scaling.attn_factor", change.attention)
    writer.add_string(RECIPE, change.recipe)


_OWN = frozenset({"general.architecture", "general.alignment", RECIPE})
"""Keys that the writer adds itself."""


def _tensors(gguf: Any, reader: Any, writer: Any, change: Change) -> None:
    import numpy as np

    order = ">" if reader.endianess == gguf.GGUFEndian.BIG else "<"
    factors = np.array(change.factors, dtype=np.float32)
    plan = list(_plan(reader, factors))
    for name, data, tensor in plan:
        kind = gguf.GGMLQuantizationType.F32 if tensor is None else tensor.tensor_type
        shape = data.shape if tensor is None else tensor.data.shape
        writer.add_tensor_info(name, shape, data.dtype, data.nbytes, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for _, data, tensor in plan:
        raw = data.astype(f"{order}f4") if tensor is None else data
        # As bytes: whatever their type and byte order, they stay as they are.
        flat = raw.reshape(-1).view(np.uint8)
        writer.write_tensor_data(flat, tensor_endianess=reader.endianess)


def _plan(reader: Any, factors: Any) -> Iterator[tuple[str, Any, Any]]:
    """(name, data, source tensor) in the source's order; the divisors first if they are new."""
    if all(t.name != TENSOR for t in reader.tensors):
        yield TENSOR, factors, None
    for tensor in reader.tensors:
        if tensor.name == TENSOR:
            yield TENSOR, factors, None
        else:
            yield tensor.name, tensor.data, tensor
