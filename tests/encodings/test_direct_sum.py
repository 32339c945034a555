"""The direct sum: RoPE on half of a head, real Jordan blocks on the other."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ropeaudit.encodings import direct_sum
from ropeaudit.encodings.core import Encoding
from ropeaudit.errors import InvalidValue
from ropeaudit.records import replace
from tests.encodings import layouts_jordan as layouts
from tests.encodings.make import recognised
from tests.encodings.peers import assert_torch_agrees, drawn, positions, score


def read(noise: float = 0.5, **more: int) -> Encoding:
    (found,) = recognised(*layouts.checkpoint("direct_sum", noise=noise, **more))
    return found


def test_two_sectors() -> None:
    encoding = read()
    assert (encoding.kind, encoding.head_dim) == ("direct-sum", 32)
    spectrum = direct_sum.spectrum(encoding)
    assert spectrum.sector == ("rotary",) * 8 + ("unipotent",) * 4
    assert spectrum.w.shape == (2, 2, 12, 1)
    assert spectrum.w[0, 0, :8, 0] == pytest.approx(10000.0 ** (-2 * np.arange(8) / 16))
    assert not spectrum.w[:, :, 8:].any()
    assert not spectrum.gamma[:, :, :8].any()
    assert (spectrum.gamma[:, :, 8:] > 1e-4).all()
    assert spectrum.tau == "bounded"


def test_rope_half_is_relative_and_the_sum_is_not() -> None:
    encoding = read()
    q, k = drawn(encoding, 2, 2, 1), drawn(encoding, 2, 2, 2)
    at, shift = positions(1, (90,), (4,)), 500.0
    halves = []
    for part in (slice(0, 16), slice(16, 32)):
        keep = np.zeros(32)
        keep[part] = 1.0
        here = score(encoding, q * keep, k, at, at)
        halves.append(np.abs(score(encoding, q * keep, k, at + shift, at + shift) - here).max())
    assert halves[0] < 1e-10
    assert halves[1] > 1e-2
    assert direct_sum.generators(encoding) is None
    linear = replace(encoding, settings={**encoding.settings, "tau": "linear"})
    g = direct_sum.generators(linear)
    assert g is not None
    a, b, both = direct_sum.pairwise(linear, np.array([2.0, 3.0, 5.0]))
    assert a @ b == pytest.approx(both, abs=1e-13)
    import torch

    _, keys = direct_sum.operators(linear, positions(1, (3,)))
    exponential = torch.linalg.matrix_exp(torch.tensor(3.0 * g[0])).numpy()
    assert keys[0] == pytest.approx(exponential, rel=1e-12, abs=1e-12)
    queries, keys = direct_sum.operators(linear, positions(1, (7,), (2,)))
    assert np.swapaxes(queries[0], -1, -2) @ keys[1] == pytest.approx(both, abs=1e-12)


def test_the_rotary_half_is_plain_rope() -> None:
    encoding = read()
    queries, keys = direct_sum.operators(encoding, positions(1, (1,)))
    assert np.array_equal(queries[..., :16, :16], keys[..., :16, :16])
    first = keys[0, 0, 0, :2, :2]
    assert first == pytest.approx(np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]]))


def test_torch_agrees_and_trains() -> None:
    module = assert_torch_agrees(read(), positions(1, (0,), (3,), (90,)), layers=2)
    names = ["real_jordan.raw_gamma", "real_jordan.raw_eta"]
    assert [n for n, _ in module.named_parameters()] == names
    assert all(p.grad.abs()[1].max() > 0.0 for p in module.parameters())


def test_rebuilt() -> None:
    encoding = read()
    spectrum = direct_sum.spectrum(encoding)
    assert direct_sum.rebuilt(encoding, spectrum).parameters.keys() == encoding.parameters.keys()
    new = replace(spectrum, w=spectrum.w * 1.5, gamma=spectrum.gamma * 0.5, eta=spectrum.eta * 3.0)
    again = direct_sum.rebuilt(encoding, new)
    found = direct_sum.spectrum(again)
    for name in ("w", "gamma", "eta"):
        assert np.array_equal(getattr(found, name), getattr(new, name))
    assert_torch_agrees(again, positions(1, (0,), (9,)), layers=2)
    with pytest.raises(InvalidValue, match="the rotary half of direct-sum is damped or sheared"):
        direct_sum.rebuilt(encoding, replace(spectrum, gamma=spectrum.gamma + 0.1))


def test_heads_that_eight_does_not_divide() -> None:
    state, config = layouts.checkpoint("direct_sum", width=64)
    said = "12 each, and the method direct_sum needs heads that are divisible by 8"
    with pytest.raises(InvalidValue, match=re.escape(said)):
        recognised(state, {**config, "d_model": 24})
