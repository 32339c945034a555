"""Small checkpoints with a known property, in the layouts of public code."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.encodings import layouts_ape, layouts_jordan, layouts_liere, layouts_rope_vit

Array = Any
Tensors = dict[str, Array]

APE = layouts_ape.KEY
LIERE = layouts_liere.KEY


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def skew(angles: Array, seed: int) -> Array:
    """A generator with the given frequencies in a random basis."""
    n = 2 * len(angles)
    b = np.zeros((n, n))
    for k, angle in enumerate(angles):
        b[2 * k, 2 * k + 1], b[2 * k + 1, 2 * k] = -angle, angle
    q, _ = np.linalg.qr(rng(seed).standard_normal((n, n)))
    return q @ b @ q.T


def stored(generators: list[Array]) -> Array:
    """What ape/nn/position/algebraic.py keeps: any A with A - A^T = B, here with a random
    symmetric part as its initialisation leaves it; float32."""
    found = []
    for seed, b in enumerate(generators):
        noise = rng(100 + seed).uniform(0, 1, b.shape)
        found.append((b - b.T) / 4 + (noise + noise.T) / 2)
    return np.stack(found).astype(np.float32)


def ape(*angles: Array) -> Tensors:
    """APE sequence: (heads, n, n)."""
    return {APE: stored([skew(a, k) for k, a in enumerate(angles)])}


def ape_init(planes: int) -> Array:
    """Angles of the public initialisation, whose fit splits twins by about 1e-5."""
    angles = layouts_ape.angles(planes)
    return angles + 1e-5 * angles * np.arange(planes)


def tree(*branches: Array) -> Tensors:
    """APE tree of the current code: branches * heads + 1 matrices of which it reads the first."""
    rest = [rng(7 + k).uniform(0, 1, branches[0].shape) for k in range(len(branches) + 1)]
    return {
        APE: np.concatenate([stored(list(branches)), np.stack(rest).astype(np.float32)]),
        "positional_encoder.identity": np.eye(len(branches[0]), dtype=np.float32)[None, None],
    }


def liere(block: int, *, layers: int = 1, axes: int = 2, scale: float = 1.0) -> Array:
    """One head as the initialisation leaves it, times ``scale``."""
    drawn = layouts_liere.initial(block, axes=axes, layers=layers, heads=1)
    return (scale * drawn).astype(np.float32)


def degenerate_axis() -> Array:
    """Blocks of 4 where axis 0 turns both planes alike and axis 1 mixes them."""
    found = liere(4)
    upper = np.zeros((4, 4))
    upper[0, 1] = upper[2, 3] = 1.5
    found[0, 0, 0] = upper
    return found


def mixed(vectors: Array | None = None) -> Tensors:
    """DeiT's ``freqs``, one layer of two heads; ``vectors`` (planes, 2) replace the first planes of
    the first head."""
    freqs = layouts_rope_vit.drawn(64, layouts_rope_vit.directions(1, 2)).reshape(2, 1, 64)
    for k, vector in enumerate(() if vectors is None else vectors):
        freqs[:, 0, k] = vector
    return {"freqs": freqs}


def jordan(method: str, gamma: float, eta: float) -> tuple[Tensors, Any]:
    """A checkpoint with 2 layers and 2 heads of 8 channels, trained to about ``gamma``, ``eta``."""
    config = layouts_jordan.config(method, width=16, train_context=256)
    centre = {
        "raw_gamma": layouts_jordan.raw_gamma(gamma, config["gamma_min"]),
        "raw_eta": layouts_jordan.raw_bounded(eta, config["eta_max"]),
    }
    if method == "damped_rope":
        del centre["raw_eta"]
    tensors = {}
    for layer in range(2):
        for leaf, value in centre.items():
            spread = 0.05 * rng(layer).standard_normal((2, 2)) * (value != 0)
            tensors[f"blocks.{layer}.attn.positioner.{leaf}"] = (value + spread).astype(np.float32)
    return tensors, config


def mixed_all(vectors: Array) -> Tensors:
    """One head, every plane as given."""
    return {"freqs": np.asarray(vectors).T[:, None].astype(np.float32)}
