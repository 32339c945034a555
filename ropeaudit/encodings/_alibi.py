"""Slopes of ALiBi (Press et al., arXiv 2108.12409), and what a storage format leaves of the bias.

BLOOM, Falcon, Baichuan, MPT and llama.cpp spell the rule differently and mean the same list.
Scores are compared before they are divided by ``sqrt(head_dim)``, so what code adds to the logits
afterwards is multiplied by it here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Positions

BIAS_MAX = 8.0
"""``alibi_bias_max`` of MPT's config; a constant in all other code."""

_FORMATS = {"bfloat16": (8, -126), "float16": (11, -14), "float32": (24, -126)}
"""Bits of the significand, exponent of the smallest normal number."""


def slopes(heads: int, bias_max: float = BIAS_MAX) -> tuple[float, ...]:
    """One slope a head, per position: ``2^(-bias_max h / n)``, h = 1..n, for n heads, n a power of
    two; for other counts those of the next lower n, then every second one of 2n."""
    n = 1 << (heads.bit_length() - 1)
    first = (2.0 ** (-bias_max * h / n) for h in range(1, n + 1))
    rest = (2.0 ** (-bias_max * h / (2 * n)) for h in range(1, 2 * (heads - n), 2))
    return (*first, *rest)


def half_life(slope: float) -> float:
    """Distance at which the weight has halved, in positions; infinite for slope 0."""
    return math.inf if slope == 0.0 else math.log(2.0) / slope


def rounded(values: Array, dtype: str) -> Array:
    """``values`` rounded to ``dtype`` (nearest, ties to even), as float64; float64 stays."""
    import numpy as np

    if dtype not in _FORMATS:
        return values
    bits, least = _FORMATS[dtype]
    _, exponent = np.frexp(values)
    shift = bits - np.maximum(exponent, least + 1)
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, shift)), -shift))


def distinct_values(slope: float, length: int, dtype: str) -> int:
    """How many different values ``-slope d`` takes in ``dtype``, d = 0 .. length - 1."""
    import numpy as np

    return len(np.unique(rounded(slope * np.arange(float(length)), dtype)))


def of(encoding: Encoding) -> Array:
    """Slopes (layers, heads) of the logits, per position: a parameter where something has changed
    them, else the rule of the paper."""
    import numpy as np

    own = encoding.parameters.get("slopes")
    if own is not None:
        return own
    return np.array([slopes(encoding.heads, float(encoding.settings.get("bias_max", BIAS_MAX)))])


def tokens(length: int | None) -> Positions:
    """Positions of ``length`` tokens, of which the farthest are ``length - 1`` apart."""
    from ropeaudit.encodings.core import Positions

    if length is None:
        return Positions()
    return Positions(extent=(float(length - 1),), trained=(length,))


def softmax_scale(encoding: Encoding) -> float:
    """What the attention multiplies its scores with: ``1/sqrt(head_dim)`` unless stated."""
    return float(encoding.settings.get("softmax_scale") or 1.0 / math.sqrt(encoding.head_dim))


def bias(encoding: Encoding, queries: Array, keys: Array) -> Array:
    """``-m_h max(i - j, 0) / softmax_scale`` (layers, heads, queries, keys) for positions (count,
    1)."""
    import numpy as np

    distance = np.maximum(queries[:, 0][:, None] - keys[:, 0][None, :], 0.0)
    return -of(encoding)[..., None, None] * distance / softmax_scale(encoding)
