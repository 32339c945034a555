"""Rotations of channel pairs, shared by the modules of this package."""

from __future__ import annotations

from torch import Tensor, stack


def turned(x: Tensor, angles: Tensor) -> Tensor:
    """``x`` (..., 2 * units) with pair (2c, 2c+1) turned counter-clockwise by ``angles`` (...,
    units)."""
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    first, second = pairs[..., 0], pairs[..., 1]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return stack([first * cos - second * sin, first * sin + second * cos], -1).flatten(-2)


def dot(q: Tensor, k: Tensor) -> Tensor:
    """Scores (batch, heads, queries, keys)."""
    return q @ k.transpose(-1, -2)


def of_layer(values: Tensor, layer: int) -> Tensor:
    """``values`` (layers, ...) of one layer; one set that serves all layers is any layer's."""
    return values[layer if len(values) > 1 else 0]
