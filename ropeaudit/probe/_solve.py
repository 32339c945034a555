"""Least squares with a ridge, three ways: to see which digits of an error are arithmetic.

Minimised is ``|X c - y|^2 + ridge |c|^2``. The normal equations square the condition of X. The
reference, the QR factorisation of X with ``sqrt(ridge) I`` below it, does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

FLOAT32_RUNS = ("forward", "backward", "cholesky")
"""Float32 normal equations: lags in rising and in falling order, and by a Cholesky factor."""


def normal(x: Any, y: Any, ridge: float) -> Any:
    """Coefficients (features, targets) by the normal equations, in the dtype of ``x``.

    NaN where the matrix is singular.
    """
    import numpy as np

    gram, right = _normal_matrix(x, ridge), x.T @ y
    try:
        return np.linalg.solve(gram, right)
    except np.linalg.LinAlgError:
        return np.full_like(right, np.nan)


def reference(x: Array, y: Array, ridge: float) -> Array:
    """Coefficients (features, targets) by QR of the augmented matrix, float64.

    Those of least norm where the columns depend on each other.
    """
    import numpy as np

    features = x.shape[1]
    tall = np.concatenate([x, np.sqrt(ridge) * np.eye(features)])
    aim = np.concatenate([y, np.zeros((features, y.shape[1]))])
    q, r = np.linalg.qr(tall)
    diagonal = np.abs(np.diag(r))
    if diagonal.min() <= np.finfo(np.float64).eps * max(tall.shape) * diagonal.max():
        return np.asarray(np.linalg.lstsq(tall, aim, rcond=None)[0], np.float64)
    return np.asarray(np.linalg.solve(r, q.T @ aim), np.float64)


def float32(x: Array, y: Array, ridge: float) -> list[Any]:
    """Coefficients of each of :data:`FLOAT32_RUNS`; NaN where one breaks down."""
    import numpy as np

    x32, y32 = x.astype(np.float32), y.astype(np.float32)
    back = np.ascontiguousarray(x32[::-1])
    found = [normal(x32, y32, ridge), normal(back, y32[::-1], ridge)]
    gram, right = _normal_matrix(x32, ridge), x32.T @ y32
    try:
        lower = np.linalg.cholesky(gram)
        found.append(np.linalg.solve(lower.T, np.linalg.solve(lower, right)))
    except np.linalg.LinAlgError:
        found.append(np.full_like(right, np.nan))
    return found


def condition(x: Array, ridge: float) -> float:
    """Condition of the normal matrix, from the singular values of ``x``; inf where it is singular.

    Not from the matrix itself: beyond 1e16 that would be noise.
    """
    import numpy as np

    s = np.linalg.svd(x, compute_uv=False)
    most, least = float(s[0] ** 2 + ridge), float(s[-1] ** 2 + ridge)
    return most / least if least > 0 else float("inf")


def _normal_matrix(x: Any, ridge: float) -> Any:
    import numpy as np

    return x.T @ x + np.asarray(ridge, x.dtype) * np.eye(x.shape[1], dtype=x.dtype)
