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
    worst = np.zeros(maps[0, 0].shape[:2])
    ahead = [(x, y) for x, y in product(range(1 - grid, grid), repeat=2) if (x, y) > (0, 0)]
    for dx, dy in ahead:
        starts = [(x, y) for x, y in product(range(grid), repeat=2) if (x + dx, y + dy) in maps]
        if len(starts) < 2:
            continue
        first = np.stack([maps[p] for p in starts])
        second = np.stack([maps[x + dx, y + dy] for x, y in starts])
        worst = np.maximum(worst, _spread(np.swapaxes(first, -1, -2) @ second))
    return worst


def _spread(products: Array) -> Array:
    """(count, layers, heads, n, n) -> (layers, heads): the largest distance of any two."""
    import numpy as np

    apart = (products[1:] - products[0]).reshape(len(products) - 1, *products.shape[1:3], -1)
    rows = np.moveaxis(apart, 0, 2)
    gram = rows @ np.swapaxes(rows, -1, -2)
    square = np.diagonal(gram, axis1=-2, axis2=-1)
    between = square[..., :, None] + square[..., None, :] - 2 * gram
    largest = np.maximum(square.max(-1), between.max((-1, -2)))
    return np.asarray(np.sqrt(np.maximum(largest, 0.0)), dtype=float)


def _lattice(look: Look, axes: Point, grid: int) -> dict[Point, Any]:
    """M at the points of a lattice, float32. A map on a ray is a power of the ray's first one."""
    import math

    import numpy as np

    step = look.encoding.positions.step
    points = [p for p in product(range(grid), repeat=2) if math.gcd(*p) == 1]
    positions = np.zeros((len(points), len(look.encoding.axes)))
    for row, point in enumerate(points):
        for axis, n in zip(axes, point, strict=True):
            positions[row, axis] = n * step[axis]
    queries, _ = look.module.operators(look.encoding, positions)
    maps: dict[Point, Any] = {}
    for (x, y), base in zip(points, queries.astype(np.float32), strict=True):
        found = base
        for times in range(1, (grid - 1) // max(x, y) + 1):
            found = base if times == 1 else found @ base
            maps[x * times, y * times] = found
    maps[0, 0] = np.broadcast_to(np.eye(queries.shape[-1], dtype=np.float32), queries.shape[1:])
    return maps
