"""RoPE-Mixed: reading the public layouts, vectors, and the laws that the vectors obey."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.encodings import rope_mixed
from ropeaudit.encodings._planes import canonical
from ropeaudit.encodings.core import Encoding
from ropeaudit.errors import InvalidValue, UsageError
from tests.encodings import layouts_rope_vit as layouts
from tests.encodings.make import recognised
from tests.encodings.peers import assert_torch_agrees, drawn, positions, score
from tests.encodings.vectors import VECTORS

INIT = VECTORS["rope_mixed_init"]


def one(tensors: dict[str, Any], **given_: Any) -> Encoding:
    (found,) = recognised(tensors, **given_)
    return found


def vector() -> Encoding:
    """The published initial values of one head with direction 0.3."""
    freqs = np.array([INIT["wx"], INIT["wy"]])[:, None, None, :]
    return one({"freqs": freqs.reshape(2, 1, 32)})


def test_initial_values() -> None:
    stored = layouts.drawn(64, np.array([INIT["phi"]]))
    assert stored[0, 0] == pytest.approx(np.array(INIT["wx"]), abs=1e-7)
    assert stored[1, 0] == pytest.approx(np.array(INIT["wy"]), abs=1e-7)


def test_the_vector_is_reproduced() -> None:
    encoding = vector()
    spectrum = rope_mixed.spectrum(encoding)
    w, signs = canonical(np.stack([INIT["wx"], INIT["wy"]], -1))
    assert np.array_equal(spectrum.w[0, 0], w)
    assert set(signs[:16]) == {1.0}
    assert set(signs[16:]) == {-1.0}  # (-sin, cos) is shown as (sin, -cos)
    assert np.linalg.norm(spectrum.w[0, 0], axis=-1) == pytest.approx(np.tile(INIT["mag"], 2))
    _, turned = rope_mixed.operators(encoding, positions(2, (3, 5)))
    angles = np.array(INIT["angle_at_(tx=3,ty=5)"])
    pairs = turned[0, 0, 0]
    for c, angle in enumerate(angles):
        block = pairs[2 * c : 2 * c + 2, 2 * c : 2 * c + 2]
        assert block[0, 0] == pytest.approx(np.cos(angle), abs=1e-14)
        assert block[1, 0] == pytest.approx(np.sin(angle), abs=1e-14)


def test_units_differ_as_vectors_and_not_as_lengths() -> None:
    w = rope_mixed.spectrum(vector()).w[0, 0]
    apart = np.abs(w[:, None] - w[None]).max(-1) + np.eye(32)
    assert apart.min() > 1e-3
    lengths = np.round(np.linalg.norm(w, axis=-1), 12)
    assert np.unique(lengths, return_counts=True)[1].max() == INIT["checks"]["scalar_norm_cluster"]


@pytest.mark.parametrize(
    ("tensors", "shape", "leaf"),
    [
        (layouts.deit(3, 6), (2, 3, 6, 32), "freqs"),
        (layouts.self_attention(2, 4), (2, 2, 4, 32), "freqs"),
        (layouts.timm(3, 6), (2, 3, 6, 32), "freqs"),
    ],
)
def test_layouts_with_one_stage(tensors: dict[str, Any], shape: tuple[int, ...], leaf: str) -> None:
    encoding = one(tensors)
    assert encoding.kind == encoding.name == "rope-mixed"
    assert encoding.parameters["freqs"].shape == shape
    assert encoding.layers == tuple(range(shape[1]))
    assert (encoding.heads, encoding.head_dim, encoding.axes) == (shape[2], 64, ("x", "y"))
    assert encoding.settings["parameter"] == leaf
    assert encoding.dtype == "float32"
    stored = np.concatenate(
        [t.reshape(2, -1) for n, t in tensors.items() if n.endswith("freqs")], 1
    )
    assert np.array_equal(encoding.parameters["freqs"].reshape(2, -1), stored.astype(float))
    assert len(encoding.provenance) == sum(n.endswith("freqs") for n in tensors)


def test_deit_heads_are_contiguous_in_the_last_axis() -> None:
    assumed = one(layouts.deit(2, 6))
    assert assumed.assumed == {"head_dim"}
    stated = one(layouts.deit(2, 6), options={"head-dim": "64"})
    assert stated.assumed == frozenset()
    assert np.array_equal(stated.parameters["freqs"], assumed.parameters["freqs"])
    # One direction a head: the angle of every first-half plane of a head is the same.
    x, y = stated.parameters["freqs"][..., :16]
    phi = np.arctan2(y, x)
    assert np.ptp(np.unwrap(phi, axis=-1), axis=-1).max() < 1e-6
    other = one(layouts.deit(2, 6), options={"head-dim": "32"})
    assert (other.heads, other.head_dim) == (12, 32)


def test_swin_stages_have_their_own_heads() -> None:
    found = recognised(layouts.swin((3, 6), 2))
    assert [e.name for e in found] == ["rope-mixed.stage0", "rope-mixed.stage1"]
    assert [(e.heads, e.layers) for e in found] == [(3, (0, 1)), (6, (2, 3))]
    assert {e.head_dim for e in found} == {32}
    assert found[1].settings["parameter"] == "rope_freqs"
    stored = layouts.swin((3, 6), 2)["layers.1.blocks.1.attn.rope_freqs"]
    assert np.array_equal(found[1].parameters["freqs"][:, 1], stored.astype(float))


def test_layers_are_in_the_order_of_their_numbers() -> None:
    tensors = layouts.self_attention(11, 1)
    found = one(dict(reversed(list(tensors.items()))))
    for layer in (2, 10):
        stored = tensors[f"blocks.{layer}.attn.freqs"].reshape(2, 1, 32)
        assert np.array_equal(found.parameters["freqs"][:, layer], stored.astype(float))


def test_the_grid_comes_from_the_name_or_from_the_user() -> None:
    assert one(layouts.timm(1)).positions.trained is None
    named = one(layouts.timm(1), config=layouts.timm_config(pixels=224))
    assert named.positions.trained == (14, 14)
    assert named.positions.extent == (13.0, 13.0)
    asked = one(layouts.timm(1), options={"grid": "14x20", "test-grid": "28x40"})
    assert asked.positions.trained == (20, 14)  # x counts columns
    assert asked.positions.used == (40, 28)
    assert asked.positions.extent == (39.0, 27.0)


def test_a_table_of_one_row_is_no_such_encoding() -> None:
    assert recognised({"rope.freqs": np.ones((1, 64), np.float32)}) == ()
    assert recognised({"mel.freqs": np.ones((2, 40), np.float32)}) == ()


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"freqs": np.ones((2, 3, 50), np.float32)}, "has the shape [2, 3, 50], expected a last"),
        ({"rope.freqs": np.ones((2, 3, 4, 9), np.float32)}, "divisible by 4"),
        ({"rope.freqs": np.ones((2, 0, 4, 8), np.float32)}, "at least one layer"),
        (
            {
                "blocks.0.attn.freqs": np.ones((2, 64), np.float32),
                "blocks.1.attn.freqs": np.ones((2, 96), np.float32),
            },
            "has the shape [2, 96], expected [2, 64] as in blocks.0.attn.freqs",
        ),
        ({"freqs": np.full((2, 1, 32), np.nan, np.float32)}, "holds nan at [0, 0, 0]"),
        ({"freqs": np.full((2, 1, 32), np.inf, np.float32)}, "holds inf at [0, 0, 0]"),
    ],
)
def test_broken_layouts(tensors: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(said)):
        recognised(tensors)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"grid": "14x"}, "grid is 14x, expected 2 sizes such as 14x14"),
        ({"test-grid": "1x2x3"}, "expected 2 sizes"),
        ({"grid": "0x4"}, "expected 2 sizes"),
        ({"head-dim": "-4"}, "expected a whole number from 2"),
    ],
)
def test_options_that_say_nothing(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        recognised(layouts.deit(1, 6), options=options)


def test_head_dim_against_the_layout() -> None:
    with pytest.raises(InvalidValue, match="heads of 64 channels, and head-dim says 32"):
        recognised(layouts.timm(1), options={"head-dim": "32"})


VECTOR = st.tuples(st.floats(-4, 4), st.floats(-4, 4))


@settings(max_examples=40, deadline=None)
@given(st.lists(VECTOR, min_size=4, max_size=4), st.tuples(*[st.integers(-20, 20)] * 6))
def test_the_score_depends_on_differences_only(
    w: list[tuple[float, float]], places: tuple[int, ...]
) -> None:
    encoding = Encoding(
        name="rope-mixed", kind="rope-mixed", module="rope_mixed", head_dim=8, heads=1,
        axes=("x", "y"), parameters={"freqs": np.array(w).T[:, None, None, :]},
    )  # fmt: skip
    at, to, shift = (np.array(places[i : i + 2], dtype=float)[None] for i in (0, 2, 4))
    q, k = drawn(encoding, 1, 1, 1), drawn(encoding, 1, 1, 2)
    here = score(encoding, q, k, at, to)
    there = score(encoding, q, k, at + shift, to + shift)
    assert there == pytest.approx(here, abs=1e-11)
    again = rope_mixed.rebuilt(encoding, rope_mixed.spectrum(encoding))
    assert np.array_equal(again.parameters["freqs"], encoding.parameters["freqs"])


@settings(max_examples=60, deadline=None)
@given(st.lists(VECTOR, min_size=1, max_size=6))
def test_canonical_sign(w: list[tuple[float, float]]) -> None:
    array = np.array(w)
    found, signs = canonical(array)
    assert np.array_equal(found * signs[:, None], array)
    again, same = canonical(-array)
    nonzero = np.abs(array).max(-1) > 0
    assert np.array_equal(again[nonzero], found[nonzero])
    assert np.array_equal(same[nonzero], -signs[nonzero])
    lead = [next((v for v in row if abs(v) > 1e-6 * np.abs(row).max()), 0.0) for row in found]
    assert min(lead) >= 0.0


def test_equivalent_vectors_on_the_integer_grid() -> None:
    alias = VECTORS["aliasing"]["2d_integer"]
    found, _ = canonical(np.array([alias["equiv"]]))
    assert found[0] == pytest.approx(alias["canonical"])
    grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), -1).reshape(-1, 2)
    cos = np.cos(grid @ np.array(alias["w"]))
    assert np.cos(grid @ np.array(alias["canonical"])) == pytest.approx(cos, abs=1e-12)
    assert np.abs(np.cos(grid @ np.array(alias["NOT_equiv"])) - cos).max() > 0.5


def test_commuting_generators_give_the_operators() -> None:
    import torch

    encoding = one(layouts.timm(1, 2))
    g = rope_mixed.generators(encoding)
    assert np.abs(g[0] @ g[1] - g[1] @ g[0]).max() == 0.0
    _, keys = rope_mixed.operators(encoding, positions(2, (3, 5)))
    exponential = torch.linalg.matrix_exp(torch.tensor(3 * g[0] + 5 * g[1])).numpy()
    assert keys[0] == pytest.approx(exponential, abs=1e-12)


def test_torch_agrees_and_trains() -> None:
    encoding = one(layouts.timm(2, 3))
    grid = positions(2, (0, 0), (3, 1), (7, 13), (2, 2))
    module = assert_torch_agrees(encoding, grid, layers=2)
    ((name, parameter),) = module.named_parameters()
    assert name == "freqs"
    assert parameter.grad.abs()[:, 1].min() > 0.0
    swin = recognised(layouts.swin((3,), 1))[0]
    assert [n for n, _ in assert_torch_agrees(swin, grid).named_parameters()] == ["rope_freqs"]
