"""LieRE: the public layout and its layer 0, blocks of all sizes, positions, vectors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.encodings import _algebra as algebra
from ropeaudit.encodings import liere
from ropeaudit.encodings._liere_layout import line
from ropeaudit.encodings._planes import block_diagonal, canonical, skew
from ropeaudit.encodings.core import Encoding
from ropeaudit.errors import InvalidValue, UsageError
from ropeaudit.records import replace
from ropeaudit.resolve import resolve
from tests.encodings import layouts_liere as layouts
from tests.encodings.make import recognised
from tests.encodings.peers import assert_torch_agrees, drawn, positions, score
from tests.encodings.vectors import VECTORS
from tests.make_layout_fixtures import FOLDER

OWN = {"liere-layers": "own"}


def one(raw: Any, options: dict[str, str] | None = None) -> Encoding:
    state = layouts.checkpoint(np.asarray(raw))
    (found,) = recognised(state, options=options, wrap="state_dict")
    return found


def small(g: int, **more: Any) -> Encoding:
    shape: dict[str, Any] = {"layers": 1, "heads": 2, "head_dim": 16} | more
    return one(layouts.initial(g, **shape), {"head-dim": "16"})


def places(axes: int, count: int = 6) -> np.ndarray:
    return np.random.default_rng(3).uniform(-1.0, 1.0, (count, axes))


class TestLayout:
    @pytest.mark.parametrize("g", [2, 4, 8, 16, 32, 64])
    def test_vit_b_has_the_published_numbers_of_parameters(self, g: int) -> None:
        raw = layouts.initial(g)
        vector = VECTORS["liere_param_count_vit_b"]
        assert vector["stored_2d"].get(str(g), raw.size) == raw.size
        encoding = one(raw, OWN)
        assert (encoding.heads, encoding.head_dim, encoding.axes) == (12, 64, ("y", "x"))
        assert encoding.layers == tuple(range(12))
        used = np.count_nonzero(liere.blocks(encoding)) // 2
        assert used == vector["2d"][str(g)]
        assert used * 3 // 2 == vector["3d"][str(g)]

    def test_only_entries_above_the_diagonal_count(self) -> None:
        raw = layouts.initial(8, layers=1, heads=2)
        other = raw + 5 * np.tril(np.ones((8, 8), np.float32))
        a, b = one(raw), one(other)
        assert np.array_equal(liere.generators(a), liere.generators(b))
        upper = np.triu(raw[1, 0, 9].astype(float), 1)
        found = liere.generators(a)[1, 0, 1, 8:16, 8:16]  # block 1 of head 1
        assert np.array_equal(found, upper - upper.T)

    def test_public_code_uses_layer_0_alone(self) -> None:
        raw = layouts.trained(layouts.initial(8, layers=4, heads=2))
        encoding = one(raw)
        assert encoding.layers is None
        assert encoding.settings["layers_used"] == "first"
        assert encoding.settings["dead_layers"] == [1, 2, 3]
        assert encoding.settings["untouched_layers"] == [1, 2, 3]
        assert "layers_used" in encoding.assumed
        assert "liere_layers" in {n.kind for n in encoding.notes}
        assert liere.generators(encoding).shape == (2, 1, 2, 64, 64)
        assert np.array_equal(liere.generators(encoding), liere.generators(one(raw, OWN))[:, :1])

    def test_trained_layers_are_in_use(self) -> None:
        raw = layouts.trained(layouts.initial(8, layers=4, heads=2), (0, 1, 3))
        encoding = one(raw)
        assert encoding.settings["layers_used"] == "own"
        assert encoding.settings["untouched_layers"] == [2]
        assert encoding.settings["dead_layers"] == []
        assert encoding.layers == (0, 1, 2, 3)
        assert liere.spectrum(encoding).w.shape == (4, 2, 32, 2)
        forced = one(raw, {"liere-layers": "first"})
        assert forced.settings["dead_layers"] == [1, 2, 3]
        assert "layers_used" not in forced.assumed

    @pytest.mark.parametrize("g", [2, 8, 64])
    def test_layers_as_initialised_are_recognised_at_any_block(self, g: int) -> None:
        raw = layouts.initial(g, layers=4, heads=6)
        assert one(raw).settings["untouched_layers"] == [1, 2, 3]
        upper = np.triu(np.ones((g, g), dtype=bool), 1)
        raw[:, 2][..., upper] *= np.float32(0.6)  # still within [0, 2 pi)
        assert one(raw).settings["untouched_layers"] == [1, 3]

    def test_one_set_for_all_heads(self) -> None:
        encoding = one(layouts.initial(8, layers=1, per_head=False), {"heads": "12"})
        assert (encoding.heads, encoding.settings["per_head"]) == (12, False)
        assert liere.generators(encoding).shape == (2, 1, 1, 64, 64)
        assert_torch_agrees(encoding, places(2, 3), tolerance=1e-12)

    def test_block_that_does_not_divide_leaves_channels_still(self) -> None:
        encoding = one(layouts.initial(24, layers=1, heads=2))
        spectrum = liere.spectrum(encoding)
        assert spectrum.static == 16
        assert "liere_static" in {n.kind for n in encoding.notes}
        maps, _ = liere.operators(encoding, places(2))
        assert np.array_equal(maps[..., 48:, 48:], np.broadcast_to(np.eye(16), (6, 1, 2, 16, 16)))
        assert not maps[..., :48, 48:].any()

    def test_odd_blocks(self) -> None:
        encoding = small(5)
        spectrum = liere.spectrum(encoding)
        assert spectrum.w.shape == (1, 2, 6, 2)  # three blocks of two planes
        assert spectrum.static == 4

    def test_axes(self) -> None:
        assert one(layouts.initial(4, axes=3, layers=1)).axes == ("t", "y", "x")
        line_ = one(layouts.initial(4, axes=1, layers=1))
        assert line_.axes == ("p",)
        assert liere.spectrum(line_).joint

    @pytest.mark.parametrize("path", sorted(FOLDER.glob("liere_*")), ids=lambda p: p.name)
    def test_fixtures_are_read_whatever_their_format(self, path: Path) -> None:
        subject = resolve(str(path))
        assert subject.error is None
        (encoding,) = subject.encodings
        assert encoding.settings["block"] == int(path.name.split("_")[1].split(".")[0])
        used = "own" if "own_layers" in path.name else "first"
        assert encoding.settings["layers_used"] == used
        assert not {n.kind for n in subject.notes} & {"learned", "insufficient"}


class TestPositions:
    @pytest.mark.parametrize("steps", [8, 12, 14, 16, 20, 24, 28])
    def test_spacing(self, steps: int) -> None:
        vector = VECTORS["liere_positions"]
        found = line(steps, vector["n_train"])
        assert len(found) == steps
        assert found[1] == pytest.approx(vector["spacing"][str(steps)], abs=1e-16)
        assert found[-1] == pytest.approx(vector["max_pos"][str(steps)], abs=1e-14)
        assert found == pytest.approx(np.linspace(0, steps / 14, steps), abs=1e-14)
        assert line(1, 14) == [0.0]

    def test_grids(self) -> None:
        encoding = one(layouts.initial(4, layers=1), {"grid": "14x8", "test-grid": "28x8"})
        at = encoding.positions
        assert (at.trained, at.used, at.integer) == ((14, 8), (28, 8), False)
        assert at.step == pytest.approx((2 / 27, 1 / 7), abs=1e-14)
        assert at.extent == pytest.approx((2.0, 1.0), abs=1e-14)
        assert not encoding.assumed & {"grid", "test-grid"}
        nyquist = VECTORS["aliasing"]["liere_step"]
        assert np.pi / line(14, 14)[1] == pytest.approx(nyquist["nyquist_freq_per_unit_position"])
        assert np.pi / line(28, 14)[1] == pytest.approx(nyquist["n=28"])

    def test_what_is_assumed_is_said(self) -> None:
        encoding = one(layouts.initial(4, layers=1))
        assert encoding.positions.trained == (14, 14)
        assert {"grid", "test-grid", "head-dim"} <= encoding.assumed
        assert "liere_grid" in {n.kind for n in encoding.notes}


class TestVectors:
    def test_one_axis(self) -> None:
        vector = VECTORS["liere_1d"]
        raw = np.array(vector["raw_param_upper"])
        encoding = one(raw[None, None, None], {"head-dim": "4"})
        assert np.array_equal(liere.generators(encoding)[0, 0, 0], np.array(vector["A"]))
        w = liere.spectrum(encoding).w[0, 0, :, 0]
        assert w == pytest.approx(vector["freqs_per_unit_position"], abs=1e-14)
        step = encoding.positions.step[0]
        assert w * step == pytest.approx(vector["freq_per_step_steps14"], abs=1e-15)

    def test_two_axes_that_do_not_commute(self) -> None:
        vector = VECTORS["liere_2d_noncommuting"]
        raw = np.triu(np.stack([vector["A0"], vector["A1"]]), 1)[:, None, None]
        encoding = one(raw, {"head-dim": "3"})
        spectrum = liere.spectrum(encoding)
        assert not spectrum.joint
        assert spectrum.w[0, 0, 0] == pytest.approx([1.0, 1.0], abs=1e-14)
        assert set(spectrum.directions) == {"y+x", "y-x"}
        diagonal = spectrum.directions["y+x"][0, 0, 0] * np.sqrt(2.0)
        assert diagonal == pytest.approx(vector["pencil_freq_along_(1,1)"], abs=1e-14)
        assert abs(diagonal - vector["linear_would_be"]) > 0.5
        pi, pj, shift = (np.array(vector[name]) for name in ("pi", "pj", "shift"))
        at = np.stack([pi, pj, pi + shift, pj + shift, pi + pj])
        m = liere.operators(encoding, at)[0][:, 0, 0]
        relativity = np.linalg.norm(m[0].T @ m[1] - m[2].T @ m[3])
        assert relativity == pytest.approx(vector["relativity_defect_fro"], abs=1e-14)
        law = np.linalg.norm(m[0] @ m[1] - m[4])
        assert law == pytest.approx(vector["group_law_defect_fro_R(a)R(b)-R(a+b)"], abs=1e-14)
        a, b = liere.generators(encoding)[:, 0, 0]
        first = 0.5 * abs(pi[0] * pj[1] - pi[1] * pj[0])
        first *= float(algebra.frobenius(algebra.commutator(a, b)))
        name = "first_order_prediction 0.5*|a0 b1-a1 b0|*comm"
        assert first == pytest.approx(vector[name], abs=1e-14)

    def test_blocks_of_two_are_vectors(self) -> None:
        vector = VECTORS["liere_2d_block2_commuting"]
        both = np.array([vector["axis0"], vector["axis1"]])
        raw = np.stack([both[:, :2, :2], both[:, 2:, 2:]], axis=1)[:, None]
        encoding = one(np.triu(raw, 1), {"head-dim": "4"})
        spectrum = liere.spectrum(encoding)
        assert spectrum.joint
        assert np.array_equal(spectrum.w[0, 0], np.array(vector["vectors_up_to_sign"]))
        pencil = algebra.frequencies(liere.generators(encoding).sum(axis=0)[0, 0])
        assert pencil == pytest.approx(vector["pencil_(1,1)"], abs=1e-14)

    @pytest.mark.parametrize("g", [2, 4, 8, 16, 32, 64])
    def test_initial_spectra(self, g: int) -> None:
        """The same draws as the reference: 200 blocks (40 of the large ones), sizes in turn."""
        vector = VECTORS["liere_default_init_stats"]["by_block"]
        rng = np.random.default_rng(0)
        for size in (2, 4, 8, 16, 32, 64):
            raw = rng.uniform(0, 2 * np.pi, (200 if size < 32 else 40, 2, size, size))
            if size == g:
                break
        family = np.moveaxis(algebra.skew_part(np.triu(raw, 1)), 1, 0)
        w = algebra.frequencies(family[0])
        expected = vector[str(g)]
        assert w[:, 0].mean() == pytest.approx(expected["mean_top_freq"], rel=1e-12)
        assert w[:, -1].mean() == pytest.approx(expected["mean_min_freq"], rel=1e-10)
        commutator = algebra.relative_commutator(*family).mean()
        assert commutator == pytest.approx(expected["mean_rel_commutator"], rel=1e-12)
        mean_matrix = np.triu(np.full((g, g), np.pi), 1)
        top = algebra.frequencies(algebra.skew_part(mean_matrix))[0]
        assert top == pytest.approx(expected["pi_cot(pi/2g)"], rel=1e-12)
        for steps in (8, 14):
            turn = w[:, 0].mean() * line(steps, steps)[1]
            assert turn == pytest.approx(expected[f"rad_per_step_steps{steps}"], rel=1e-12)


class TestLaws:
    @given(st.sampled_from([2, 3, 4, 8, 16]), st.integers(1, 3), st.integers(0, 99))
    @settings(max_examples=30)
    def test_new_frequencies_in_old_planes(self, g: int, axes: int, seed: int) -> None:
        encoding = small(g, axes=axes, seed=seed)
        spectrum = liere.spectrum(encoding)
        raw = encoding.parameters["generator_raw_params"]
        same = liere.rebuilt(encoding, spectrum).parameters["generator_raw_params"]
        assert same == pytest.approx(raw, abs=1e-12)
        low = np.tril(np.ones((g, g), dtype=bool))
        assert np.array_equal(same[..., low], raw[..., low])
        halved = liere.rebuilt(encoding, replace(spectrum, w=spectrum.w / 2))
        assert liere.generators(halved) == pytest.approx(liere.generators(encoding) / 2, abs=1e-12)

    def test_one_plane_moves_alone(self) -> None:
        encoding = small(8, axes=1)
        spectrum = liere.spectrum(encoding)
        w = spectrum.w.copy()
        w[0, 1, 5, 0] = 0.01  # second plane of the second block of head 1
        found = liere.spectrum(liere.rebuilt(encoding, replace(spectrum, w=w))).w
        assert np.sort(found[0, 1, 4:, 0]) == pytest.approx(np.sort(w[0, 1, 4:, 0]), abs=1e-12)
        assert found[0, 0] == pytest.approx(w[0, 0], abs=1e-12)

    def test_layers_that_are_not_used_stay(self) -> None:
        raw = layouts.initial(8, layers=3, heads=2)
        encoding = one(raw)
        spectrum = liere.spectrum(encoding)
        new = liere.rebuilt(encoding, replace(spectrum, w=spectrum.w / 2))
        found = new.parameters["generator_raw_params"]
        assert np.array_equal(found[:, 1:], raw[:, 1:])
        assert np.abs(found[:, 0] - raw[:, 0]).max() > 0.1

    @given(st.integers(0, 99), st.integers(1, 3))
    @settings(max_examples=20)
    def test_dense_families_that_commute_are_joint(self, seed: int, axes: int) -> None:
        rng = np.random.default_rng(seed)
        w = rng.standard_normal((4, axes))
        q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
        family = np.stack([q @ block_diagonal(skew(w[:, a])) @ q.T for a in range(axes)])
        for dtype, tolerance in ((np.float64, 1e-9), (np.float32, 1e-4)):
            raw = np.triu(family, 1)[:, None, None].astype(dtype)
            encoding = one(raw, {"head-dim": "8"})
            spectrum = liere.spectrum(encoding)
            assert spectrum.joint
            assert not spectrum.directions
            expected = canonical(w[np.argsort(-np.linalg.norm(w, axis=1))])[0]
            assert spectrum.w[0, 0] == pytest.approx(expected, abs=tolerance)
            halved = liere.rebuilt(encoding, replace(spectrum, w=spectrum.w / 2))
            assert liere.spectrum(halved).w == pytest.approx(spectrum.w / 2, abs=1e-9)

    @pytest.mark.parametrize(("g", "axes", "exact"), [(2, 3, True), (16, 1, True), (16, 2, False)])
    def test_scores_depend_on_differences_where_generators_commute(
        self, g: int, axes: int, exact: bool
    ) -> None:
        encoding = small(g, axes=axes)
        at = places(axes)
        q, k = drawn(encoding, 6, 1, 1), drawn(encoding, 6, 1, 2)
        apart = np.abs(score(encoding, q, k, at, at) - score(encoding, q, k, at + 0.5, at + 0.5))
        assert bool(apart.max() < 1e-11) is exact
        assert liere.spectrum(encoding).joint is exact

    def test_class_token_is_not_rotated(self) -> None:
        maps, _ = liere.operators(small(8), np.zeros((1, 2)))
        assert maps[0, 0, 0] == pytest.approx(np.eye(16), abs=1e-14)

    def test_operators_are_exponentials(self) -> None:
        encoding = small(8, axes=3)
        at = places(3)
        expected = algebra.expm(np.tensordot(at, liere.generators(encoding), axes=1))
        for maps in liere.operators(encoding, at):
            assert maps == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize("g", [2, 6, 16])
    def test_torch_agrees_and_trains(self, g: int) -> None:
        module = assert_torch_agrees(small(g, axes=3), places(3, 4), tolerance=1e-11)
        gradient = module.generator_raw_params.grad
        low = np.tril(np.ones((g, g), dtype=bool))
        assert float(gradient.abs().max()) > 0.0
        assert not gradient.numpy()[..., low].any()

    def test_torch_layers(self) -> None:
        raw = layouts.initial(8, layers=3, heads=2)
        assert_torch_agrees(one(raw, OWN), places(2, 3), layers=3, tolerance=1e-11)
        module = assert_torch_agrees(one(raw), places(2, 3), tolerance=1e-11)
        assert not module.generator_raw_params.grad[:, 1:].any()


class TestRefusals:
    @pytest.mark.parametrize(
        ("shape", "said"),
        [
            ((2, 12, 8, 8), "expected (axes, layers or 1, blocks, g, g)"),
            ((2, 1, 8, 8, 4), "expected (axes, layers or 1, blocks, g, g)"),
            ((4, 1, 8, 8, 8), "expected 1 to 3 axes in front"),
            ((2, 1, 8, 128, 128), "expected blocks of 2 to 64 channels"),
            ((2, 1, 9, 1, 1), "expected blocks of 2 to 64 channels"),
            ((2, 1, 9, 8, 8), "9 blocks of 8 channels, which make no whole heads of 64"),
        ],
    )
    def test_shapes(self, shape: tuple[int, ...], said: str) -> None:
        with pytest.raises(InvalidValue, match=re.escape(said)) as caught:
            one(np.ones(shape, np.float32))
        assert caught.value.where == layouts.KEY

    def test_not_finite(self) -> None:
        raw = layouts.initial(2, layers=1, heads=1)
        raw[0, 0, 3, 0, 1] = np.inf
        with pytest.raises(InvalidValue, match=re.escape("inf at [0, 0, 3, 0, 1]")):
            one(raw)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"grid": "14"}, None),
            ({"grid": "14x14x14"}, "expected 2 sizes such as 14x14"),
            ({"liere-layers": "all"}, "expected first or own"),
            ({"heads": "5"}, "8 for each of 5 heads"),
        ],
    )
    def test_options(self, options: dict[str, str], said: str | None) -> None:
        raw = layouts.initial(8, layers=1, heads=2)
        if said is None:
            assert one(raw, options).positions.trained == (14, 14)
            return
        with pytest.raises((UsageError, InvalidValue), match=said):
            one(raw, options)


def test_positions_helper_matches_axes() -> None:
    maps, _ = liere.operators(small(2, axes=1), positions(1, 0.5, 1.0))
    assert maps.shape == (2, 1, 2, 16, 16)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float8_e5m2"])
def test_a_narrow_format_makes_nothing_commute(dtype: str) -> None:
    """Blocks of 64 start with commutators of about 0.117, 15 steps of bfloat16."""
    encoding = replace(one(layouts.initial(64, layers=1, heads=2)), dtype=dtype)
    assert not liere.spectrum(encoding).joint
    pairs = replace(one(layouts.initial(2, layers=1, heads=2)), dtype=dtype)
    assert not np.any(liere.spectrum(pairs).noise)
