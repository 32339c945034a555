"""Torch tensors as stored tables: shared by checkpoints and live modules.

Nothing here imports torch. The tensors bring their own methods, and a tensor is only ever asked for
the few numbers that matter, so that a cache of 131,072 rows costs two rows.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ropeaudit.errors import quoted
from ropeaudit.facts import Json, Location, Note, StoredTable, StoredTensor
from ropeaudit.records import field, record
from ropeaudit.sources import tensor_names as names
from ropeaudit.sources._tensors import MAX_VALUES, of_torch

Tensor = Any
"""A ``torch.Tensor``."""

DTYPES = {
    "torch.float64": "float64",
    "torch.float32": "float32",
    "torch.bfloat16": "bfloat16",
    "torch.float16": "float16",
    "torch.float8_e4m3fn": "float8_e4m3",
    "torch.float8_e5m2": "float8_e5m2",
    "torch.complex128": "float64",
    "torch.complex64": "float32",
}
"""Formats that a table may be held in, by torch's own name; a complex cache by its parts."""

MAX_LEARNED = 1 << 20
"""Values of a learned parameter that are read; the largest known has 49,152."""
MAX_NOTES = 32
"""One model says the same of every layer."""

_ALONE = "has no partner, and cosines or sines alone give no angle"
_CACHES = frozenset({names.COS, names.COS_SIN, names.SIN_COS, names.CIS})

STORED_ROLES = {
    names.INV_FREQ: "inv_freq",
    names.COS: "cos_sin_cache",
    names.COS_SIN: "cos_sin_cache",
    names.SIN_COS: "cos_sin_cache",
    names.CIS: "cos_sin_cache",
}


@record(frozen=False)
class Collected:
    """What was found so far. ``bytes_read`` counts the values that were really touched."""

    tables: list[StoredTable] = field(default_factory=list)
    tensors: list[StoredTensor] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    bytes_read: int = 0
    seen: dict[bytes, tuple[float, ...]] = field(default_factory=dict)
    """Values by content: every layer of a model often holds the same table."""

    def note(self, name: str, what: str, role: str) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append(names.unread(name, what, role))


def collect(
    tensors: Iterable[tuple[str, Tensor]],
    file: str,
    into: Collected,
    about: Mapping[str, Mapping[str, Json]] | None = None,
    role_of: Callable[[str], str | None] = names.interesting,
) -> None:
    """Add the tables among named ``tensors``; ``about`` holds the state of each holder by name.

    Tensors without values (meta device), of a type that is no float, or of an unexpected shape
    become notes: a table that cannot be read is said to be there.
    """
    found = {name: tensor for name, tensor in tensors if role_of(name)}
    for name, tensor in found.items():
        named = role_of(name) or ""
        if named == names.SIN and names.partner(name) in found:
            continue  # read together with its cosines
        shape = tuple(tensor.shape)
        read = _read(name, tensor, named, found, into)
        if isinstance(read, str):
            into.note(name, read, named)
            continue
        # A DTensor here holds only a part of the parameter.
        if read.role == names.LEARNED and _local(tensor) is tensor and tensor.numel() <= MAX_VALUES:
            into.tensors.append(of_torch(name, tensor, DTYPES[str(tensor.dtype)], file))
        state = about[name] if about is not None else {}
        stated = state.get("attention_scaling")
        into.tables.append(
            StoredTable(
                name=names.unwrapped(name),
                values=read.values,
                dtype=DTYPES[str(tensor.dtype)],
                shape=shape,
                location=Location(file=file, tensor=name),
                role=STORED_ROLES.get(read.role, read.role),
                layer=names.layer_of(name),
                attention_scaling=read.scaling if stated is None else float(stated),
                state=state,
            )
        )


@record(frozen=False)
class _Read:
    role: str
    values: tuple[float, ...]
    scaling: float | None = None


