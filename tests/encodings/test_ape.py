"""Algebraic Positional Encodings: public layouts, the options they leave open, trees, vectors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.encodings import _algebra as algebra
from ropeaudit.encodings import _paths as paths
from ropeaudit.encodings import ape
from ropeaudit.encodings._normal_form import principal_log
from ropeaudit.encodings._planes import block_diagonal, rotations, skew
from ropeaudit.encodings.core import Encoding
from ropeaudit.errors import InvalidValue, UsageError
from ropeaudit.records import replace
from ropeaudit.resolve import resolve
from tests.encodings import layouts_ape as layouts
from tests.encodings.make import recognised, write
from tests.encodings.peers import assert_torch_agrees, drawn, positions, score
from tests.encodings.vectors import VECTORS
from tests.make_layout_fixtures import FOLDER

LAYOUTS: dict[str, dict[str, str]] = {
    "sequence": {},
    "tril": {"ape-skew": "tril"},
    "grid": {"grid": "4x4"},
    "tree": {"ape-layout": "tree"},
    "sos": {"ape-tree-layout": "per-head-sos"},
}


def one(tensors: dict[str, Any], options: dict[str, str] | None = None) -> Encoding:
    (found,) = recognised(tensors, options=options)
    return found


def example(layout: str, n: int = 8, seed: int = 0) -> Encoding:
    count = 5 if layout in ("tree", "sos") else 4
    return one({layouts.KEY: layouts.drawn(count, n, seed)}, LAYOUTS[layout])


def places(encoding: Encoding) -> np.ndarray:
    if encoding.kind == "ape-tree":
        return np.asarray(paths.padded(list(paths.words(2, 3))), dtype=float)
    count = len(encoding.axes)
    return np.random.default_rng(3).integers(-4, 9, (6, count)).astype(float)


class TestLayouts:
    def test_sequence_of_full_matrices(self) -> None:
        a = layouts.drawn(8, 64).astype(np.float64)
        encoding = one({layouts.KEY: a.astype(np.float32)})
        assert (encoding.kind, encoding.head_dim, encoding.heads) == ("ape-sequence", 64, 8)
        assert encoding.layers is None
        assert encoding.dtype == "float32"
        assert np.array_equal(encoding.parameters["_primitives"], a)
        (b,) = ape.generators(encoding)[:, 0]
        assert np.array_equal(b, a - np.swapaxes(a, -1, -2))  # never assumed triangular
        assert {"ape-skew", "ape-layout", "ape-stores", "decay"} <= encoding.assumed
        assert {n.kind for n in encoding.notes} == {"ape_layout", "ape_skew"}
        fact = encoding.provenance[0]
        assert fact.location is not None
        assert (fact.field, fact.location.tensor) == ("_primitives", layouts.KEY)

    def test_lower_triangle_where_stated(self) -> None:
        a = layouts.drawn(2, 8)
        encoding = one({layouts.KEY: a}, {"ape-skew": "tril"})
        low = np.tril(a.astype(float), -1)
        assert np.array_equal(ape.generators(encoding)[0, 0], low - np.swapaxes(low, -1, -2))
        assert "ape-skew" not in encoding.assumed
        assert encoding.settings["ape-skew"] == "tril"

    def test_grid_turns_disjoint_channels(self) -> None:
        a = layouts.drawn(8, 32)  # CIFAR: 2 axes, 4 heads of 64
        encoding = one({layouts.KEY: a}, {"grid": "8x8", "test-grid": "12x10"})
        assert (encoding.kind, encoding.heads, encoding.head_dim) == ("ape-grid", 4, 64)
        assert "ape-layout" not in encoding.assumed
        assert {n.kind for n in encoding.notes} == {"ape_skew"}
        assert encoding.positions.trained == (8, 8)
        assert encoding.positions.used == (12, 10)
        assert encoding.positions.extent == (11.0, 9.0)
        found = ape.generators(encoding)
        for axis in range(2):
            for head in range(4):
                stored = a[axis * 4 + head].astype(float)
                own = slice(axis * 32, (axis + 1) * 32)
                assert np.array_equal(found[axis, 0, head, own, own], stored - stored.T)
        assert np.count_nonzero(found) == 2 * 4 * 32 * 31
        w = ape.spectrum(encoding).w
        assert w.shape == (1, 4, 32, 2)
        assert not w[0, :, :16, 1].any()
        assert not w[0, :, 16:, 0].any()

    def test_tree_is_told_by_its_start_symbol(self) -> None:
        encoding = one(layouts.branching(heads=8, n=8))
        assert (encoding.kind, encoding.heads) == ("ape-tree", 8)
        assert encoding.axes == ("branch 0", "branch 1")
        assert "ape-layout" not in encoding.assumed
        assert {"ape-tree-layout", "branches"} <= encoding.assumed
        # The current code reads two of 17 matrices.
        assert encoding.settings["dead_matrices"] == list(range(2, 17))
        assert ape.generators(encoding).shape == (2, 1, 1, 8, 8)
        spectrum = ape.spectrum(encoding)
        assert spectrum.w.shape == (1, 1, 4, 2)
        assert not spectrum.joint

    def test_old_trees_have_a_set_a_head(self) -> None:
        state = layouts.branching(heads=3, n=8)
        encoding = one(state, {"ape-tree-layout": "per-head-sos"})
        a = state[layouts.KEY].astype(float)
        found = ape.generators(encoding)
        assert found.shape == (2, 1, 3, 8, 8)
        assert np.array_equal(found[1, 0, 2], a[5] - a[5].T)  # branch * heads + head
        assert encoding.settings["dead_matrices"] == []

    def test_start_symbol_cancels(self) -> None:
        state = layouts.branching(heads=3, n=8)
        other = dict(state)
        other[layouts.KEY] = state[layouts.KEY].copy()
        other[layouts.KEY][-1] *= 2.0
        options = {"ape-tree-layout": "per-head-sos"}
        a, b = one(state, options), one(other, options)
        at = places(a)
        q, k = drawn(a, len(at), 1, 1), drawn(a, len(at), 1, 2)
        assert score(a, q, k, at, at) == pytest.approx(score(b, q, k, at, at), abs=1e-11)
        maps = [ape.operators(e, at)[0] for e in (a, b)]
        assert np.abs(maps[0] - maps[1]).max() > 0.1

    def test_rotary_angles(self) -> None:
        encoding = one(layouts.rotary(), {"heads": "4", "train-context": "100"})
        assert (encoding.kind, encoding.heads, encoding.head_dim) == ("ape-rotary", 4, 16)
        assert encoding.positions.extent == (99.0,)
        spectrum = ape.spectrum(encoding)
        assert spectrum.w[0, 0, :, 0] == pytest.approx(10000.0 ** (-np.arange(8) / 8), rel=1e-7)
        turned, _ = ape.operators(encoding, positions(1, (3,)))
        assert turned[0, 0, 0] == pytest.approx(
            block_diagonal(rotations(3 * encoding.parameters["thetas"])), abs=1e-14
        )

    def test_stored_operators(self) -> None:
        theta = np.array([2.9, 1.0, 0.001])
        q = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
        w = q @ block_diagonal(rotations(theta)) @ q.T
        encoding = one({layouts.KEY: w[None]}, {"ape-stores": "operator"})
        assert ape.spectrum(encoding).w[0, 0, :, 0] == pytest.approx(theta, abs=1e-13)
        again, _ = ape.operators(encoding, positions(1, (1,), (-2,)))
        assert again[0, 0, 0] == pytest.approx(w, abs=1e-13)
        assert again[1, 0, 0] == pytest.approx(w.T @ w.T, abs=1e-13)
        spectrum = ape.spectrum(encoding)
        new = ape.rebuilt(encoding, replace(spectrum, w=spectrum.w / 2))
        assert ape.spectrum(new).w[0, 0, :, 0] == pytest.approx(theta / 2, abs=1e-13)

    def test_decay_is_a_setting(self) -> None:
        settings_ = one({layouts.KEY: layouts.drawn(2, 8)}).settings
        vector = VECTORS["ape_decay_equals_damping"]
        assert settings_["decay"] == vector["c"]
        assert settings_["decay_gamma"] == pytest.approx(vector["gamma"], abs=1e-17)
        assert settings_["decay_half_distance"] == pytest.approx(vector["half_distance"], abs=1e-13)
        assert one({layouts.KEY: layouts.drawn(2, 8)}, {"ape-decay": "none"}).settings["decay"] == 1

    def test_two_modules_are_two_encodings(self) -> None:
        state = {
            "encoder.positional_encoder._primitives": layouts.drawn(2, 8),
            "decoder.positional_encoder._primitives": layouts.drawn(2, 8, 1),
        }
        names = {e.name for e in recognised(state)}
        assert names == {"encoder.positional_encoder", "decoder.positional_encoder"}

    def test_other_modules_identity_and_thetas_are_not_ours(self) -> None:
        state = {"downsample.identity": np.ones(3), "arm.thetas": np.ones(4)}
        assert recognised(state) == ()

    @pytest.mark.parametrize("path", sorted(FOLDER.glob("ape_*")), ids=lambda p: p.name)
    def test_fixtures_are_read_whatever_their_format(self, path: Path) -> None:
        subject = resolve(str(path))
        assert subject.error is None
        (encoding,) = subject.encodings
        assert encoding.kind == f"ape-{path.stem.split('_')[1]}" or path.stem == "ape_grid"
        assert subject.schedules == ()
        assert not {n.kind for n in subject.notes} & {"learned", "insufficient"}


class TestVectors:
    def test_angles_of_a_rotation_in_another_basis(self) -> None:
        vector = VECTORS["ape_from_rope"]
        a = np.array(vector["A_strict_upper"])
        encoding = one({layouts.KEY: a[None]})
        assert ape.spectrum(encoding).w[0, 0, :, 0] == pytest.approx(
            np.array(vector["angles_from_B"]), abs=1e-14
        )
        w, _ = ape.operators(encoding, positions(1, (1,)))
        assert w[0, 0, 0] == pytest.approx(np.array(vector["C"]), abs=1e-14)
        assert algebra.orthogonality_defect(w).max() < 1e-14
        v = np.array(vector["householder_v"])
        mirror = np.eye(8) - 2.0 * np.outer(v, v) / (v @ v)
        built = mirror @ block_diagonal(rotations(np.array(vector["theta"]))) @ mirror.T
        assert w[0, 0, 0] == pytest.approx(built, abs=1e-14)
        log = principal_log(np.array(vector["C"]))
        assert log is not None
        assert log == pytest.approx(np.array(vector["B_generator"]), abs=1e-14)

    def test_tree(self) -> None:
        vector = VECTORS["ape_tree"]
        maps = [np.array(vector["W1"]), np.array(vector["W2"])]
        stored = np.stack([np.triu(log, 1) for w in maps if (log := principal_log(w)) is not None])
        stored = np.concatenate([stored, np.ones((1, 3, 3))])
        encoding = one({layouts.KEY: stored}, {"ape-layout": "tree"})
        assert ape.spectrum(encoding).static == 1
        at = [[0, 1], [1, 0]]
        found, _ = ape.operators(encoding, paths.padded(at))
        assert found[0, 0, 0] == pytest.approx(np.array(vector["M_[0,1]"]), abs=1e-14)
        assert found[1, 0, 0] == pytest.approx(np.array(vector["M_[1,0]"]), abs=1e-14)
        q, k = (np.array(vector[name])[None, None, None] for name in "qk")
        for prefix, name in (([], "score_q@[0,1]_k@[1,0]"), ([1], "score_with_common_prefix_[1]")):
            places_ = [paths.padded([prefix + path]) for path in at]
            value = score(encoding, q, k, places_[0], places_[1])
            assert value[0, 0, 0, 0] == pytest.approx(vector[name], abs=1e-14)
        commutator = algebra.commutator(*maps)
        assert algebra.frobenius(commutator) == pytest.approx(
            vector["commutator_group_norm"], abs=1e-14
        )
        apart = ape.decay(encoding, *(paths.padded([path]) for path in at))
        assert apart[0, 0] == pytest.approx(vector["decay_0.98_pow_steps"], abs=1e-14)

    def test_public_tree_distance_depends_on_the_batch(self) -> None:
        vector = VECTORS["ape_tree_repo_steps"]
        at = paths.padded(vector["paths"])
        assert paths.distance(at, at).tolist() == vector["true_tree_distance"]
        assert paths.public_distance(at, at).tolist() == vector["repo_HEAD_returns"]
        deeper = paths.padded([*vector["paths"], [0, 0, 0, 0]])
        expected = vector["repo_HEAD_with_extra_[0,0,0,0]"]
        assert paths.public_distance(deeper, deeper).tolist() == expected
        encoding = example("tree")
        found = ape.decay(encoding, deeper, deeper, public=True)
        assert found == pytest.approx(0.98 ** np.array(expected, dtype=float))

    def test_initial_angles_stand_twice(self) -> None:
        vector = VECTORS["ape_repo_init_angles"]
        angles = layouts.angles(vector["planes"])
        assert angles == pytest.approx(np.array(vector["angles"]), rel=1e-15)
        encoding = one({layouts.KEY: layouts.exact(2, vector["head_dim"])})
        w = ape.spectrum(encoding).w[0, :, :, 0]
        assert w == pytest.approx(np.tile(angles, (2, 1)), abs=1e-6)
        assert len(set(angles)) == vector["distinct"]
        rope = 10000.0 ** (-np.arange(32) / 32)
        assert rope == pytest.approx(np.array(vector["true_rope_angles"]), rel=1e-14)
        assert len(set(rope)) == 2 * vector["distinct"]

    def test_the_public_fit_splits_twins_beyond_the_noise(self) -> None:
        """Exact equality misses the inherited twins of a fitted checkpoint."""
        subject = resolve(str(FOLDER / "ape_sequence_fitted.safetensors"))
        spectrum = ape.spectrum(subject.encodings[0])
        w = spectrum.w[0, :, :, 0]
        angles = layouts.angles(16)
        assert np.abs(w - angles).max() < 1e-3
        gaps = np.abs(w[:, ::2] - w[:, 1::2])
        assert gaps.max() > spectrum.noise.max()
        assert gaps.max() < 1e-2 * w[:, ::2].max()


class TestLaws:
    @given(st.sampled_from(sorted(LAYOUTS)), st.integers(2, 9), st.integers(0, 99))
    @settings(max_examples=40)
    def test_new_frequencies_in_old_planes(self, layout: str, n: int, seed: int) -> None:
        encoding = example(layout, n, seed)
        spectrum = ape.spectrum(encoding)
        same = ape.rebuilt(encoding, spectrum)
        assert same.parameters["_primitives"] == pytest.approx(
            encoding.parameters["_primitives"], abs=1e-13
        )
        halved = ape.rebuilt(encoding, replace(spectrum, w=spectrum.w / 2))
        assert ape.generators(halved) == pytest.approx(ape.generators(encoding) / 2, abs=1e-13)
        still = ape.rebuilt(encoding, replace(spectrum, w=0 * spectrum.w))
        assert not ape.spectrum(still).w.any()
        # Planes can be given a frequency after they stood still.
        again = ape.spectrum(ape.rebuilt(still, spectrum)).w
        assert again == pytest.approx(spectrum.w, abs=1e-13)

    def test_what_is_not_read_stays(self) -> None:
        encoding = example("tril")
        spectrum = ape.spectrum(encoding)
        new = ape.rebuilt(encoding, replace(spectrum, w=spectrum.w * 0.3))
        old, found = encoding.parameters["_primitives"], new.parameters["_primitives"]
        assert np.array_equal(np.triu(old), np.triu(found))
        assert np.abs(np.tril(old, -1) - np.tril(found, -1)).max() > 0.01
        tree = example("tree")
        spectrum = ape.spectrum(tree)
        new = ape.rebuilt(tree, replace(spectrum, w=spectrum.w * 0.3))
        dead = tree.settings["dead_matrices"]
        assert np.array_equal(
            tree.parameters["_primitives"][dead], new.parameters["_primitives"][dead]
        )

    def test_symmetric_part_stays(self) -> None:
        encoding = example("sequence")
        spectrum = ape.spectrum(encoding)
        new = ape.rebuilt(encoding, replace(spectrum, w=spectrum.w + 0.25))
        old, found = encoding.parameters["_primitives"], new.parameters["_primitives"]
        assert found + np.swapaxes(found, -1, -2) == pytest.approx(
            old + np.swapaxes(old, -1, -2), abs=1e-14
        )

    @pytest.mark.parametrize("layout", ["sequence", "tril", "grid"])
    def test_scores_depend_on_differences_alone(self, layout: str) -> None:
        encoding = example(layout)
        at = places(encoding)
        q, k = drawn(encoding, len(at), 1, 1), drawn(encoding, len(at), 1, 2)
        here = score(encoding, q, k, at, at)
        there = score(encoding, q, k, at + 11.0, at + 11.0)
        assert here == pytest.approx(there, abs=1e-11)

    @given(st.lists(st.integers(0, 1), max_size=4), st.integers(0, 20))
    @settings(max_examples=30)
    def test_common_beginnings_cancel(self, prefix: list[int], seed: int) -> None:
        rng = np.random.default_rng(seed)
        encoding = example("sos", seed=seed)
        ends = [rng.integers(0, 2, rng.integers(0, 4)).tolist() for _ in range(3)]
        bare, longer = paths.padded(ends), paths.padded([prefix + end for end in ends])
        q, k = drawn(encoding, 3, 1, 1), drawn(encoding, 3, 1, 2)
        assert score(encoding, q, k, bare, bare) == pytest.approx(
            score(encoding, q, k, longer, longer), abs=1e-11
        )
        assert np.array_equal(paths.distance(bare, bare), paths.distance(longer, longer))

    @pytest.mark.parametrize("layout", sorted(LAYOUTS))
    def test_torch_agrees_and_trains(self, layout: str) -> None:
        encoding = example(layout)
        module = assert_torch_agrees(encoding, places(encoding))
        assert float(module._primitives.grad.abs().max()) > 0.0
        assert set(dict(module.named_parameters())) == {"_primitives"}

    def test_torch_rotary_and_fractions(self) -> None:
        module = assert_torch_agrees(one(layouts.rotary(), {"heads": "2"}), positions(1, 0, 3, -2))
        assert float(module.thetas.grad.abs().max()) > 0.0
        assert_torch_agrees(example("sequence"), positions(1, 0.5, 3, -2.25))

    @pytest.mark.parametrize("layout", ["sequence", "grid", "tree"])
    def test_torch_decay(self, layout: str) -> None:
        import torch

        from ropeaudit.encodings.torch.ape import Module

        encoding = example(layout)
        at = places(encoding)
        q = torch.from_numpy(drawn(encoding, len(at), 1, 1))
        place = torch.from_numpy(at)
        for public in (False, True):
            plain = Module(encoding)(q, q, place, place)
            module = Module(encoding, decayed=True, public_steps=public)
            factor = ape.decay(encoding, at, at, public=public)
            found = module(q, q, place, place).detach().numpy()
            assert found == pytest.approx(plain.detach().numpy() * factor, abs=1e-13)


class TestRefusals:
    @pytest.mark.parametrize(
        ("shape", "options", "said"),
        [
            ((8, 64, 32), {}, r"shape \[8, 64, 32\], expected square matrices \(count, n, n\)"),
            ((2, 1, 1), {}, "of at least 2 channels"),
            ((0, 8, 8), {}, "expected square matrices"),
            ((64, 64), {}, r"shape \[64, 64\], expected square matrices"),
            ((5, 8, 8), {"grid": "4x4"}, "expected a multiple of 2 matrices"),
            ((4, 8, 8), {"ape-layout": "tree"}, "2 matrices for each head and one more"),
        ],
    )
    def test_shapes(self, shape: tuple[int, ...], options: dict[str, str], said: str) -> None:
        with pytest.raises(InvalidValue, match=said) as caught:
            recognised({layouts.KEY: np.ones(shape)}, options=options)
        assert caught.value.where == layouts.KEY

    def test_not_a_number(self) -> None:
        a = layouts.drawn(2, 8)
        a[1, 2, 3] = np.nan
        with pytest.raises(InvalidValue, match=re.escape("nan at [1, 2, 3]")):
            recognised({layouts.KEY: a})

    def test_far_too_large(self) -> None:
        a = layouts.drawn(2, 8)
        a[0, 0, 1] = 3e7
        with pytest.raises(InvalidValue, match=r"30000000\.0 at \[0, 0, 1\].*below 1e\+06"):
            recognised({layouts.KEY: a})

    def test_mixed_layouts(self) -> None:
        state = {layouts.KEY: layouts.drawn(2, 8), **layouts.rotary()}
        with pytest.raises(InvalidValue, match="both matrices .* and angles"):
            recognised(state)

    def test_reflections_and_other_matrices_are_no_operators(self) -> None:
        flip = np.eye(4)
        flip[0, 0] = -1.0
        options = {"ape-stores": "operator"}
        with pytest.raises(InvalidValue, match="determinant -1 at 1"):
            recognised({layouts.KEY: np.stack([np.eye(4), flip])}, options=options)
        with pytest.raises(InvalidValue, match="no orthogonal matrix at"):
            recognised({layouts.KEY: layouts.drawn(2, 8)}, options=options)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"ape-skew": "upper"}, "ape-skew is upper, expected full or tril"),
            ({"ape-layout": "ring"}, "expected sequence or tree or grid"),
            ({"branches": "0"}, "branches is 0, expected a whole number from 1"),
            ({"ape-decay": "1.5"}, "expected a factor up to 1, or none"),
            ({"ape-skw": "tril"}, "did you mean ape-skew"),
        ],
    )
    def test_options(self, options: dict[str, str], said: str) -> None:
        layout = {"ape-layout": "tree"} if "branches" in options else {}
        with pytest.raises(UsageError, match=said):
            recognised({layouts.KEY: layouts.drawn(5, 8)}, options={**options, **layout})

    @pytest.mark.parametrize("path", [[[0, 2]], [[-1, 0]], [[0.5, 1]], [[-2, -1]]])
    def test_paths(self, path: Any) -> None:
        with pytest.raises(UsageError, match=r"path|paths"):
            ape.operators(example("tree"), np.array(path, dtype=float))

    def test_rotary_shape(self) -> None:
        with pytest.raises(InvalidValue, match="expected one axis"):
            recognised({"positional_encoder.thetas": np.ones((2, 4))})

    def test_a_file_says_it_in_one_sentence(self, tmp_path: Path) -> None:
        write(tmp_path / "a.pt", {layouts.KEY: np.ones((2, 3, 4), np.float32)})
        subject = resolve(str(tmp_path / "a.pt"))
        assert subject.error is not None
        assert subject.error.kind == "invalid_value"
        assert subject.error.message.count("\n") == 0


def test_a_generator_in_the_usual_basis_is_rope() -> None:
    theta = 10000.0 ** (-np.arange(4) / 4)
    encoding = one({layouts.KEY: block_diagonal(skew(theta))[None] / 2})
    assert ape.spectrum(encoding).w[0, 0, :, 0] == pytest.approx(theta, abs=1e-14)
    turned, _ = ape.operators(encoding, positions(1, (5,)))
    assert turned[0, 0, 0] == pytest.approx(block_diagonal(rotations(5 * theta)), abs=1e-14)
