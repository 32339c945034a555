"""Maps of positions: powers in a precision, and how far maps depend on more than differences."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from ropeaudit.checks.encodings._look import Look
from ropeaudit.encodings._algebra import frobenius

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

Point = tuple[int, int]


def skewness(generators: Array) -> Array:
    """``||B + B^T||_F / ||B||_F`` of (..., n, n); 0 where B is 0."""
    import numpy as np

    size = frobenius(generators)
    left = frobenius(generators + np.swapaxes(generators, -1, -2))
    return np.asarray(left / np.where(size > 0, size, 1.0))


def power(maps: Array, exponent: int) -> Array:
    """``M^exponent`` by repeated squaring in the precision of ``maps``, as tables are built."""
    import numpy as np

    result = None
    while exponent:
        if exponent & 1:
            result = maps if result is None else result @ maps
        exponent >>= 1
        if exponent:
            maps = maps @ maps
    return np.broadcast_to(np.eye(maps.shape[-1]), maps.shape) if result is None else result


def relativity(look: Look, axes: Point, grid: int) -> Array:
    """Largest ``||M(a)^T M(b) - M(a+s)^T M(b+s)||_F`` with all four points on a grid x grid lattice
    of neighbouring positions along two axes: (layers, heads).

    Products in float32, good to about 1e-5: it is asked only of what does not commute.
    """
    import numpy as np

    maps = _lattice(look, axes, grid)
    shape, n = maps.shape[2:4], maps.shape[-1]
    flat = maps.reshape(grid, grid, -1, n, n)
    size = max(1, _CHUNK // (grid * grid * n * n))
    # A few heads at a time: what fits into a cache is several times quicker than all at once.
    starts = range(0, flat.shape[2], size)
    worst = [_defects(np.ascontiguousarray(flat[:, :, k : k + size])) for k in starts]
    return np.concatenate(worst).reshape(shape)


_CHUNK = 1 << 20
"""Numbers that are worked on at once."""


def _defects(maps: Array) -> Array:
    """The same for (grid, grid, heads, n, n): (heads,)."""
    import numpy as np

    grid, heads = len(maps), maps.shape[2]
    back = np.ascontiguousarray(np.swapaxes(maps, -1, -2))
    worst = np.zeros(heads)
    for dx, dy in product(range(1 - grid, grid), repeat=2):
        wide, high = grid - dx, grid - abs(dy)
        if (dx, dy) <= (0, 0) or wide * high < 2:
            continue  # a displacement backwards says the same, and one pair has no other
        left = max(0, -dy)
        first = back[:wide, left : left + high]
        second = maps[dx:, left + dy : left + dy + high]
        worst = np.maximum(worst, _spread((first @ second).reshape(wide * high, heads, -1)))
    return worst


def _spread(products: Array) -> Array:
    """(count, heads, n * n) -> (heads,): the largest distance of any two."""
    import numpy as np

    rows = np.ascontiguousarray(np.swapaxes(products[1:] - products[0], 0, 1))
    gram = rows @ np.swapaxes(rows, -1, -2)
    square = np.diagonal(gram, axis1=-2, axis2=-1)
    between = square[..., :, None] + square[..., None, :] - 2 * gram
    largest = np.maximum(square.max(-1), between.max((-1, -2)))
    return np.asarray(np.sqrt(np.maximum(largest, 0.0)), dtype=float)


def _lattice(look: Look, axes: Point, grid: int) -> Array:
    """M at the points of a lattice, (grid, grid, layers, heads, n, n) in float32.

    A map on a ray from the origin is a power of the ray's first one.
    """
    import math

    import numpy as np

    step = look.encoding.positions.step
    maps: Any = None
    for point in product(range(grid), repeat=2):
        if math.gcd(*point) != 1:
            continue
        position = np.zeros((1, len(look.encoding.axes)))
        for axis, n in zip(axes, point, strict=True):
            position[0, axis] = n * step[axis]
        base = look.module.operators(look.encoding, position)[0][0].astype(np.float32)
        if maps is None:
            maps = np.empty((grid, grid, *base.shape), dtype=np.float32)
            maps[0, 0] = np.eye(base.shape[-1])
        x, y = point
        maps[x, y] = base
        for times in range(2, (grid - 1) // max(x, y) + 1):
            maps[x * times, y * times] = maps[x * (times - 1), y * (times - 1)] @ base
    return np.asarray(maps)
