"""Putting a conversion into the projections of queries and keys.

A projection is a matrix (heads * n, inputs) as torch's Linear keeps it, or its bias (heads * n,).
Heads stand ``together`` (head h owns rows ``h n .. h n + n - 1``) or ``strided`` (rows ``h, h + H,
h + 2 H, ...``, where heads are the last axis of the reshape, as in the public code of APE).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropeaudit.convert.interface import Converted, Refused
from ropeaudit.errors import SourceError, UsageError, quoted, quoted_path
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

LAYOUTS = ("together", "strided")
_LAYER = "{layer}"
_NORM = re.compile(r"(?:^|[._])(?:q|k|qk|query|key)_?(?:layer)?_?norm(?:[._]|$)", re.IGNORECASE)


@record(kw_only=True)
class Projections:
    """Where the weights are: a safetensors file, the names of both tensors, the order of rows.

    ``{layer}`` in a name stands for the number of a layer.
    """

    path: str
    query: str
    key: str
    layout: str = "together"


def folded(made: Converted, into: Projections) -> dict[str, Any]:
    """The projections (and biases beside them) after the conversion, in their own dtype, by name.

    Raises SourceError for a file that cannot be read, UsageError for names that it does not hold,
    Refused where a norm stands between, or one key head serves query heads of different bases.
    """
    if into.layout not in LAYOUTS:
        raise UsageError(
            f"the layout of heads is {quoted(into.layout)}, expected together or strided"
        )
    from safetensors import SafetensorError, safe_open

    found: dict[str, Any] = {}
    try:
        with safe_open(into.path, framework="np") as file:
            names = tuple(file.keys())
            _check_norms(made, names)
            for role, pattern in (("query", into.query), ("key", into.key)):
                for name, layer in _named(pattern, names, into.path):
                    for one in (name, _bias(name)):
                        if one in names:
                            given = file.get_tensor(one)
                            found[one] = _turned(given, made, into, one, layer, role == "key")
    except (OSError, SafetensorError, TypeError) as error:
        raise SourceError(
            f"{quoted_path(into.path)} cannot be read as float16, float32 or float64 safetensors: "
            f"{quoted(str(error))}"
        ) from None
    return found


def _bias(name: str) -> str:
    return f"{name.removesuffix('.weight')}.bias" if name.endswith(".weight") else f"{name}.bias"


def _named(pattern: str, names: tuple[str, ...], path: str) -> Iterator[tuple[str, int | None]]:
    """Names that a pattern stands for, with their layers."""
    if _LAYER not in pattern:
        found: list[tuple[str, int | None]] = [(n, None) for n in names if n == pattern]
    else:
        before, _, after = pattern.partition(_LAYER)
        wanted = re.compile(re.escape(before) + r"(\d{1,6})" + re.escape(after))
        matches = ((n, wanted.fullmatch(n)) for n in sorted(names))
        found = [(n, int(m[1])) for n, m in matches if m]
    if not found:
        raise UsageError(
            f"{quoted_path(path)} holds no tensor {quoted(pattern)}; it has "
            f"{', '.join(map(quoted, sorted(names)[:8]))}{', ...' if len(names) > 8 else ''}"
        )
    yield from found


def _check_norms(made: Converted, names: tuple[str, ...]) -> None:
    norm = next((n for n in names if _NORM.search(n)), None)
    if norm is not None and made.basis is not None:
        raise Refused(
            f"{quoted(norm)} stands between projection and rotation: its gain per channel does not "
            "go through a change of basis, so the basis cannot be put into the weights"
        )


def _turned(
    given: Any, made: Converted, into: Projections, name: str, layer: int | None, is_key: bool
) -> Any:
    import numpy as np

    n = made.source.size
    rows = given.shape[0] if given.ndim in (1, 2) else 0
    if rows == 0 or rows % n or given.dtype.kind != "f":
        raise UsageError(
            f"{quoted(name)} has the shape {list(given.shape)}, expected rows that are a multiple "
            f"of the head's {n} channels"
        )
    heads = rows // n
    values = given.astype(np.float64).reshape(rows, -1)
    strided = into.layout == "strided"
    split = values.reshape(n, heads, -1).swapaxes(0, 1) if strided else values.reshape(heads, n, -1)
    basis = _basis(made, name, layer, heads, is_key)
    if basis is not None:
        split = np.swapaxes(basis, -1, -2) @ split
    if made.source.scale != 1.0:
        split = split * _scales(made)[:, None]
    # The public code of APE reads strided rows; what becomes RoPE keeps its order.
    strided = strided or made.to == "ape"
    whole = split.swapaxes(0, 1) if strided else split
    return np.ascontiguousarray(whole.reshape(given.shape)).astype(given.dtype)


def _scales(made: Converted) -> Array:
    """The attention factor on channels that turn, 1 on the others."""
    import numpy as np

    found = made.source.generators
    turns = np.zeros(made.source.size, bool) if found is None else (found != 0).any((0, 1, 2, 3))
    return np.where(turns, made.source.scale, 1.0)


def _basis(made: Converted, name: str, layer: int | None, heads: int, is_key: bool) -> Array | None:
    """The basis of each head of one projection, (heads, n, n)."""
    import numpy as np

    if made.basis is None:
        return None
    layers, held = made.basis.shape[:2]
    known = made.source.layers or tuple(range(layers))
    if layers > 1 and layer not in known:
        raise UsageError(
            f"{quoted(name)}: every layer has its own basis; write {_LAYER} for the number of the "
            f"layer in the name (layers {known[0]} to {known[-1]})"
        )
    own: Array = made.basis[known.index(layer) if layers > 1 and layer is not None else 0]
    if held == heads:
        return own
    if held == 1:
        return np.broadcast_to(own, (heads, *own.shape[1:]))
    if not is_key or held % heads:
        raise UsageError(f"{quoted(name)} has {heads} heads, and the encoding has {held}")
    groups = own.reshape(heads, held // heads, *own.shape[1:])
    if not (groups == groups[:, :1]).all():
        raise Refused(
            f"{quoted(name)}: one key head serves {held // heads} query heads, and these have "
            "different bases; no key projection takes in all of them"
        )
    return np.asarray(groups[:, 0], np.float64)


def require_file(path: str) -> None:
    """Raises UsageError where the weights are not there."""
    if not Path(path).is_file():
        raise UsageError(f"{quoted_path(path)} is no file; --weights takes a safetensors file")


def document(into: Projections) -> Mapping[str, str]:
    return {"path": into.path, "query": into.query, "key": into.key, "layout": into.layout}
