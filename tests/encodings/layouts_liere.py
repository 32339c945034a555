"""Checkpoints laid out as the public code of LieRE lays them out.

Name, shape, dtype and initial values follow StanfordMIMI/LieRE ``models/rope_vit.py``,
``models/vit.py`` and its Lightning module; no published weights are in here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

State = dict[str, Any]
KEY = "model.position_encoder.generator_raw_params"


def initial(
    g: int,
    *,
    axes: int = 2,
    layers: int = 12,
    heads: int = 12,
    head_dim: int = 64,
    per_head: bool = True,
    seed: int = 0,
) -> np.ndarray:
    """(axes, layers, blocks, g, g), every entry uniform in [0, 2 pi)."""
    count = (head_dim // g) * (heads if per_head else 1)
    values = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, (axes, layers, count, g, g))
    return values.astype(np.float32)


def trained(raw: np.ndarray, layers: tuple[int, ...] = (0,), seed: int = 1) -> np.ndarray:
    """``raw`` after a training that reached ``layers``: entries above the diagonal moved."""
    g = raw.shape[-1]
    upper = np.triu(np.ones((g, g), dtype=bool), 1)
    moved = raw.copy()
    for layer in layers:
        own = moved[:, layer]
        own[..., upper] *= np.float32(0.3)
        own[..., upper] -= np.random.default_rng(seed + layer).uniform(0, 1, own[..., upper].shape)
    return moved.astype(np.float32)


def checkpoint(raw: np.ndarray) -> State:
    return {KEY: raw, "model.transformer.layers.0.0.to_qkv.weight": np.zeros((2, 2), np.float32)}


def fixtures() -> Iterator[tuple[str, State, State | None, str | None]]:
    """(file, tensors, config, container) of each file in ``fixtures/encodings``."""
    small = {"layers": 3, "heads": 2}
    yield (
        "liere_8_public.ckpt", checkpoint(trained(initial(8, **small))), None, "state_dict"
    )  # fmt: skip
    own = trained(initial(8, **small), (0, 1, 2))
    yield "liere_8_own_layers.safetensors", checkpoint(own), None, None
    yield "liere_2.ckpt", checkpoint(initial(2, layers=2, heads=2)), None, "state_dict"
    shared = initial(16, axes=3, layers=1, heads=2, per_head=False)
    yield "liere_16_video_shared.safetensors", checkpoint(shared), None, None
