"""Damped RoPE: an exact group, twice on every frequency, and APE's factor as the same damping."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ropeaudit.encodings import damped
from ropeaudit.encodings.core import Encoding
from ropeaudit.records import replace
from tests.encodings import layouts_jordan as layouts
from tests.encodings.make import recognised
from tests.encodings.peers import assert_torch_agrees, drawn, positions, score
from tests.encodings.vectors import VECTORS


def read(noise: float = 0.0) -> Encoding:
    (found,) = recognised(*layouts.checkpoint("damped_rope", noise=noise))
    return found


def test_spectrum() -> None:
    encoding = read()
    assert (encoding.kind, encoding.module) == ("damped-rope", "damped")
    spectrum = damped.spectrum(encoding)
    assert spectrum.w.shape == (2, 2, 8, 1)
    assert (spectrum.order, spectrum.multiplicity) == (1, 2)
    assert 2 * spectrum.order * spectrum.multiplicity * 8 == encoding.head_dim
    assert not spectrum.eta.any()
    assert spectrum.gamma == pytest.approx(np.full((2, 2, 8), 1.0001e-4), rel=1e-6)
    assert spectrum.w[0, 0, :, 0] == pytest.approx(10000.0 ** (-np.arange(8) / 16))


def test_every_frequency_turns_two_planes() -> None:
    encoding = read()
    _, keys = damped.operators(encoding, positions(1, (3,)))
    for k in range(8):
        at = keys[0, 0, 0, 4 * k : 4 * k + 4, 4 * k : 4 * k + 4]
        assert np.array_equal(at[:2, :2], at[2:, 2:])
        assert not at[:2, 2:].any()


def test_group_and_relative() -> None:
    encoding = read(noise=1.0)
    a, b, both = damped.pairwise(encoding, np.array([2.0, 3.0, 5.0]))
    assert a @ b == pytest.approx(both, abs=1e-14)
    q, k = drawn(encoding, 2, 2, 1), drawn(encoding, 2, 2, 2)
    at = positions(1, (9,), (4,))
    here, there = score(encoding, q, k, at, at), score(encoding, q, k, at + 50, at + 50)
    assert there == pytest.approx(here, rel=1e-10, abs=1e-10)
    assert damped.generators(encoding) is not None
    assert damped.bias(encoding, at, at) is None


def test_the_factor_of_ape_is_a_damping() -> None:
    """``c^d`` on one side equals ``exp(-gamma d)`` with gamma = -ln c."""
    expected = VECTORS["ape_decay_equals_damping"]
    gamma = -math.log(expected["c"])
    assert gamma == pytest.approx(expected["gamma"], rel=1e-14)
    assert math.log(2) / gamma == pytest.approx(expected["half_distance"], rel=1e-14)
    encoding = read()
    spectrum = damped.spectrum(encoding)
    same = damped.rebuilt(encoding, replace(spectrum, gamma=np.full_like(spectrum.gamma, gamma)))
    still = damped.rebuilt(encoding, replace(spectrum, gamma=np.zeros_like(spectrum.gamma)))
    lags = np.array([1.0, 34.0])
    ratio = expected["c"] ** lags[:, None, None, None, None]
    assert damped.pairwise(same, lags) == pytest.approx(ratio * damped.pairwise(still, lags))


def test_torch_agrees_and_trains() -> None:
    module = assert_torch_agrees(read(noise=0.5), positions(1, (0,), (3,), (90,)), layers=2)
    assert [n for n, _ in module.named_parameters()] == ["raw_gamma"]
    assert module.raw_gamma.grad.abs()[1].min() > 0.0