def _read(
    name: str, tensor: Tensor, named: str, found: Mapping[str, Tensor], into: Collected
) -> _Read | str:
    """The values of one tensor, or why they are not read."""
    shape = tuple(tensor.shape)
    # Some caches hold complex numbers as a last axis of two, which is no axis of the table.
    split = named == names.CIS and shape[-1:] == (2,) and len(shape) > 2
    role = names.readable(named, shape[:-1] if split else shape)
    if role is None:
        return f"has shape {quoted(list(shape))}, which is no rotary table"
    why = _unreadable(tensor)
    if why is not None:
        return why
    if role == names.SIN:
        return _ALONE
    if role not in _CACHES and tensor.is_complex():
        return f"is stored as {tensor.dtype}, and frequencies are real numbers"
    if role not in _CACHES:
        known = role != names.LEARNED or _is_spectrum(named, tensor)
        return _Read(role, _values(tensor, into) if known else ())
    if role in (names.COS_SIN, names.SIN_COS) and shape[-1] % 2:
        return f"has rows of {shape[-1]} values, which is not cosines and as many sines"
    rows = _rows(name, tensor, named, found, into)
    if rows is None:
        return _ALONE
    angles = names.angles(*rows)
    if angles is None:
        return names.why_no_angles(rows[0], rows[2], (*rows[1], *rows[3]))
    return _Read(role, angles, rows[2][0])


def _is_spectrum(named: str, tensor: Tensor) -> bool:
    """Whether a learned tensor holds frequencies; generators and other blocks are not evaluated."""
    return named in (names.FREQS, names.INV_FREQ) and tensor.numel() <= MAX_LEARNED


def _unreadable(tensor: Tensor) -> str | None:
    if tensor.is_meta or type(tensor).__name__ == "FakeTensor":
        return "is on the meta device and has no values yet; audit again once it has memory"
    if str(tensor.layout) != "torch.strided":
        return f"is stored as {tensor.layout}, expected one value after the other"
    dtype = str(tensor.dtype)
    if dtype not in DTYPES:
        return f"is stored as {dtype}, which holds no frequencies without its own scale"
    return None


def _local(tensor: Tensor) -> Tensor:
    """What this rank holds of a DTensor; any other tensor itself."""
    return tensor._local_tensor if type(tensor).__name__ == "DTensor" else tensor


def _values(tensor: Tensor, into: Collected) -> tuple[float, ...]:
    """All values as exact floats; equal tables share one tuple."""
    local = _local(tensor)
    size = local.element_size()
    into.bytes_read += local.numel() * size
    if local.dim() != 1:
        local = local.detach().reshape(-1)
    # tolist() is not implemented for every 8-bit float.
    found = (local.detach().float() if size == 1 else local).tolist()
    # Bytes, because NaN must equal itself and -0.0 must differ from 0.0.
    return into.seen.setdefault(array("d", found).tobytes(), tuple(found))


Rows = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], tuple[float, ...]]
"""Cosines and sines at position 1, then at position 0."""


def _rows(
    name: str, tensor: Tensor, role: str, found: Mapping[str, Tensor], into: Collected
) -> Rows | None:
    if role == names.CIS:
        both = tensor if not tensor.is_complex() else tensor.detach().resolve_conj()
        return (*_parts(both, 1, into), *_parts(both, 0, into))
    one, zero = _row(tensor, 1, into), _row(tensor, 0, into)
    if role == names.COS_SIN:
        half = len(one) // 2
        return one[:half], one[half:], zero[:half], zero[half:]
    if role == names.SIN_COS:
        half = len(one) // 2
        return one[half:], one[:half], zero[half:], zero[:half]
    sine = found.get(names.partner(name) or "")
    if sine is None or tuple(sine.shape) != tuple(tensor.shape) or _unreadable(sine):
        return None
    return one, _row(sine, 1, into), zero, _row(sine, 0, into)


def _row(tensor: Tensor, at: int, into: Collected) -> tuple[float, ...]:
    local = _local(tensor).detach()
    rows, width = names.cache_rows(tuple(local.shape)) or (0, 0)
    into.bytes_read += width * local.element_size()
    squeezed = local.squeeze()
    row = squeezed.reshape(rows, width)[at] if squeezed.dim() != 2 else squeezed[at]
    return tuple(row.float().tolist() if row.element_size() == 1 else row.tolist())


def _parts(tensor: Tensor, at: int, into: Collected) -> tuple[tuple[float, ...], tuple[float, ...]]:
    row = tensor.detach().squeeze()[at]
    into.bytes_read += row.numel() * row.element_size()
    if row.is_complex():
        return tuple(row.real.tolist()), tuple(row.imag.tolist())
    flat = row.reshape(-1, 2)
    return tuple(flat[:, 0].tolist()), tuple(flat[:, 1].tolist())
