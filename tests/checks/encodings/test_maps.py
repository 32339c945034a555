"""The quick exponential and lattice of relativity, against the encoding's own maps in float64."""

from __future__ import annotations

import numpy as np
import pytest

from ropeaudit.checks.encodings._maps import _exponential, _lattice, relativity
from ropeaudit.encodings import liere
from tests.checks.encodings import by_hand as make
from tests.encodings import layouts_liere


@pytest.mark.parametrize("scale", [0.0, 1e-6, 0.3, 5.0, 60.0])
def test_the_exponential_agrees_with_eigenvectors(scale: float) -> None:
    b = np.stack([scale * make.generator([1.0, 0.3, 0.01], k) for k in range(3)])
    values, vectors = np.linalg.eigh(1j * b)
    exact = (vectors * np.exp(-1j * values)[:, None]) @ vectors.conj().swapaxes(-1, -2)
    assert _exponential(b) == pytest.approx(exact.real, abs=1e-9 * max(1.0, scale))
    narrow = _exponential(b.astype(np.float32))
    assert narrow.dtype == np.float32
    assert narrow == pytest.approx(exact.real, abs=3e-6 * max(1.0, scale))


@pytest.mark.parametrize("block", [8, 64])
def test_the_lattice_is_the_operators_at_neighbouring_patches(block: int) -> None:
    encoding = make.liere(layouts_liere.initial(block, layers=1, heads=1))
    step = np.array(encoding.positions.step)
    family = liere.generators(encoding)[:, 0] * step[:, None, None, None]
    maps = _lattice(family, 5)
    points = np.array([(x, y) for x in range(5) for y in range(5)])
    exact, _ = liere.operators(encoding, points * step)
    found = maps[0].reshape(25, 64, 64)
    assert np.abs(found - exact[:, 0, 0]).max() < 2e-4


def test_heads_do_not_mix_and_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = layouts_liere.initial(8, layers=3, heads=1)
    family = liere.generators(make.liere(raw)) / 13
    whole = relativity(family, 4)
    assert whole.shape == (3, 1)
    for layer in range(3):
        alone = relativity(family[:, layer : layer + 1], 4)
        assert alone == pytest.approx(whole[layer : layer + 1], rel=1e-5)
    monkeypatch.setattr("ropeaudit.checks.encodings._maps._CHUNK", 1)
    assert relativity(family, 4) == pytest.approx(whole, rel=1e-5)
