"""A small attention with an encoding in the place of its rotary embedding, in torch and in numpy.

Channels are laid out head after head, scores are divided by ``sqrt(head_dim)`` and masked to what
is not later in the sequence: what a decoder does, with nothing left out that could go wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.score import module, score


class Attention(nn.Module):
    """``x`` (batch, count, width) to the same shape."""

    def __init__(self, encoding: Encoding, layer: int = 0, **options: Any) -> None:
        super().__init__()
        self.heads, self.head_dim = encoding.heads, encoding.head_dim
        self.layer = layer
        width = self.heads * self.head_dim
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.encoding = module(encoding, **options)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        batch, count, width = x.shape
        parts = self.qkv(x).reshape(batch, count, 3, self.heads, self.head_dim)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        scores = self.encoding(q, k, positions, positions, layer=self.layer)
        scores = scores / self.head_dim**0.5
        later = torch.ones(count, count, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(later, -torch.inf).softmax(-1).to(v.dtype)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, count, width)
        return self.out(mixed)


def by_numpy(
    encoding: Encoding, inside: Attention, x: np.ndarray, positions: np.ndarray
) -> np.ndarray:
    """What ``inside`` has to give, in float64, from its own weights and the numpy score."""
    batch, count, width = x.shape
    heads, n = encoding.heads, encoding.head_dim
    qkv, out = (w.weight.detach().double().numpy() for w in (inside.qkv, inside.out))
    parts = (x @ qkv.T).reshape(batch, count, 3, heads, n)
    q, k, v = np.moveaxis(parts, (2, 3), (0, 2))
    scores = score(encoding, q, k, positions, positions, layer=inside.layer) / np.sqrt(n)
    scores = np.where(np.triu(np.ones((count, count)), 1) > 0, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    mixed = np.moveaxis(weights @ v, 1, 2).reshape(batch, count, width)
    found: np.ndarray = mixed @ out.T
    return found
