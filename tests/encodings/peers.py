"""What every encoding has to satisfy, checked the same way for each of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.interface import of


def positions(axes: int, *rows: tuple[float, ...]) -> np.ndarray:
    return np.array(rows, dtype=float).reshape(-1, axes)


def score(
    encoding: Encoding, q: np.ndarray, k: np.ndarray, at: np.ndarray, to: np.ndarray
) -> np.ndarray:
    """Scores (layers, heads, queries, keys) of q and k (layers, heads, count, n), by operators."""
    module = of(encoding)
    queries, _ = module.operators(encoding, at)
    _, keys = module.operators(encoding, to)
    turned_q = np.einsum("ilhab,lhib->lhia", queries, q)
    turned_k = np.einsum("ilhab,lhib->lhia", keys, k)
    found: np.ndarray = turned_q @ np.swapaxes(turned_k, -1, -2)
    extra = module.bias(encoding, at, to)
    return found if extra is None else found + extra


def drawn(encoding: Encoding, count: int, layers: int, seed: int = 0) -> np.ndarray:
    shape = (layers, encoding.heads, count, encoding.head_dim)
    return np.random.default_rng(seed).standard_normal(shape)


def assert_torch_agrees(
    encoding: Encoding, at: np.ndarray, *, layers: int = 1, tolerance: float = 1e-12
) -> Any:
    """The torch module gives the scores of the numpy operators in every layer, with gradients."""
    import torch

    module = import_module(f"ropeaudit.encodings.torch.{encoding.module}").Module(encoding)
    q, k = drawn(encoding, len(at), layers, 1), drawn(encoding, len(at), layers, 2)
    expected = score(encoding, q, k, at, at)
    place = torch.tensor(at)
    for layer in range(layers):
        found = module(
            torch.tensor(q[layer][None]), torch.tensor(k[layer][None]), place, place, layer=layer
        )
        size = np.abs(expected[layer]).max()
        assert np.abs(found[0].detach().numpy() - expected[layer]).max() <= tolerance * size
        for parameter in module.parameters():
            parameter.grad = None
        if found.requires_grad:
            found.square().sum().backward()
    return module
