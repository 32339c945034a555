"""Algebraic Positional Encodings as a torch module: see :mod:`ropeaudit.encodings.ape`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ropeaudit.encodings._paths import PAD, distance, public_distance
from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.torch._planes import dot, turned
from ropeaudit.encodings.torch._skew import at_positions, at_steps, is_whole, moved, skewed


class Module(nn.Module):
    """``_primitives`` (matrices, n, n), or ``thetas`` (planes,), as the checkpoint holds them.

    Positions are (count, axes) steps; for trees paths (count, depth) padded with -1. ``decayed``
    multiplies scores by ``c^distance``, the constant of the public code; ``public_steps`` counts
    tree distances as that code does. Matrices that are stored as operators are used as they are,
    and training does not keep those orthogonal.
    """

    _primitives: Tensor
    thetas: Tensor

    def __init__(
        self,
        encoding: Encoding,
        *,
        dtype: torch.dtype = torch.float64,
        trainable: bool = True,
        decayed: bool = False,
        public_steps: bool = False,
    ) -> None:
        super().__init__()
        self.kind = encoding.kind
        self.heads, self.axes = encoding.heads, len(encoding.axes)
        self.settings = dict(encoding.settings)
        self.decayed, self.public_steps = decayed, public_steps
        for name, values in encoding.parameters.items():
            stored = torch.tensor(values, dtype=dtype)
            self.register_parameter(name, nn.Parameter(stored, requires_grad=trainable))

    def generators(self, at: Tensor) -> Tensor:
        """B of the stored matrices ``at`` (any shape of indices)."""
        tril = self.settings["ape-skew"] == "tril"
        return skewed(self._primitives[at], triangle=-1 if tril else 0)

    def maps(self, positions: Tensor) -> Tensor:
        """(count, heads or 1, n, n): what queries and keys at ``positions`` are multiplied by."""
        if self.kind == "ape-tree":
            return self._of_paths(positions)
        at = torch.arange(self.axes * self.heads).reshape(self.axes, self.heads)
        parts = [self._of_axis(at[a], positions[:, a]) for a in range(self.axes)]
        if len(parts) == 1:
            return parts[0]
        n = parts[0].shape[-1]
        whole = parts[0].new_zeros(*parts[0].shape[:2], self.axes * n, self.axes * n)
        for a, part in enumerate(parts):
            whole[..., a * n : (a + 1) * n, a * n : (a + 1) * n] = part
        return whole

    def _of_axis(self, at: Tensor, positions: Tensor) -> Tensor:
        if self.settings["ape-stores"] == "operator":
            if not is_whole(positions):
                raise ValueError("stored operators are known at whole positions alone")
            return at_steps(self._primitives[at], positions)
        return at_positions(self.generators(at), positions)

    def _steps(self) -> Tensor:
        """Maps of one step to each branch: (branches, heads or 1, n, n)."""
        shared = self.settings["ape-tree-layout"] == "head-shared"
        at = torch.arange(self.axes * (1 if shared else self.heads)).reshape(self.axes, -1)
        if self.settings["ape-stores"] == "operator":
            found = self._primitives[at]
        else:
            found = torch.linalg.matrix_exp(self.generators(at))
        return found.mT if shared else found

    def _of_paths(self, paths: Tensor) -> Tensor:
        steps = self._steps()
        eye = torch.eye(steps.shape[-1], dtype=steps.dtype, device=steps.device)
        every = torch.cat([steps, eye.expand(1, *steps.shape[1:])])
        if self.settings["ape-tree-layout"] == "head-shared":
            found = every[-1:]
        else:  # the start symbol stands in front of every path
            last = torch.tensor([[len(self._primitives) - 1]])
            operator = self.settings["ape-stores"] == "operator"
            start = self._primitives[last] if operator else self.generators(last).matrix_exp()
            found = start.expand(1, *steps.shape[1:])
        found = found.expand(len(paths), *steps.shape[1:])
        for taken in paths.long().T:
            found = found @ every[torch.where(taken == PAD, len(steps), taken)]
        return found

    def decay(self, queries: Tensor, keys: Tensor) -> Tensor:
        """``c^distance`` of each pair of positions, (queries, keys)."""
        if self.kind == "ape-tree":
            count = public_distance if self.public_steps else distance
            found = count(queries.long().cpu().numpy(), keys.long().cpu().numpy())
            steps = torch.as_tensor(found, dtype=torch.float64, device=queries.device)
        else:
            apart = (queries[:, None, :] - keys[None, :, :]).double()
            steps = torch.linalg.vector_norm(apart, dim=-1)
            steps = steps.floor() if self.kind == "ape-grid" else steps
        return torch.pow(float(self.settings["decay"]), steps)

    def forward(
        self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor, layer: int = 0
    ) -> Tensor:
        """Scores (batch, heads, queries, keys) without the ``1/sqrt(head_dim)``.

        One set serves all layers, so ``layer`` plays no part.
        """
        if self.kind == "ape-rotary":
            at = [p[:, :1].to(self.thetas.dtype) * self.thetas for p in (q_positions, k_positions)]
            scores = dot(turned(q, at[0]), turned(k, at[1]))
        else:
            scores = dot(moved(q, self.maps(q_positions)), moved(k, self.maps(k_positions)))
        if self.decayed:
            scores = scores * self.decay(q_positions, k_positions).to(scores.dtype)
        return scores
