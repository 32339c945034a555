"""LieRE as a torch module: see :mod:`ropeaudit.encodings.liere`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.torch._planes import dot
from ropeaudit.encodings.torch._skew import skewed


class Module(nn.Module):
    """``generator_raw_params`` (axes, layers or 1, blocks, g, g), as the checkpoint holds it.

    ``layer`` picks the layer's generators, layer 0 where the encoding is read as in public code,
    which uses those everywhere. Exponentials are taken in the dtype of the parameter.
    """

    generator_raw_params: Tensor

    def __init__(
        self, encoding: Encoding, *, dtype: torch.dtype = torch.float64, trainable: bool = True
    ) -> None:
        super().__init__()
        self.first = encoding.settings["layers_used"] == "first"
        self.count = int(encoding.settings["blocks_per_head"])
        stored = torch.tensor(encoding.parameters["generator_raw_params"], dtype=dtype)
        self.generator_raw_params = nn.Parameter(stored, requires_grad=trainable)

    def blocks(self, positions: Tensor, layer: int = 0) -> Tensor:
        """Rotations (count, sets, blocks of a head, g, g) at ``positions`` (count, axes)."""
        stored = self.generator_raw_params
        at = 0 if self.first else min(layer, stored.shape[1] - 1)
        b = skewed(stored[:, at], triangle=1)
        turns = torch.tensordot(positions.to(b.dtype), b, dims=1)
        found: Tensor = torch.linalg.matrix_exp(turns)
        return found.reshape(len(found), -1, self.count, *found.shape[-2:])

    def rotated(self, x: Tensor, positions: Tensor, layer: int = 0) -> Tensor:
        """``x`` (batch, heads, count, head_dim), channels beyond the last block unchanged."""
        maps = self.blocks(positions, layer).to(x.dtype)
        maps = maps.expand(-1, x.shape[1], -1, -1, -1)
        count, g = maps.shape[2:4]
        width = count * g
        parts = x[..., :width].reshape(*x.shape[:-1], count, g)
        turned = torch.einsum("phcij,bhpcj->bhpci", maps, parts).flatten(-2)
        return torch.cat([turned, x[..., width:]], dim=-1)

    def forward(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, layer: int = 0
    ) -> Tensor:
        """Scores (batch, heads, queries, keys) without the ``1/sqrt(head_dim)``."""
        return dot(self.rotated(q, q_positions, layer), self.rotated(k, k_positions, layer))
