"""ALiBi: slopes against those of engines, rounding, and RoPE beside it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.document import Document
from ropeaudit.encodings import _alibi, alibi, rope_alibi
from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.interface import Sources
from ropeaudit.errors import InvalidValue
from ropeaudit.records import replace
from tests.encodings import layouts_alibi as layouts
from tests.encodings.layouts_jordan import config as jordan_config
from tests.encodings.peers import assert_torch_agrees, drawn, positions, score
from tests.encodings.vectors import VECTORS

VECTOR = VECTORS["alibi"]
HEADS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 20, 25, 32, 33, 40, 63, 64, 71, 96, 112, 128)


def stated(config: dict[str, Any]) -> tuple[Encoding, ...]:
    return tuple(alibi.recognise(Sources(document=Document("config.json", config))))


def one(config: dict[str, Any]) -> Encoding:
    (found,) = stated(config)
    return found


# Slopes


@pytest.mark.parametrize("heads", [8, 12, 16])
def test_slopes_of_the_vector(heads: int) -> None:
    assert _alibi.slopes(heads) == pytest.approx(VECTOR[f"slopes_{heads}"], rel=1e-15)


@pytest.mark.parametrize("heads", HEADS)
def test_slopes_are_those_of_transformers(heads: int) -> None:
    import torch
    from transformers.models.bloom import modeling_bloom
    from transformers.models.falcon import modeling_falcon
    from transformers.models.mpt import modeling_mpt

    own = np.array(_alibi.slopes(heads))
    mask = torch.ones((1, 2), dtype=torch.long)
    bloom = modeling_bloom.build_alibi_tensor(mask, heads, torch.float32)[:, 0, 1].numpy()
    # float32 raises its rounded base to a power of up to the number of heads.
    assert bloom == pytest.approx(own, rel=2.0**-24 * (heads + 2))
    mpt = modeling_mpt.build_mpt_alibi_tensor(heads, 2)[:, 0, 0].numpy()
    assert -mpt == pytest.approx(own, rel=1e-6)
    falcon = modeling_falcon.build_alibi_tensor(mask, heads, torch.float32)[:, 0, 1].numpy()
    assert falcon == pytest.approx(_alibi.rounded(own, "bfloat16"), rel=2.0**-8)
    assert len(falcon) == len(own) == heads


@pytest.mark.parametrize("heads", [int(h) for h in VECTOR["mpt_equals_press_for"]])
@pytest.mark.parametrize("largest", [4, 8, 16])
def test_other_maxima_as_mpt_builds_them(heads: int, largest: int) -> None:
    from transformers.models.mpt import modeling_mpt

    mpt = modeling_mpt.build_mpt_alibi_tensor(heads, 2, largest)[:, 0, 0].numpy()
    assert -mpt == pytest.approx(np.array(_alibi.slopes(heads, largest)), rel=1e-6)


@pytest.mark.parametrize("heads", HEADS)
def test_slopes_as_llama_cpp_builds_them(heads: int) -> None:
    n = 1 << math.floor(math.log2(heads))
    m0, m1 = 2.0 ** (-8.0 / n), 2.0 ** (-4.0 / n)
    expected = [m0 ** (h + 1) if h < n else m1 ** (2 * (h - n) + 1) for h in range(heads)]
    assert _alibi.slopes(heads) == pytest.approx(expected, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 512), st.floats(1, 32))
def test_slopes_are_positive_and_differ(heads: int, largest: float) -> None:
    found = _alibi.slopes(heads, largest)
    assert len(found) == heads == len(set(found))
    assert min(found) >= 2.0**-largest * (1 - 1e-12)
    assert max(found) < 1.0


def test_distinct_values_of_the_vector() -> None:
    for dtype, count in VECTOR["distinct_bias_values_L4096_slope1"].items():
        assert _alibi.distinct_values(1.0, 4096, dtype) == count
    for dtype, count in VECTOR["distinct_bias_values_L4096_slope2^-0.5"].items():
        assert _alibi.distinct_values(2.0**-0.5, 4096, dtype) == count
    assert _alibi.half_life(1.0) == math.log(2.0)
    assert _alibi.half_life(0.0) == math.inf


@settings(max_examples=80, deadline=None)
@given(st.lists(st.floats(-3e4, 3e4), min_size=1, max_size=8))
def test_rounding_is_that_of_torch(values: list[float]) -> None:
    import torch

    array = np.array(values)
    for name in ("bfloat16", "float16", "float32"):
        # Through float32 torch would round twice.
        exact = torch.tensor(array.astype(np.float32).astype(float))
        expected = exact.to(torch.float32).to(getattr(torch, name)).double().numpy()
        assert np.array_equal(_alibi.rounded(exact.numpy(), name), expected)
    assert _alibi.rounded(array, "float64") is array


# RoPE with ALiBi, and the laws of both


def combined(heads: int = 4) -> Encoding:
    document = Document("model.pt", jordan_config("rope_alibi", width=16 * heads, heads=heads))
    (found,) = rope_alibi.recognise(Sources(document=document))
    return found


def test_rope_alibi_has_both_lists() -> None:
    encoding = combined()
    assert (encoding.kind, encoding.module) == ("rope-alibi", "rope_alibi")
    spectrum = rope_alibi.spectrum(encoding)
    assert spectrum.sector == ("rotary",) * 8 + ("bias",)
    assert spectrum.w[0, 2, :8, 0] == pytest.approx(10000.0 ** (-np.arange(8) / 8))
    assert spectrum.eta[0, :, 8] == pytest.approx(_alibi.slopes(4))
    assert not spectrum.eta[:, :, :8].any()
    again = rope_alibi.rebuilt(encoding, spectrum)
    for name, values in encoding.parameters.items():
        assert np.array_equal(again.parameters[name], values)
    other = rope_alibi.rebuilt(encoding, replace(spectrum, w=spectrum.w * 2, eta=spectrum.eta / 2))
    assert rope_alibi.spectrum(other).eta[0, :, 8] == pytest.approx(np.array(_alibi.slopes(4)) / 2)
    assert tuple(rope_alibi.recognise(Sources())) == ()


def test_rope_alibi_with_an_odd_head() -> None:
    document = Document("model.pt", jordan_config("rope_alibi", width=20, heads=4))
    with pytest.raises(InvalidValue, match="d_model 20 in 4 heads makes no whole, even head size"):
        tuple(rope_alibi.recognise(Sources(document=document)))


@pytest.mark.parametrize("encoding", [one(layouts.bloom(4, 64)), combined()])
def test_scores_depend_on_the_lag(encoding: Encoding) -> None:
    at = positions(1, (0,), (5,), (30,))
    q, k = drawn(encoding, 3, 1, 1), drawn(encoding, 3, 1, 2)
    here, there = score(encoding, q, k, at, at), score(encoding, q, k, at + 9, at + 9)
    assert there == pytest.approx(here, abs=1e-9)
    module = assert_torch_agrees(encoding, at)
    assert list(module.parameters()) == []  # slopes are constants in all of these models


def test_rebuilt() -> None:
    encoding = one(layouts.bloom())
    spectrum = alibi.spectrum(encoding)
    same = alibi.rebuilt(encoding, spectrum)
    assert np.array_equal(same.parameters["slopes"], encoding.parameters["slopes"])
    half = alibi.rebuilt(encoding, replace(spectrum, eta=spectrum.eta / 2))
    assert alibi.bias(half, np.array([[9.0]]), np.array([[4.0]])) == pytest.approx(
        alibi.bias(encoding, np.array([[9.0]]), np.array([[4.0]])) / 2
    )
    assert alibi.generators(encoding) is None
