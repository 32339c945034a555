"""Exponentials of skew generators, shared by the modules of this package."""

from __future__ import annotations

import torch
from torch import Tensor


def skewed(a: Tensor, *, triangle: int = 0) -> Tensor:
    """``A - A^T``; with ``triangle`` 1 or -1 of the strict upper or lower triangle of A alone."""
    used = a.triu(1) if triangle > 0 else a.tril(-1) if triangle < 0 else a
    return used - used.mT


def powers(w: Tensor, count: int) -> Tensor:
    """``W^0 .. W^(count-1)`` of (..., n, n) by repeated doubling: (count, ..., n, n)."""
    eye = torch.eye(w.shape[-1], dtype=w.dtype, device=w.device).expand(w.shape)
    table, step = eye[None], w
    while len(table) < count:
        table = torch.cat([table, step @ table])
        step = step @ step
    return table[:count]


def is_whole(positions: Tensor) -> bool:
    """Whether all positions are whole numbers."""
    return not positions.is_floating_point() or torch.equal(positions.round(), positions)


def at_steps(w: Tensor, positions: Tensor) -> Tensor:
    """``W^p`` of orthogonal (..., n, n) at whole ``positions`` (count,): (count, ..., n, n)."""
    steps = positions.long()
    count = int(steps.abs().max()) + 1 if len(steps) else 1
    found = powers(w, count)[steps.abs()]
    return torch.where((steps < 0).reshape(-1, *(1,) * w.dim()), found.mT, found)


def at_positions(b: Tensor, positions: Tensor) -> Tensor:
    """``exp(p B)`` of generators (..., n, n) at ``positions`` (count,): (count, ..., n, n).

    Whole numbers take powers of one exponential, as public code does; others one exponential each.
    """
    if is_whole(positions):
        return at_steps(torch.linalg.matrix_exp(b), positions)
    turns = positions.to(b.dtype).reshape(-1, *(1,) * b.dim()) * b
    found: Tensor = torch.linalg.matrix_exp(turns)
    return found


def moved(x: Tensor, maps: Tensor) -> Tensor:
    """``x`` (batch, heads, count, n) with ``maps`` (count, heads or 1, n, n) applied to columns."""
    return torch.einsum("phij,bhpj->bhpi", maps.to(x.dtype).expand(-1, x.shape[1], -1, -1), x)
