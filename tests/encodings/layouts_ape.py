"""Checkpoints laid out as the public code of Algebraic Positional Encodings lays them out.

Names, shapes, dtypes and initial values follow konstantinosKokos/ape ``ape/nn/position`` (the
modules Sequential, Branching, Grid, Rotary); no published weights are in here. Values are drawn
from a seed, and :func:`fitted` runs the fit that the public initialisation runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

State = dict[str, Any]
KEY = "positional_encoder._primitives"
STEPS = 10_000


def drawn(count: int, n: int, seed: int = 0) -> np.ndarray:
    """``count`` full matrices of values in [0, 1), as the code starts without initialisation."""
    return np.random.default_rng(seed).uniform(0.0, 1.0, (count, n, n)).astype(np.float32)


def angles(planes: int) -> np.ndarray:
    """The angles of the public initialisation, each twice: 10000^(-2 floor(j/2) / planes)."""
    return 10000.0 ** (-2.0 * (np.arange(planes) // 2) / planes)


def target(n: int) -> np.ndarray:
    """The generator that the initialisation aims at, +sin in the upper right as in its code."""
    b = np.zeros((n, n))
    even = np.arange(0, n, 2)
    b[even, even + 1], b[even + 1, even] = angles(n // 2), -angles(n // 2)
    return b


def exact(count: int, n: int, seed: int = 0) -> np.ndarray:
    """What a perfect fit would leave: the target as skew part, a drawn symmetric part."""
    x = drawn(count, n, seed).astype(np.float64)
    symmetric = (x + np.swapaxes(x, -1, -2)) / 2.0
    return (symmetric + target(n) / 2.0).astype(np.float32)


def fitted(count: int, n: int, seed: int = 0, steps: int = STEPS) -> np.ndarray:
    """The public fit: AdamW, learning rate 1e-3, on the squared error of ``X - X^T``."""
    import torch

    x = torch.from_numpy(drawn(count, n, seed)).requires_grad_()
    aim = torch.from_numpy(target(n)).float()
    optimiser = torch.optim.AdamW([x], lr=1e-3)
    for _ in range(steps):
        optimiser.zero_grad()
        (aim - (x - x.mT)).square().sum().backward()
        optimiser.step()
    return x.detach().numpy()


def sequential(a: np.ndarray) -> State:
    return {KEY: a, "encoder.layers.0.attention.q.weight": np.zeros((2, 2), np.float32)}


def branching(heads: int = 2, n: int = 16, branches: int = 2, seed: int = 0) -> State:
    """(branches * heads + 1, n, n) and the frozen start symbol's identity."""
    return {
        KEY: drawn(branches * heads + 1, n, seed),
        "positional_encoder.identity": np.eye(n, dtype=np.float32)[None, None],
    }


def grid(heads: int = 2, n: int = 8, axes: int = 2, seed: int = 0) -> State:
    """(axes * heads, n, n), index axis * heads + head; a head has axes * n channels."""
    return {KEY: drawn(axes * heads, n, seed)}


def rotary(planes: int = 8) -> State:
    thetas = 10000.0 ** (-np.arange(planes) / planes)
    return {"positional_encoder.thetas": thetas.astype(np.float32)}


def fixtures() -> Iterator[tuple[str, State, State | None, str | None]]:
    """(file, tensors, config, container) of each file in ``fixtures/encodings``."""
    yield "ape_sequence_fitted.safetensors", sequential(fitted(2, 32)), None, None
    yield "ape_sequence_drawn.chk", sequential(drawn(2, 16)), None, None
    yield "ape_tree.safetensors", branching(), None, None
    yield "ape_tree.pt", branching(), None, None
    yield "ape_grid.safetensors", grid(), None, None
    yield "ape_rotary.pt", rotary(), None, None
