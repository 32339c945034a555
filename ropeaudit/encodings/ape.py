"""Algebraic Positional Encodings (Kogkalidis et al., arXiv 2312.16045): powers of rotations.

Sequence: position p is ``W^p`` with ``W = exp(B)`` and ``B = A - A^T`` of a stored matrix A; the
score is ``q^T W^(j-i) k``. Grid: axis a turns its own share of a head's channels. Tree: a node is
the product of the maps of its branches from the root; common beginnings cancel, and branches do not
commute. Frequencies come from B, where they are exact and not folded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ropeaudit.encodings import _paths
from ropeaudit.encodings._algebra import (
    expm_skew,
    frequencies,
    frobenius,
    from_planes,
    resolution,
    skew_part,
    stored_again,
)
from ropeaudit.encodings._ape_layout import OPTIONS, recognise
from ropeaudit.encodings._normal_form import plane_vectors, principal_log
from ropeaudit.encodings._planes import block_diagonal, skew
from ropeaudit.encodings._still import rest
from ropeaudit.records import replace

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Spectrum

__all__ = [
    "KINDS", "OPTIONS", "bias", "decay", "generators", "operators", "rebuilt", "recognise",
    "spectrum",
]  # fmt: skip

KINDS = ("ape-sequence", "ape-tree", "ape-grid", "ape-rotary")


def spectrum(encoding: Encoding) -> Spectrum:
    """Radians per step, falling in each head (rotary angles in stored order).

    Grid: the planes of axis 0, then those of axis 1, each a vector along its axis. Tree: column b
    is the spectrum of branch b alone, ``joint`` False.
    """
    import numpy as np

    from ropeaudit.encodings.core import Spectrum

    if encoding.kind == "ape-rotary":
        w = np.abs(encoding.parameters["thetas"])[None, None, :, None]
        return _record(Spectrum, w, joint=True, static=0, noise=0.0)
    blocks = _blocks(encoding)  # (axes, heads, n, n)
    every = frequencies(blocks)
    # What separates two frequencies must exceed what rounding A moves them.
    noise = 4.0 * resolution(encoding.dtype) * frobenius(blocks).max(axis=0)[None]
    near = _rest(encoding, blocks)
    if encoding.kind == "ape-grid":
        w = _along_axes(every)
        static = len(blocks) * (blocks.shape[-1] % 2)
        return _record(Spectrum, w, joint=True, static=static, noise=noise, rest=near)
    w = np.moveaxis(every, 0, -1)[None]
    joint = encoding.kind != "ape-tree"
    static = blocks.shape[-1] % 2
    return _record(Spectrum, w, joint=joint, static=static, noise=noise, rest=near)


def _rest(encoding: Encoding, blocks: Array) -> Array:
    """(1, heads): what rounding the stored matrices may leave of a frequency 0."""
    import numpy as np

    stored = encoding.parameters["_primitives"][_indices(encoding)]
    if encoding.settings["ape-stores"] == "generator" and encoding.settings["ape-skew"] == "tril":
        stored = np.tril(stored, -1)
    found: Array = rest(blocks, encoding.dtype, stored).max(axis=0)[None]
    return found


def _record(kind: Any, w: Array, **rest: Any) -> Spectrum:
    import numpy as np

    still = np.zeros(w.shape[:-1])
    found: Spectrum = kind(w=w, gamma=still, eta=still, sector=("rotary",) * w.shape[2], **rest)
    return found


def generators(encoding: Encoding) -> Array:
    """(axes, 1, heads, n, n), for trees (branches, 1, heads or 1, n, n); radians per step."""
    import numpy as np

    if encoding.kind == "ape-rotary":
        return block_diagonal(skew(encoding.parameters["thetas"]))[None, None, None]
    blocks = _blocks(encoding)
    if encoding.kind != "ape-grid":
        return blocks[:, None]
    axes, heads, m, _ = blocks.shape
    whole = np.zeros((axes, 1, heads, axes * m, axes * m))
    for a in range(axes):
        own = slice(a * m, (a + 1) * m)
        whole[a, 0, :, own, own] = blocks[a]
    return whole


def operators(encoding: Encoding, positions: Array) -> tuple[Array, Array]:
    """The same maps for queries and keys, (count, 1, heads, n, n) twice.

    ``positions``: (count, axes) in steps; for trees paths (count, depth) of branches from the root,
    padded with -1. Raises UsageError for paths that are none.
    """
    import numpy as np

    if encoding.kind == "ape-tree":
        paths = _paths.checked(positions, len(encoding.axes))
        found = _paths.maps(_branch_maps(encoding), paths, _start(encoding))
        return found[:, None], found[:, None]
    if encoding.kind != "ape-grid":
        found = expm_skew(generators(encoding)[0], np.asarray(positions)[:, 0])
        return found, found
    blocks = _blocks(encoding)
    parts = [expm_skew(b, np.asarray(positions)[:, a]) for a, b in enumerate(blocks)]
    found = block_diagonal(np.stack(parts, axis=2))[:, None]
    return found, found


def bias(encoding: Encoding, queries: Array, keys: Array) -> None:
    """None: nothing is added to the score (it is multiplied, see :func:`decay`)."""
    return


def decay(encoding: Encoding, queries: Array, keys: Array, *, public: bool = False) -> Array:
    """The factor ``c^distance`` on the scores, (queries, keys); c is ``settings["decay"]``.

    Distance: ``|i - j|``, the floor of the Euclidean one on grids, edges between nodes of trees;
    ``public`` counts tree steps as the public code does, see :func:`_paths.public_distance`.
    """
    import numpy as np

    if encoding.kind == "ape-tree":
        paths = [_paths.checked(p, len(encoding.axes)) for p in (queries, keys)]
        steps = _paths.public_distance(*paths) if public else _paths.distance(*paths)
    else:
        apart = np.asarray(queries)[:, None, :] - np.asarray(keys)[None, :, :]
        steps = np.linalg.norm(apart, axis=-1)
        steps = np.floor(steps) if encoding.kind == "ape-grid" else steps
    found: Array = np.power(float(encoding.settings["decay"]), steps)
    return found


def rebuilt(encoding: Encoding, spectrum: Spectrum) -> Encoding:
    """``encoding`` with the frequencies of ``spectrum`` in its own planes.

    The symmetric part of A (or the triangle that is not read) stays as it is, and so do matrices
    that nobody reads.
    """
    import numpy as np

    if encoding.kind == "ape-rotary":
        old = encoding.parameters["thetas"]
        thetas = np.where(old < 0.0, -1.0, 1.0) * spectrum.w[0, 0, :, 0]
        return replace(encoding, parameters={**encoding.parameters, "thetas": thetas})
    blocks = _blocks(encoding)
    axes, _, m, _ = blocks.shape
    w = np.moveaxis(spectrum.w[0], -1, 0)  # (axes, heads, units)
    if encoding.kind == "ape-grid":
        own = m // 2
        w = np.stack([w[a, :, a * own : (a + 1) * own] for a in range(axes)])
    new = from_planes(plane_vectors(blocks[None])[1], w)
    stored = encoding.parameters["_primitives"].copy()
    at = _indices(encoding)
    stored[at] = _stored(encoding, stored[at], blocks, new)
    return replace(encoding, parameters={**encoding.parameters, "_primitives": stored})


def _stored(encoding: Encoding, a: Array, old: Array, new: Array) -> Array:
    import numpy as np

    if encoding.settings["ape-stores"] == "operator":
        found: Array = expm_skew(new)
        return found
    if encoding.settings["ape-skew"] == "tril":
        return np.where(np.tril(np.ones(a.shape[-2:], dtype=bool), -1), new, a)
    return stored_again(a, old, new)


def _indices(encoding: Encoding) -> Any:
    """Which stored matrices are used, (axes or branches, heads or 1)."""
    import numpy as np

    axes, heads = len(encoding.axes), encoding.heads
    if encoding.kind == "ape-tree" and encoding.settings["ape-tree-layout"] == "head-shared":
        return np.arange(axes)[:, None]
    return np.arange(axes * heads).reshape(axes, heads)


def _blocks(encoding: Encoding) -> Array:
    """Generators of what each axis, or branch, and head turns: (axes, heads, m, m)."""
    return _generators_of(encoding, encoding.parameters["_primitives"][_indices(encoding)])


def _generators_of(encoding: Encoding, stored: Array) -> Array:
    import numpy as np

    if encoding.settings["ape-stores"] == "generator":
        return skew_part(stored, lower=encoding.settings["ape-skew"] == "tril")
    n = stored.shape[-1]
    logs = [principal_log(c) for c in stored.reshape(-1, n, n)]
    return np.stack([np.zeros((n, n)) if b is None else b for b in logs]).reshape(stored.shape)


def _branch_maps(encoding: Encoding) -> Array:
    """What a step to each branch multiplies by: ``W_b^T`` in the current public code, ``W_b`` in
    the one of before April 2024."""
    b = _blocks(encoding)
    return expm_skew(-b if encoding.settings["ape-tree-layout"] == "head-shared" else b)


def _start(encoding: Encoding) -> Array | None:
    """The map of the start symbol, in front of every path; it cancels in all scores."""
    if encoding.settings["ape-tree-layout"] == "head-shared":
        return None
    last = encoding.parameters["_primitives"][-1:]
    return expm_skew(_generators_of(encoding, last))


def _along_axes(every: Array) -> Array:
    """(axes, heads, planes) -> (1, heads, axes * planes, axes), each along its own axis."""
    import numpy as np

    axes, heads, planes = every.shape
    w = np.zeros((1, heads, axes * planes, axes))
    for a in range(axes):
        w[0, :, a * planes : (a + 1) * planes, a] = every[a]
    return w
