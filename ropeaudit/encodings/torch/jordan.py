"""Jordan-RoPE as a torch module: see :mod:`ropeaudit.encodings.jordan`."""

from __future__ import annotations

import torch
from torch import Tensor

from ropeaudit.encodings import _alibi
from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.jordan import numbers
from ropeaudit.encodings.torch._alibi import bias
from ropeaudit.encodings.torch._jordan import Blocks
from ropeaudit.encodings.torch._planes import dot


class Module(Blocks):
    """Raw parameters under the checkpoint's leaves, trainable; the maps are the position-wise ones
    of public code. Methods that end in ``_alibi`` add their bias."""

    slopes: Tensor

    def __init__(self, encoding: Encoding, *, dtype: torch.dtype = torch.float64) -> None:
        super().__init__(encoding, numbers(encoding), dtype=dtype)
        self.biased = bool(encoding.settings["alibi"])
        self.scale = _alibi.softmax_scale(encoding)
        if self.biased:
            self.register_buffer("slopes", torch.tensor(_alibi.of(encoding), dtype=dtype))

    def forward(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, layer: int = 0
    ) -> Tensor:
        """Scores (batch, heads, queries, keys) without the ``1/sqrt(head_dim)``."""
        queries = self.mapped(q, q_positions[:, 0], layer, keys=False)
        scores = dot(queries, self.mapped(k, k_positions[:, 0], layer, keys=True))
        if not self.biased:
            return scores
        return scores + bias(self.slopes, self.scale, q_positions, k_positions, layer)
