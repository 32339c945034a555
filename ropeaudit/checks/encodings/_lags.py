"""Maps between a key and a query of encodings that damp or shear along one axis of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ropeaudit.checks.encodings._look import BIAS, UNDAMPED, Look, counts_tokens, extents
from ropeaudit.checks.interface import Case
from ropeaudit.encodings import _growth as growth
from ropeaudit.encodings._growth import MAX_EXPONENT

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

DEFAULT_REACH = 64
"""Lags that are tried where nobody says how far positions reach."""


def needs_lags(look: Look) -> str:
    """Why the question of lags does not arise; empty where it does."""
    if look.is_bias:
        return BIAS
    if not look.is_damped:
        return UNDAMPED
    return "" if counts_tokens(look) else "its positions are no tokens in a row"


def reach(case: Case, look: Look) -> int | None:
    """The largest lag, in steps; None where nobody says."""
    extent = extents(case, look)[0]
    return None if extent is None else max(1, round(extent / look.encoding.positions.step[0]))


def lags(case: Case, look: Look) -> list[int]:
    """A few lags from 1 to the largest, as far as the clamp on ``exp(gamma p)`` lets positions of
    twice that be what they are; beyond it jordan-growth warns."""
    length = min(reach(case, look) or DEFAULT_REACH, int(clamp_position(look)) // 2)
    length = max(length, 1)
    return sorted({n for n in (1, 2, 5, length // 4, length // 2, length) if 0 < n <= length})


def clamp_position(look: Look) -> float:
    """The position where public code begins to clamp, in steps; far away without damping."""
    exponent = float(look.encoding.settings.get("max_exponent", MAX_EXPONENT))
    return min(growth.clamp_position(float(look.spectrum.gamma.max()), exponent), 1e12)


def between(look: Look, queries: Sequence[int], keys: Sequence[int]) -> Array:
    """``Q_i^T K_j`` for each query position i and key position j: (count, layers, heads, n, n)."""
    import numpy as np

    step = look.encoding.positions.step[0]
    places = sorted({*queries, *keys})
    at = {p: row for row, p in enumerate(places)}
    positions = np.array(places, dtype=float)[:, None] * step
    q, k = look.module.operators(look.encoding, positions)
    first, second = q[[at[i] for i in queries]], k[[at[j] for j in keys]]
    return np.asarray(np.swapaxes(first, -1, -2) @ second)
