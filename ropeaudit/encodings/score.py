"""Scores of attention with any encoding, in numpy, and the same encoding as a torch module.

    import ropeaudit
    from ropeaudit.encodings.score import module, score

    (encoding,) = ropeaudit.read("path/to/checkpoint").encodings
    scores = score(encoding, q, k, positions, positions, layer=3)   # numpy, float64
    inside = module(encoding, dtype=torch.float32)                  # torch, trainable
    scores = inside(q, k, positions, positions, layer=3)

Both give ``(Q_i q_i) . (K_j k_j)`` plus the bias, where there is one, and leave the division by
``sqrt(head_dim)``, the mask and the softmax to the attention around them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ropeaudit.encodings.interface import of
from ropeaudit.errors import MissingDependency, UsageError, quoted
from ropeaudit.records import replace

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding

__all__ = ["module", "operators", "score"]

_HELD = 1 << 24
"""Bytes of maps that are held at once; those of all layers are computed together."""
_BY_LAYER = ("generator_raw_params", "freqs")
"""Parameters with layers on their second axis, of which one is taken: the others cost nothing."""


def score(
    encoding: Encoding,
    q: Any,
    k: Any,
    queries: Any,
    keys: Any,
    *,
    layer: int = 0,
    decayed: bool = False,
) -> Array:
    """Scores of one layer, float64: (batch, heads, queries, keys), or without the batch.

    ``q`` (batch, heads, queries, head_dim), ``k`` (batch, heads, keys, head_dim), or both without
    the batch. ``queries``, ``keys``: positions (count, axes) in the unit of the spectrum, (count,)
    for one axis; for trees paths (count, depth) padded with -1. ``layer`` is an index of
    ``encoding.layers``; one set that serves all layers is any layer's. ``decayed``: times the
    ``c^distance`` of APE. Raises UsageError for shapes that do not fit.
    """
    import numpy as np

    q, k = (_vectors(encoding, x, name) for x, name in ((q, "q"), (k, "k")))
    at, to = (_positions(encoding, p, name) for p, name in ((queries, "queries"), (keys, "keys")))
    for x, p, name in ((q, at, "queries"), (k, to, "keys")):
        if x.shape[-2] != len(p):
            raise UsageError(f"{x.shape[-2]} {name} have {len(p)} positions")
    encoding, layer = _alone(encoding, layer)
    left = _mapped(encoding, q, at, layer, which=0)
    right = _mapped(encoding, k, to, layer, which=1)
    found = left @ np.swapaxes(right, -1, -2)
    own = of(encoding)
    added = own.bias(encoding, at, to)
    if added is not None:
        found = found + added[_index(layer, len(added))]
    if decayed:
        factor = getattr(own, "decay", None)
        if factor is None:
            raise UsageError(f"the scores of {quoted(encoding.kind)} have no factor of distance")
        found = found * factor(encoding, at, to)
    return np.asarray(found)


def operators(encoding: Encoding, positions: Any, *, layer: int = 0) -> tuple[Array, Array]:
    """What queries and what keys of one layer are multiplied by: (count, heads, n, n) twice.

    ``positions`` and ``layer`` as for :func:`score`; heads is 1 where all heads share one set. A
    bias is no part of them. Raises UsageError for shapes that do not fit.
    """
    import numpy as np

    at = _positions(encoding, positions, "positions")
    encoding, layer = _alone(encoding, layer)
    parts = [_maps(encoding, chunk, layer) for chunk in _chunks(encoding, at)]
    first, second = (np.concatenate([p[i] for p in parts]) for i in (0, 1))
    return first, second


def module(encoding: Encoding, **options: Any) -> Any:
    """``encoding`` as a ``torch.nn.Module``, see :mod:`ropeaudit.encodings.torch`.

    ``options`` are those of its class: ``dtype`` of the parameters and of the angles, whatever q
    and k are (default ``torch.float64``), ``trainable`` where it has a choice, ``decayed`` for APE.
    Raises MissingDependency without torch.
    """
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingDependency(
            "an encoding as a module needs torch; pip install 'ropeaudit[torch]'"
        ) from None
    return import_module(f"ropeaudit.encodings.torch.{encoding.module}").Module(encoding, **options)


def _vectors(encoding: Encoding, x: Any, name: str) -> Array:
    import numpy as np

    found = np.asarray(x, dtype=np.float64)
    wanted = (encoding.heads, encoding.head_dim)
    if found.ndim not in (3, 4) or (found.shape[-3], found.shape[-1]) != wanted:
        raise UsageError(
            f"{name} has the shape {list(found.shape)}, expected (batch, {wanted[0]} heads, count, "
            f"{wanted[1]} channels), the batch may be missing"
        )
    return found


def _positions(encoding: Encoding, positions: Any, name: str) -> Array:
    import numpy as np

    found = np.asarray(positions, dtype=np.float64)
    axes, tree = len(encoding.axes), encoding.kind.endswith("-tree")
    if found.ndim == 1 and axes == 1:
        found = found[:, None]
    if found.ndim != 2 or (not tree and found.shape[1] != axes):
        what = "paths (count, depth)" if tree else f"(count, {axes}) for the axes {encoding.axes}"
        raise UsageError(f"{name} has the shape {list(found.shape)}, expected {what}")
    if not np.isfinite(found).all():
        raise UsageError(f"{name} holds numbers that are not finite")
    return found


def _index(layer: int, layers: int) -> int:
    if layers == 1:
        return 0
    if not 0 <= layer < layers:
        raise UsageError(f"layer {layer} is none of {layers}, counted from 0")
    return layer


def _alone(encoding: Encoding, layer: int) -> tuple[Encoding, int]:
    """``encoding`` of one layer, where its parameters can be taken apart, and the index there."""
    layers = encoding.layers or ()
    own = {
        name: values[:, layer : layer + 1]
        for name, values in encoding.parameters.items()
        if name in _BY_LAYER and values.shape[1] == len(layers) > 1
    }
    if not own:
        return encoding, layer
    at = _index(layer, len(layers))
    parameters = {**encoding.parameters, **own}
    return replace(encoding, layers=(layers[at],), parameters=parameters), 0


def _chunks(encoding: Encoding, positions: Array) -> list[Array]:
    layers = len(encoding.layers) if encoding.layers else 1
    each = 16 * layers * encoding.heads * encoding.head_dim**2
    step = max(1, _HELD // each)
    return [positions[i : i + step] for i in range(0, max(1, len(positions)), step)]


def _maps(encoding: Encoding, positions: Array, layer: int) -> tuple[Array, Array]:
    both = of(encoding).operators(encoding, positions)
    queries, keys = (m[:, _index(layer, m.shape[1])] for m in both)
    return queries, keys


def _mapped(encoding: Encoding, x: Array, positions: Array, layer: int, *, which: int) -> Array:
    """``x`` (..., heads, count, n), each vector by the map of its position and head."""
    import numpy as np

    done, start = [], 0
    for chunk in _chunks(encoding, positions):
        maps = np.moveaxis(_maps(encoding, chunk, layer)[which], 0, 1)
        part = x[..., start : start + len(chunk), :, None]
        done.append((maps @ part)[..., 0])
        start += len(chunk)
    return np.concatenate(done, axis=-2)
