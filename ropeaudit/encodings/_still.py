"""Planes that stand still, also where their zeros came through the rounding of a stored matrix.

Where frequencies are stored as they are, 0 is 0. Where a file holds a matrix, a plane of frequency
0 comes back as the rounding of its entries: they are off by up to half a step of the format, at
random, and n of them spread over the n/2 planes, which leaves about ``eps |A| / sqrt(n)``. A plane
that truly turns is far above: the slowest of 32 at a base of 1e7 turns 5 times as fast.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ropeaudit.encodings._algebra import frobenius, resolution

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Spectrum

_FLOAT64 = 1e-12
"""Relative to the fastest plane of a head: what float64 leaves of a zero plane."""


def rest(generators: Array, dtype: str, stored: Array | None = None) -> Array:
    """(...,): what rounding may leave of a frequency 0, radians, of skew matrices (..., n, n).

    ``stored``: the matrices that a file holds instead, whose own size is what is rounded. 0.0 where
    every channel is in one plane at most, as in rotations by two: these are stored as they are.
    """
    import numpy as np

    size = frobenius(generators)
    if stored is not None:
        size = np.maximum(size, math.sqrt(2.0) * frobenius(stored))
    dense = ((generators != 0).sum(-1) > 1).any(-1)
    n = max(generators.shape[-1], 1)
    return np.asarray(dense * resolution(dtype) * size / math.sqrt(n))


def still(spectrum: Spectrum) -> Any:
    """(layers, heads, units): rotary planes that turn with no axis.

    Where axes do not commute a row is no plane, and a head stands still as a whole or not at all.
    """
    import numpy as np

    sector = spectrum.sector or ("rotary",) * spectrum.w.shape[2]
    rotary = np.array([s == "rotary" for s in sector], dtype=bool)
    size = np.abs(spectrum.w).max(-1, initial=0.0) * rotary
    found = (size <= _limit(spectrum, size)) & rotary
    if not spectrum.joint:
        found &= found[..., rotary].all(-1, keepdims=True)
    return found


def settled(spectrum: Spectrum) -> Array:
    """``w`` with 0 for what is rounding of 0: whole vectors, or each axis where none are joint."""
    import numpy as np

    size = np.abs(spectrum.w)
    limit = _limit(spectrum, size.max(-1, initial=0.0))[..., None]
    size = size.max(-1, keepdims=True, initial=0.0) if spectrum.joint else size
    found: Array = np.where(size <= limit, 0.0, spectrum.w)
    return found


def _limit(spectrum: Spectrum, size: Array) -> Array:
    """(layers, heads, 1), of units of ``size`` (layers, heads, units)."""
    import numpy as np

    least = np.broadcast_to(np.asarray(spectrum.rest, dtype=float), size.shape[:2])[..., None]
    found: Array = np.maximum(_FLOAT64 * size.max(-1, keepdims=True, initial=0.0), least)
    return found
