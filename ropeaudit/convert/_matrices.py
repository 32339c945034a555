"""Matrices as they are given: what they must be, in one sentence each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import InvalidValue, quoted_path

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

MAX_SIZE = 4096
ORTHOGONAL = 1e-5
"""Largest orthogonality defect of a map: float32 keeps it below this."""
SKEW = 1e-6
"""Largest symmetric part of a generator, relative; what is left is rounding and taken out."""


def checked(given: Any, kind: str, name: str) -> Array:
    """``given`` (..., n, n) as float64; a parameter A becomes ``A - A^T``.

    One matrix is a batch of one. Raises InvalidValue for what is no square matrix of finite
    numbers, for a generator that is not skew, and for a map that is not orthogonal.
    """
    import numpy as np

    from ropeaudit.encodings._algebra import frobenius, orthogonality_defect, skew_part

    where = quoted_path(name)
    values = np.asarray(given)
    if values.dtype.kind not in "fiu":
        raise InvalidValue(f"{where} holds no real numbers (dtype {values.dtype})", where=name)
    square = values.ndim >= 2 and values.shape[-1] == values.shape[-2]
    if not square or not 1 <= values.shape[-1] <= MAX_SIZE or values.size == 0:
        raise InvalidValue(
            f"{where} has the shape {list(values.shape)}, expected square matrices (n, n) or "
            f"(heads, n, n) with n up to {MAX_SIZE}",
            where=name,
        )
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise InvalidValue(f"{where} holds numbers that are not finite; correct it", where=name)
    values = values[None] if values.ndim == 2 else values
    if kind == "parameter":
        return skew_part(values)
    if kind == "map":
        defect = float(orthogonality_defect(values).max())
        if defect > ORTHOGONAL:
            raise InvalidValue(
                f"{where} is no orthogonal matrix: |W^T W - I| / sqrt(n) is {defect:.3g}, expected "
                f"at most {ORTHOGONAL:g}; a generator is given as --matrix generator",
                where=name,
            )
        return values
    size = frobenius(values)
    off = frobenius(values + np.swapaxes(values, -1, -2)) / np.where(size > 0, size, 1.0)
    if float(off.max()) > SKEW:
        raise InvalidValue(
            f"{where} is not skew: |B + B^T| / |B| is {float(off.max()):.3g}, expected 0; a free "
            "matrix A with B = A - A^T is given as --matrix parameter",
            where=name,
        )
    return skew_part(values) / 2.0


def rounding(maps: Array) -> float:
    """By how much the entries of an orthogonal matrix may miss ``maps`` (..., n, n).

    Maps stored in float32 are themselves off from orthogonal ones, and nothing nearer exists.
    """
    from ropeaudit.encodings._algebra import orthogonality_defect

    return 2.0 * math.sqrt(maps.shape[-1]) * float(orthogonality_defect(maps).max())
