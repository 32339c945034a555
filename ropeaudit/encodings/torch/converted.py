"""RoPE with frequencies of every layer and head as a torch module: see
:mod:`ropeaudit.encodings.converted`."""

from __future__ import annotations

from torch import Tensor, cat

from ropeaudit.encodings.torch import rope_mixed
from ropeaudit.encodings.torch._planes import dot, turned


class Module(rope_mixed.Module):
    """``freqs`` (axes, layers, heads, n//2); the last channel of an odd head stands still."""

    def forward(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, layer: int = 0
    ) -> Tensor:
        """Scores (batch, heads, queries, keys) without the ``1/sqrt(head_dim)``."""
        return dot(
            self._turned(q, self.angles(q_positions, layer)),
            self._turned(k, self.angles(k_positions, layer)),
        )

    @staticmethod
    def _turned(x: Tensor, angles: Tensor) -> Tensor:
        width = 2 * angles.shape[-1]
        found = turned(x[..., :width], angles)
        return found if width == x.shape[-1] else cat([found, x[..., width:]], -1)
