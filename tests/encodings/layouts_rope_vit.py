"""Checkpoints laid out as the vision transformers of rope-vit and timm lay them out.

Names, shapes, dtypes and initial values follow naver-ai/rope-vit ``models/vit_rope.py``,
``models/swin_transformer_rope.py``, ``self-attn/rope_self_attn.py`` and timm's
``RotaryEmbeddingMixed``; no published weights are in here. One direction per layer and head is
drawn from a seed, the rest is formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np

State = dict[str, Any]


def drawn(head_dim: int, directions: np.ndarray, theta: float = 10.0) -> np.ndarray:
    """Initial vectors (2, *directions.shape, head_dim/2) in float32, one direction a head."""
    mag = theta ** (-np.arange(0, head_dim, 4, dtype=np.float32)[: head_dim // 4] / head_dim)
    phi = directions.astype(np.float32)[..., None]
    quarter = np.float32(np.pi / 2)
    x = np.concatenate([mag * np.cos(phi), mag * np.cos(quarter + phi)], -1)
    y = np.concatenate([mag * np.sin(phi), mag * np.sin(quarter + phi)], -1)
    return np.stack([x, y]).astype(np.float32)


def directions(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, shape)


def deit(depth: int = 12, heads: int = 6, grid: int = 14, seed: int = 0) -> State:
    """``freqs`` (2, depth, heads * 32) and the position buffers that loading ignores."""
    freqs = drawn(64, directions(depth, heads, seed=seed)).reshape(2, depth, heads * 32)
    columns, rows = np.meshgrid(np.arange(grid), np.arange(grid))
    return {
        "freqs": freqs,
        "freqs_t_x": columns.ravel().astype(np.float32),
        "freqs_t_y": rows.ravel().astype(np.float32),
        "cls_token": np.zeros((1, 1, heads * 64), np.float32),
        "blocks.0.attn.qkv.weight": np.zeros((3, 2), np.float32),
    }


def swin(
    heads: tuple[int, ...] = (3, 6), depth: int = 2, *, axial: bool = False, seed: int = 0
) -> State:
    """``layers.i.blocks.j.attn.rope_freqs`` (2, heads, 16) with its window positions.

    Axial: the same code with every direction 0 and base 50, saved as a buffer.
    """
    state: State = {}
    for i, count in enumerate(heads):
        for j in range(depth):
            phi = np.zeros(count) if axial else directions(count, seed=seed + 10 * i + j)
            at = f"layers.{i}.blocks.{j}.attn."
            state[f"{at}rope_freqs"] = drawn(32, phi, 50.0 if axial else 10.0)
            state[f"{at}rope_t_x"] = np.tile(np.arange(7, dtype=np.float32), 7)
            state[f"{at}rope_t_y"] = np.repeat(np.arange(7, dtype=np.float32), 7)
    return state


def self_attention(depth: int = 2, heads: int = 4, seed: int = 0) -> State:
    """``freqs`` (2, heads * 32) in each attention."""
    return {
        f"blocks.{i}.attn.freqs": drawn(64, directions(heads, seed=seed + i)).reshape(2, -1)
        for i in range(depth)
    }


def timm(depth: int = 12, heads: int = 6, seed: int = 0) -> State:
    """``rope.freqs`` (2, depth, heads, 32)."""
    return {"rope.freqs": drawn(64, directions(depth, heads, seed=seed))}


def timm_config(name: str = "vit_small_patch16_rope_mixed_224", pixels: int = 224) -> State:
    """The fields of a timm ``config.json`` that say which model it is."""
    return {
        "architecture": name,
        "num_classes": 1000,
        "pretrained_cfg": {"tag": "naver_in1k", "input_size": [3, pixels, pixels]},
    }
