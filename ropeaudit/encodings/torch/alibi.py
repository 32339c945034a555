"""ALiBi as a torch module: see :mod:`ropeaudit.encodings.alibi`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ropeaudit.encodings import _alibi
from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.torch._alibi import bias
from ropeaudit.encodings.torch._planes import dot


class Module(nn.Module):
    """``slopes`` (layers, heads) of the logits: a buffer, or a parameter where ``trainable``."""

    slopes: Tensor

    def __init__(
        self, encoding: Encoding, *, dtype: torch.dtype = torch.float64, trainable: bool = False
    ) -> None:
        super().__init__()
        self.scale = _alibi.softmax_scale(encoding)
        values = torch.tensor(_alibi.of(encoding), dtype=dtype)
        if trainable:
            self.register_parameter("slopes", nn.Parameter(values))
        else:
            self.register_buffer("slopes", values)

    def forward(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, layer: int = 0
    ) -> Tensor:
        """Scores (batch, heads, queries, keys) without the ``1/sqrt(head_dim)``, which the bias
        makes up for."""
        return dot(q, k) + bias(self.slopes, self.scale, q_positions, k_positions, layer)
