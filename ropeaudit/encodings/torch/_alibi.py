"""The bias of ALiBi, for modules whose scores are not yet divided by ``sqrt(head_dim)``."""

from __future__ import annotations

from torch import Tensor

from ropeaudit.encodings.torch._planes import of_layer


def bias(
    slopes: Tensor, scale: float, q_positions: Tensor, k_positions: Tensor, layer: int
) -> Tensor:
    """``-m max(i - j, 0) / scale`` (1, heads, queries, keys) of slopes (layers, heads)."""
    q, k = q_positions.to(slopes.dtype)[:, 0], k_positions.to(slopes.dtype)[:, 0]
    distance = (q[:, None] - k[None, :]).clamp_min(0.0)
    return -of_layer(slopes, layer)[None, :, None, None] * distance / scale
