"""A conversion put into weights gives the same scores at every pair of positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from ropeaudit.convert import ape, rope
from ropeaudit.convert._fold import Projections, folded
from ropeaudit.convert.interface import Converted, Refused
from ropeaudit.convert.reading import of_subject
from ropeaudit.encodings._algebra import expm_skew
from ropeaudit.encodings._planes import block_diagonal, rotations
from ropeaudit.errors import SourceError, UsageError
from ropeaudit.records import replace
from tests.convert.test_forms import source
from tests.schedules import raw, subject

N, HEADS, INPUTS = 6, 4, 10
POSITIONS = ((0, 0), (3, 1), (7, 40), (100, 99))


def skew_of(rng: Any, *shape: int) -> Any:
    a = rng.normal(size=(*shape, N, N)) / N
    return a - np.swapaxes(a, -1, -2)


@pytest.fixture
def rng() -> Any:
    return np.random.default_rng(11)


def weights(rng: Any, path: Path, key_heads: int = HEADS, **more: Any) -> dict[str, Any]:
    found = {
        "layers.0.q.weight": rng.normal(size=(HEADS * N, INPUTS)),
        "layers.0.q.bias": rng.normal(size=HEADS * N),
        "layers.0.k.weight": rng.normal(size=(key_heads * N, INPUTS)),
        "layers.1.q.weight": rng.normal(size=(HEADS * N, INPUTS)),
        "layers.1.k.weight": rng.normal(size=(key_heads * N, INPUTS)),
        **more,
    }
    save_file(found, path)
    return found


def heads_of(rows: Any, layout: str) -> Any:
    """(heads, n): how a head reads the rows of a projected vector."""
    return rows.reshape(N, -1).T if layout == "strided" else rows.reshape(-1, N)


def into(path: Path, **changes: str) -> Projections:
    fields = {"query": "layers.{layer}.q.weight", "key": "layers.{layer}.k.weight", **changes}
    return Projections(path=str(path), **fields)


def scores(q: Any, k: Any, maps: Any) -> Any:
    """(heads,) of ``(M_i q) . (M_j k)`` with maps (2, heads, n, n)."""
    return np.einsum("hab,hb,hac,hc->h", maps[0], q, maps[1], k)


def turned(made: Converted, p: float, layer: int = 0) -> Any:
    return block_diagonal(rotations(p * made.frequencies[0, layer]), N)


@pytest.mark.parametrize("layout", ["together", "strided"])
@pytest.mark.parametrize("per_layer", [False, True])
def test_scores_stay(tmp_path: Path, rng: Any, layout: str, per_layer: bool) -> None:
    b = skew_of(rng, 1, 2 if per_layer else 1, HEADS)
    made = rope.convert(source(b, layers=(0, 1) if per_layer else None))
    old = weights(rng, tmp_path / "w.safetensors")
    new = folded(made, into(tmp_path / "w.safetensors", layout=layout))
    assert set(new) == set(old)
    for layer in (0, 1):
        at = layer if per_layer else 0
        x, y = rng.normal(size=(2, INPUTS))
        for i, j in POSITIONS:
            before, after = (
                scores(
                    heads_of(
                        held[f"layers.{layer}.q.weight"] @ x
                        + held.get(f"layers.{layer}.q.bias", 0),
                        layout,
                    ),
                    heads_of(held[f"layers.{layer}.k.weight"] @ y, layout),
                    maps,
                )
                for held, maps in (
                    (old, [expm_skew(p * b[0, at]) for p in (i, j)]),
                    (new, [turned(made, p, at) for p in (i, j)]),
                )
            )
            assert np.abs(before - after).max() < 1e-10


def test_rope_becomes_ape_with_rows_moved_and_the_factor_in(tmp_path: Path, rng: Any) -> None:
    table = np.float32([1.0, 0.1])
    schedule = replace(
        raw(table.tolist()), head_dim=N, variant=None, attention_scaling=1.5, pairing="half"
    )
    made = ape.convert(of_subject(subject(schedule)), heads=HEADS)
    old = weights(rng, tmp_path / "w.safetensors")
    new = folded(made, into(tmp_path / "w.safetensors"))
    a = made.tensors[ape.TENSOR]
    x, y = rng.normal(size=(2, INPUTS))
    grown = np.array([1.5, 1.5, 1.5, 1.5, 1.0, 1.0])  # two channels never turn
    for i, j in POSITIONS:
        maps = [expm_skew(p * (a - np.swapaxes(a, -1, -2))) for p in (i, j)]
        q, k = (
            heads_of(old[f"layers.1.{n}.weight"] @ v, "together") for n, v in (("q", x), ("k", y))
        )
        before = scores(q * grown, k * grown, maps)
        q, k = (
            heads_of(new[f"layers.1.{n}.weight"] @ v, "strided") for n, v in (("q", x), ("k", y))
        )
        assert np.abs(scores(q, k, maps) - before).max() < 1e-10


def test_key_heads_shared_by_query_heads(tmp_path: Path, rng: Any) -> None:
    path = tmp_path / "w.safetensors"
    weights(rng, path, key_heads=2)
    apart = rope.convert(source(skew_of(rng, 1, 1, HEADS)))
    with pytest.raises(Refused, match="one key head serves 2 query heads"):
        folded(apart, into(path))
    in_pairs = np.repeat(skew_of(rng, 1, 1, 2), 2, axis=2)
    new = folded(rope.convert(source(in_pairs)), into(path))
    assert new["layers.0.k.weight"].shape == (2 * N, INPUTS)


def test_a_norm_in_between_forbids_a_change_of_basis(tmp_path: Path, rng: Any) -> None:
    path = tmp_path / "w.safetensors"
    weights(rng, path, **{"layers.0.q_norm.weight": np.ones(N)})
    with pytest.raises(Refused, match="layers.0.q_norm.weight stands between"):
        folded(rope.convert(source(skew_of(rng, 1, 1, HEADS))), into(path))


def test_dtypes_stay(tmp_path: Path, rng: Any) -> None:
    path = tmp_path / "w.safetensors"
    save_file(
        {n: rng.normal(size=(N, 3)).astype(np.float16) for n in ("q.weight", "k.weight")}, path
    )
    made = rope.convert(source(skew_of(rng, 1, 1, 1)))
    new = folded(made, into(path, query="q.weight", key="k.weight"))
    assert {v.dtype for v in new.values()} == {np.dtype(np.float16)}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"query": "q.weight"}, "holds no tensor q.weight; it has layers.0.k.weight"),
        ({"layout": "sideways"}, "the layout of heads is sideways"),
    ],
)
def test_names_and_layouts(tmp_path: Path, rng: Any, changes: dict[str, str], said: str) -> None:
    weights(rng, tmp_path / "w.safetensors")
    made = rope.convert(source(skew_of(rng, 1, 1, HEADS)))
    with pytest.raises(UsageError) as caught:
        folded(made, into(tmp_path / "w.safetensors", **changes))
    assert said in str(caught.value)


def test_shapes_that_do_not_fit(tmp_path: Path, rng: Any) -> None:
    path = tmp_path / "w.safetensors"
    save_file({"q": np.ones((N + 1, 2)), "k": np.ones((N, 2))}, path)
    with pytest.raises(UsageError, match="a multiple of the head's 6 channels"):
        folded(rope.convert(source(skew_of(rng, 1, 1, 1))), into(path, query="q", key="k"))
    save_file({"q": np.ones((3 * N, 2)), "k": np.ones((3 * N, 2))}, path)
    with pytest.raises(UsageError, match="q has 3 heads, and the encoding has 4"):
        folded(rope.convert(source(skew_of(rng, 1, 1, HEADS))), into(path, query="q", key="k"))
    with pytest.raises(UsageError, match="every layer has its own basis"):
        folded(rope.convert(source(skew_of(rng, 1, 2, 3))), into(path, query="q", key="k"))
    (tmp_path / "x").write_bytes(b"no weights")
    with pytest.raises(SourceError, match="cannot be read as float16"):
        folded(rope.convert(source(skew_of(rng, 1, 1, 3))), into(tmp_path / "x"))
