"""The direct sum as a torch module: see :mod:`ropeaudit.encodings.direct_sum`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.direct_sum import numbers, rotary
from ropeaudit.encodings.torch._jordan import Blocks
from ropeaudit.encodings.torch._planes import dot, of_layer, turned


class Module(nn.Module):
    """RoPE on the first half of the channels; ``real_jordan`` holds the parameters of the other."""

    omega: Tensor

    def __init__(self, encoding: Encoding, *, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()
        table = rotary(encoding)
        self.register_buffer("omega", torch.tensor(table, dtype=dtype))
        start = table.shape[-1]
        self.real_jordan = Blocks(encoding, numbers(encoding), start, dtype=dtype)

    def _mapped(self, x: Tensor, positions: Tensor, layer: int, *, keys: bool) -> Tensor:
        first, second = x.chunk(2, dim=-1)
        p = positions[:, 0].to(self.omega.dtype)
        angles = p[None, :, None] * of_layer(self.omega, layer)[:, None, :]
        rest = self.real_jordan.mapped(second, positions[:, 0], layer, keys=keys)
        return torch.cat([turned(first, angles), rest], -1)

    def forward(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, layer: int = 0
    ) -> Tensor:
        """Scores (batch, heads, queries, keys) without the ``1/sqrt(head_dim)``."""
        return dot(
            self._mapped(q, q_positions, layer, keys=False),
            self._mapped(k, k_positions, layer, keys=True),
        )
