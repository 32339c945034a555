"""The torch module of every kind of encoding drops into attention, forwards and backwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.score import module, score
from tests.encodings.attention import Attention, by_numpy
from tests.encodings.every_kind import CASES, subject

BATCH, COUNT = 2, 6
BUFFERS = {"rope-axial", "rope-axial-swin", "alibi", "rope-alibi"}
"""Encodings with nothing to train."""


def first(name: str, folder: Path) -> Encoding:
    return subject(name, folder).encodings[0]


def places(encoding: Encoding, count: int = COUNT) -> np.ndarray:
    """Positions as the model has them: steps, patches of a small grid, or paths in a tree."""
    axes = len(encoding.axes)
    if encoding.kind.endswith("-tree"):
        paths = [[], [0], [1], [0, 0], [0, 1], [1, 0], [1, 1], [0, 0, 1]]
        return np.array([p + [-1] * (3 - len(p)) for p in paths[:count]], dtype=float)
    if axes == 1:
        return np.arange(float(count))[:, None]
    side = int(np.ceil(count ** (1 / axes)))
    grid = np.stack(np.meshgrid(*[np.arange(float(side))] * axes, indexing="ij"), -1)
    return grid.reshape(-1, axes)[:count] * np.array(encoding.positions.step)


def inputs(encoding: Encoding, seed: int = 3) -> np.ndarray:
    width = encoding.heads * encoding.head_dim
    return np.random.default_rng(seed).standard_normal((BATCH, COUNT, width))


@pytest.mark.parametrize("name", CASES)
def test_attention_runs_in_float32_and_learns(name: str, tmp_path: Path) -> None:
    encoding = first(name, tmp_path)
    layers = len(encoding.layers or (0,))
    torch.manual_seed(0)
    x, at = inputs(encoding), places(encoding)
    for layer in range(min(layers, 2)):
        inside = Attention(encoding, layer, dtype=torch.float32)
        found = inside(torch.tensor(x, dtype=torch.float32), torch.tensor(at))
        assert found.dtype == torch.float32
        expected = by_numpy(encoding, inside, x, at)
        assert found.detach().numpy() == pytest.approx(expected, abs=3e-5)
        found.square().sum().backward()
        assert inside.qkv.weight.grad is not None
        assert float(inside.qkv.weight.grad.abs().min(1).values.max()) > 0
        own = list(inside.encoding.parameters())
        assert bool(own) == (name not in BUFFERS)
        for parameter in own:
            assert parameter.grad is not None
            assert bool(torch.isfinite(parameter.grad).all())
        assert not own or any(float(p.grad.abs().max()) > 0 for p in own)


@pytest.mark.parametrize("name", CASES)
def test_no_token_sees_a_later_one_nor_another_sequence(name: str, tmp_path: Path) -> None:
    encoding = first(name, tmp_path)
    torch.manual_seed(0)
    inside = Attention(encoding, dtype=torch.float64).double()
    x, at = torch.tensor(inputs(encoding)), torch.tensor(places(encoding))
    with torch.no_grad():
        before = inside(x, at)
        x[0, 4] += 1.0
        after = inside(x, at)
    assert torch.equal(before[1], after[1])
    assert torch.allclose(before[0, :4], after[0, :4], rtol=0, atol=1e-12)
    assert float((before[0, 4:] - after[0, 4:]).abs().amax(-1).min()) > 1e-6


@pytest.mark.parametrize("name", CASES)
def test_bfloat16_vectors_keep_their_angles_in_float32(name: str, tmp_path: Path) -> None:
    """Far positions, which bfloat16 has no numbers for: only what it rounds of q and k is lost."""
    encoding = first(name, tmp_path)
    inside = module(encoding, dtype=torch.float32)
    at = places(encoding, 4)
    if encoding.positions.integer and not encoding.kind.endswith("-tree"):
        # Shear grows with the position and cancels in the score: blocks are looked at less far.
        at = at + (257.0 if encoding.module in ("jordan", "direct_sum") else 1001.0)
    shape = (BATCH, encoding.heads, len(at), encoding.head_dim)
    rng = np.random.default_rng(5)
    q, k = (torch.tensor(rng.standard_normal(shape)).bfloat16() for _ in range(2))
    place = torch.tensor(at)
    with torch.no_grad():
        wide = inside(q.float(), k.float(), place, place)
        narrow = inside(q, k, place, place)
    exact = score(encoding, q.double().numpy(), k.double().numpy(), at, at)
    size = np.abs(exact).max()
    # A float32 angle at 1000 is off by 2^-14, and every product of two bfloat16 by 2^-8.
    assert np.abs(wide.double().numpy() - exact).max() <= 2e-3 * size
    assert np.abs(narrow.double().numpy() - exact).max() <= 2e-2 * size
    assert narrow.dtype in (torch.bfloat16, torch.float32)
    for held in (*inside.parameters(), *inside.buffers()):
        assert held.dtype == torch.float32


def test_layers_and_heads_have_their_own_frequencies(tmp_path: Path) -> None:
    encoding = first("rope-mixed", tmp_path)
    assert encoding.layers == (0, 1)
    at = places(encoding)
    q = torch.tensor(inputs(encoding)).reshape(BATCH, encoding.heads, COUNT, encoding.head_dim)
    q[:, 1:] = q[:, :1]
    inside = module(encoding)
    place = torch.tensor(at)
    with torch.no_grad():
        scores = [inside(q, q, place, place, layer=i) for i in (0, 1)]
    assert float((scores[0] - scores[1]).abs().max()) > 0.1
    assert float((scores[0][:, 0] - scores[0][:, 1]).abs().max()) > 0.1
    table = np.array(encoding.parameters["freqs"])
    for layer in (0, 1):
        for head in range(encoding.heads):
            # the definition: pairs as complex numbers, turned by exp(i (w_x x + w_y y))
            z = q[0, head].numpy().reshape(COUNT, -1, 2) @ np.array([1.0, 1.0j])
            turned = z * np.exp(1j * (at @ table[:, layer, head]))
            expected = (turned @ turned.conj().T).real
            assert scores[layer][0, head].numpy() == pytest.approx(expected, abs=1e-9)
