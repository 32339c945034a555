"""RoPE-Mixed as a torch module: see :mod:`ropeaudit.encodings.rope_mixed`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.torch._planes import dot, of_layer, turned


class Module(nn.Module):
    """``freqs`` (2, layers, heads, head_dim/2), called ``rope_freqs`` in Swin: a parameter, or a
    buffer where ``trainable`` is False.

    Angles are computed in its dtype (public code: float32), whatever q and k are.
    """

    def __init__(
        self, encoding: Encoding, *, dtype: torch.dtype = torch.float64, trainable: bool = True
    ) -> None:
        super().__init__()
        self.leaf = str(encoding.settings.get("parameter", "freqs"))
        values = torch.tensor(encoding.parameters["freqs"], dtype=dtype)
        if trainable:
            self.register_parameter(self.leaf, nn.Parameter(values))
        else:
            self.register_buffer(self.leaf, values)

    def angles(self, positions: Tensor, layer: int = 0) -> Tensor:
        """(heads, count, units) of ``positions`` (count, 2), in radians."""
        stored: Tensor = getattr(self, self.leaf)
        freqs = of_layer(stored.transpose(0, 1), layer)
        return torch.einsum("pa,ahu->hpu", positions.to(freqs.dtype), freqs)

    def forward(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, layer: int = 0
    ) -> Tensor:
        """Scores (batch, heads, queries, keys) without the ``1/sqrt(head_dim)``."""
        return dot(
            turned(q, self.angles(q_positions, layer)), turned(k, self.angles(k_positions, layer))
        )
