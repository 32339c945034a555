"""Maps of positions: powers in a precision, and how far maps depend on more than differences."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from ropeaudit.encodings._algebra import frobenius

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array


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


def relativity(generators: Array, grid: int) -> Array:
    """Largest ``||M(a)^T M(b) - M(a+s)^T M(b+s)||_F`` with all four points on a grid x grid lattice
    of neighbouring positions: (layers, heads).

    ``generators`` (2, layers, heads, n, n): of one step along each axis, skew. In float32, which
    leaves about 1e-4 of the result: it is asked only of what does not commute.
    """
    import numpy as np

    shape, n = generators.shape[1:3], generators.shape[-1]
    flat = generators.reshape(2, -1, n, n)
    size = max(1, _CHUNK // (grid * grid * n * n))
    # A few heads at a time: what fits into a cache is several times quicker than all at once.
    parts = (flat[:, k : k + size] for k in range(0, flat.shape[1], size))
    return np.concatenate([_defects(_lattice(part, grid)) for part in parts]).reshape(shape)


_CHUNK = 1 << 20
"""Numbers that are worked on at once."""


def _defects(maps: Array) -> Array:
    """The same for (heads, grid, grid, n, n): (heads,)."""
    import numpy as np

    heads, grid = maps.shape[:2]
    back = np.ascontiguousarray(np.swapaxes(maps, -1, -2))
    worst = np.zeros(heads)
    for dx, dy in product(range(1 - grid, grid), repeat=2):
        wide, high = grid - dx, grid - abs(dy)
        if (dx, dy) <= (0, 0) or wide * high < 2:
            continue  # a displacement backwards says the same, and one pair has no other
        left = max(0, -dy)
        first = back[:, :wide, left : left + high]
        second = maps[:, dx:, left + dy : left + dy + high]
        worst = np.maximum(worst, _spread((first @ second).reshape(heads, wide * high, -1)))
    return worst


def _spread(products: Array) -> Array:
    """(heads, count, n * n) -> (heads,): the largest distance of any two; overwrites them."""
    import numpy as np

    products -= products[:, :1].copy()  # what is close stays exact in differences of squares
    gram = products @ np.swapaxes(products, -1, -2)
    square = np.diagonal(gram, axis1=-2, axis2=-1)
    between = square[..., :, None] + square[..., None, :] - 2 * gram
    return np.asarray(np.sqrt(np.maximum(between.max((-1, -2)), 0.0)), dtype=float)


def _lattice(generators: Array, grid: int) -> Array:
    """M at the points of a lattice, (heads, grid, grid, n, n) in float32, from (2, heads, n, n).

    A map on a ray from the origin is a power of the ray's first one.
    """
    import math

    import numpy as np

    first, second = np.asarray(generators, dtype=np.float32)
    maps = np.empty((len(first), grid, grid, *first.shape[1:]), dtype=np.float32)
    maps[:, 0, 0] = np.eye(first.shape[-1])
    for x, y in product(range(grid), repeat=2):
        if math.gcd(x, y) != 1:
            continue
        maps[:, x, y] = base = _exponential(x * first + y * second)
        for times in range(2, (grid - 1) // max(x, y) + 1):
            before = maps[:, x * (times - 1), y * (times - 1)]
            maps[:, x * times, y * times] = before @ base
    return np.asarray(maps)


_TERMS = 9
"""0.5^9 / 9! is below half of a float32 step."""


def _exponential(b: Array) -> Array:
    """exp of skew matrices (heads, n, n) by scaling, the power series and squaring.

    Eigenvectors would be more exact; products of small matrices stay on one core, and are many
    times quicker where other cores are busy.
    """
    import numpy as np

    largest = float(np.abs(b).sum(-1).max(initial=0.0))  # no eigenvalue is beyond it
    squarings = max(0, int(np.ceil(np.log2(max(2.0 * largest, 1.0)))))
    small = b * b.dtype.type(0.5**squarings)
    one = np.eye(b.shape[-1], dtype=b.dtype)
    found = one + small / b.dtype.type(_TERMS)
    for k in range(_TERMS - 1, 0, -1):
        found = one + small @ found / b.dtype.type(k)
    for _ in range(squarings):
        found = found @ found
    return np.asarray(found)
