"""Planes of a head as arrays: rotations, block diagonals and the sign that nobody can see."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

ABOUT_ZERO = 1e-6
"""Relative to the largest component: one below says nothing about its sign. Float32 holds
``cos(pi / 2)`` as -4.4e-8, which public code stores for zero."""


def canonical(w: Array) -> tuple[Array, Array]:
    """``w`` (..., axes) with its first component that is not about zero positive, and the signs.

    The signs (...,) are 1.0 or -1.0: ``w == signs[..., None] * canonical``. A zero vector keeps its
    sign.
    """
    import numpy as np

    size = np.abs(w).max(axis=-1, keepdims=True)  # a norm would underflow
    telling = np.abs(w) > ABOUT_ZERO * size
    first = np.take_along_axis(w, np.argmax(telling, axis=-1)[..., None], axis=-1)[..., 0]
    signs = np.where(first < 0.0, -1.0, 1.0)
    return w * signs[..., None], signs


def rotations(angles: Array) -> Array:
    """``[[cos, -sin], [sin, cos]]`` of each angle (radians): (..., 2, 2)."""
    import numpy as np

    cos, sin = np.cos(angles), np.sin(angles)
    return np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2)


def skew(w: Array) -> Array:
    """``[[0, -w], [w, 0]]`` of each value: the generators of :func:`rotations`."""
    import numpy as np

    zero = np.zeros_like(w)
    return np.stack([np.stack([zero, -w], -1), np.stack([w, zero], -1)], -2)


def block_diagonal(blocks: Array, size: int | None = None) -> Array:
    """(..., units, b, b) -> (..., n, n), block after block; ``size`` adds zero rows at the end."""
    import numpy as np

    units, width = blocks.shape[-3], blocks.shape[-1]
    n = units * width if size is None else size
    whole = np.zeros((*blocks.shape[:-3], n, n))
    for at in range(units):
        rows = slice(at * width, (at + 1) * width)
        whole[..., rows, rows] = blocks[..., at, :, :]
    return whole


def phases(positions: Array, w: Array) -> Array:
    """Angles (count, layers, heads, units) of ``w`` (layers, heads, units, axes) at ``positions``
    (count, axes), radians."""
    import numpy as np

    return np.tensordot(positions, w, axes=([1], [-1]))
