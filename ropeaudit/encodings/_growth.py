"""How large a Jordan block grows with distance, and where its arithmetic breaks.

One block is ``G(d) = exp(-gamma d) R(w d) sum_r (s^r / r!) N^r`` with the shear ``s = eta tau(d)``
and ``N`` nilpotent of order m (Zhang, Jordan-RoPE, arXiv 2605.04217). All functions take numbers or
arrays; distances are in steps, gamma and eta per step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

MAX_EXPONENT = 30.0
"""Public code clamps ``gamma p`` here, and beyond this position scores no longer depend on the
distance alone."""
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
"""Largest finite value of each format that keys are kept in."""


def tau(distance: Any, length: float | None) -> Any:
    """The shear coordinate: ``d``, or ``d / (1 + |d| / length)``, which stays below ``length``."""
    return distance if length is None else distance / (1.0 + abs(distance) / length)


def operator_norm(gamma: Any, shear: Any, distance: Any) -> Any:
    """Spectral norm of an order-2 block: ``exp(-gamma d) (|s|/2 + sqrt(1 + s^2/4))``."""
    import numpy as np

    half = np.abs(shear) / 2.0
    return np.exp(-np.asarray(gamma) * distance) * (half + np.sqrt(1.0 + half * half))


def norm_bound(gamma: Any, shear: Any, distance: Any, order: int) -> Any:
    """Upper bound of the spectral norm at any order: ``exp(-gamma d) sum_{r<m} |s|^r / r!``."""
    import numpy as np

    size = np.abs(shear)
    total = sum(size**r / math.factorial(r) for r in range(order))
    return np.exp(-np.asarray(gamma) * distance) * total


def peak(gamma: float, eta: float) -> tuple[float, float]:
    """Where ``eta d exp(-gamma d)`` is largest, and how large: ``(1/gamma, eta/(e gamma))``.

    Both infinite without damping (the second only where eta is not 0).
    """
    if gamma == 0.0:
        return math.inf, math.inf if eta else 0.0
    return 1.0 / gamma, abs(eta) / (math.e * gamma)


def numerical_abscissa(gamma: Any, eta: Any, order: int) -> Any:
    """Growth rate at distance 0: ``-gamma + |eta| cos(pi / (m + 1))``; transient growth above 0."""
    return abs(eta) * math.cos(math.pi / (order + 1)) - gamma


def rescaling(gamma: Any, position: Any, exponent: float = MAX_EXPONENT) -> Any:
    """Factor on keys at an absolute position, ``exp(gamma p)`` with the clamp of public code; the
    queries carry its inverse."""
    import numpy as np

    return np.exp(np.minimum(np.asarray(gamma) * position, exponent))


def overflow_exponent(dtype: str) -> float:
    """``gamma p`` from which a unit vector no longer fits into ``dtype``: 11.09 for float16."""
    return math.log(LARGEST[dtype])


def overflow_position(gamma: float, dtype: str) -> float:
    """First position, in steps, at which the rescaled keys leave ``dtype``; infinite without
    damping, and where the clamp comes first."""
    exponent = overflow_exponent(dtype)
    return math.inf if gamma <= 0.0 or exponent > MAX_EXPONENT else exponent / gamma


def clamp_position(gamma: float, exponent: float = MAX_EXPONENT) -> float:
    """Position, in steps, beyond which the clamp replaces the damping."""
    return math.inf if gamma <= 0.0 else exponent / gamma


def group_coefficient(eta: Any, first: Any, second: Any, length: float | None) -> Any:
    """Shear by which ``G(a) G(b)`` misses ``G(a + b)``: ``eta (tau(a) + tau(b) - tau(a + b))``.

    0 for the linear coordinate; ``eta L / 3`` at ``a = b = L`` for the bounded one.
    """
    return eta * (tau(first, length) + tau(second, length) - tau(first + second, length))


def jet_defects(jets: Array) -> Array:
    """``g_r - g_1^r`` of jets (orders, ...) that begin with ``g_1``: all 0 in a one-parameter
    group, where the base is 1 and the coordinate linear."""
    import numpy as np

    powers = np.arange(1, len(jets) + 1).reshape(-1, *([1] * (jets.ndim - 1)))
    return np.asarray(jets - jets[:1] ** powers)


def ranks(generator: Array, eigenvalue: complex, order: int, tolerance: float) -> tuple[int, ...]:
    """Ranks of ``(J - lambda)^k``, k = 1..order, of a matrix: what tells a Jordan block.

    ``tolerance`` is relative to the norm of the matrix. Jordan structure is not stable under
    rounding: only for generators given exactly, never for ``G(d)`` read back from float32.
    """
    import numpy as np

    size = float(np.linalg.norm(generator, 2)) or 1.0
    shifted = generator - eigenvalue * np.eye(len(generator))
    found, power = [], np.eye(len(generator), dtype=complex)
    for k in range(1, order + 1):
        power = power @ shifted
        found.append(int(np.linalg.matrix_rank(power, tol=tolerance * size**k)))
    return tuple(found)
