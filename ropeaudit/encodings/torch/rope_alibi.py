"""RoPE with ALiBi as a torch module: see :mod:`ropeaudit.encodings.rope_alibi`."""

from __future__ import annotations

import torch
from torch import Tensor

from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.torch import alibi
from ropeaudit.encodings.torch._planes import of_layer, turned


class Module(alibi.Module):
    """Frequencies ``omega`` (layers, heads, planes) are a buffer, as in public code."""

    omega: Tensor

    def __init__(
        self, encoding: Encoding, *, dtype: torch.dtype = torch.float64, trainable: bool = False
    ) -> None:
        super().__init__(encoding, dtype=dtype, trainable=trainable)
        self.register_buffer("omega", torch.tensor(encoding.parameters["omega"], dtype=dtype))

    def _turned(self, x: Tensor, positions: Tensor, layer: int) -> Tensor:
        p = positions[:, 0].to(self.omega.dtype)
        return turned(x, p[None, :, None] * of_layer(self.omega, layer)[:, None, :])

    def forward(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, layer: int = 0
    ) -> Tensor:
        """Scores (batch, heads, queries, keys) without the ``1/sqrt(head_dim)``."""
        q, k = self._turned(q, q_positions, layer), self._turned(k, k_positions, layer)
        return super().forward(q, k, q_positions, k_positions, layer)
