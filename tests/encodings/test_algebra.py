"""Exponentials, spectra and planes of rotation generators, against closed forms and mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.encodings import _algebra as algebra
from ropeaudit.encodings._normal_form import (
    from_normal_form,
    normal_form,
    plane_vectors,
    principal_log,
    skew_planes,
)
from ropeaudit.encodings._planes import block_diagonal, canonical, rotations, skew
from tests.encodings.vectors import VECTORS

SIZES = st.integers(1, 9)
SEEDS = st.integers(0, 2**32 - 1)
ANGLES = st.one_of(
    st.sampled_from([0.0, 1e-9, 1e-5, 1e-3, 0.5, 1.0, np.pi - 1e-9, np.pi]),
    st.floats(0.0, np.pi),
)


def orthogonal(n: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]


def skewed(*shape: int, seed: int = 0) -> np.ndarray:
    return algebra.skew_part(np.random.default_rng(seed).standard_normal(shape))


def turned(q: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    whole: np.ndarray = q @ block_diagonal(blocks, len(q)) @ q.T
    return whole


class TestExponential:
    def test_both_ways_agree_with_mpmath(self) -> None:
        for scale in (0.01, 1.0, 40.0):
            b = skewed(5, 5) * scale
            with mpmath.workdps(40):
                exact = mpmath.expm(mpmath.matrix(b.tolist()))
            expected = np.array(exact.tolist(), dtype=float)
            rounding = 4e-16 * (4 + np.linalg.norm(b))
            assert algebra.expm(b) == pytest.approx(expected, abs=2 * rounding)
            assert algebra.expm_skew(b) == pytest.approx(expected, abs=2 * rounding)

    def test_any_matrix_and_every_member_of_a_batch(self) -> None:
        rng = np.random.default_rng(3)
        a = rng.standard_normal((2, 3, 4, 4)) * np.array([0.01, 1.0, 30.0])[:, None, None]
        found = algebra.expm(a)
        for i, j in np.ndindex(2, 3):
            exact = np.array(mpmath.expm(mpmath.matrix(a[i, j].tolist())).tolist(), dtype=float)
            assert np.abs(found[i, j] - exact).max() <= 1e-11 * np.abs(exact).max()

    def test_zero_and_nothing(self) -> None:
        ones = np.tile(np.eye(3), (2, 1, 1))
        assert algebra.expm(np.zeros((2, 3, 3))) == pytest.approx(ones, abs=1e-14)
        assert algebra.expm(np.zeros((0, 3, 3))).shape == (0, 3, 3)

    @given(SIZES, SEEDS)
    @settings(max_examples=20)
    def test_times_add_up(self, n: int, seed: int) -> None:
        b = skewed(2, n, n, seed=seed)
        one, two, three = algebra.expm_skew(b, np.array([0.7, -2.0, -1.3]))
        assert one @ two == pytest.approx(three, abs=1e-13)
        assert algebra.orthogonality_defect(one).max(initial=0.0) < 1e-13

    def test_family_on_shared_and_other_lines(self) -> None:
        family = skewed(2, 3, 4, 4)
        at = np.array(
            [(0, 0), (1, 2), (2, 4), (-0.5, -1), (1, 0), (0, 3), (1e-9, 2e-9), (1, 2.001)]
        )
        found = algebra.expm_family(family, at)
        expected = algebra.expm(np.tensordot(at, family, axes=1))
        assert found == pytest.approx(expected, abs=1e-13)
        assert found[0] == pytest.approx(np.tile(np.eye(4), (3, 1, 1)), abs=1e-14)


class TestSpectra:
    @given(st.lists(ANGLES, min_size=1, max_size=5), SEEDS, st.booleans())
    @settings(max_examples=60)
    def test_generator_and_operator_tell_the_angles(
        self, theta: list[float], seed: int, odd: bool
    ) -> None:
        falling = np.sort(theta)[::-1]
        q = orthogonal(2 * len(theta) + odd, seed)
        b = turned(q, skew(np.array(theta)))
        b = (b - b.T) / 2
        assert algebra.frequencies(b) == pytest.approx(falling, abs=1e-13)
        assert algebra.angles(algebra.expm(b)) == pytest.approx(falling, abs=1e-13)

    def test_float32_angles_keep_their_digits(self) -> None:
        vector = VECTORS["ape_from_rope"]
        c = np.array(vector["C"])
        assert algebra.angles(c) == pytest.approx(np.array(vector["angles_from_schur"]), abs=1e-14)
        b = np.array(vector["B_generator"])
        assert algebra.frequencies(b) == pytest.approx(np.array(vector["angles_from_B"]), abs=1e-14)
        narrow = algebra.angles(c.astype(np.float32))
        assert narrow == pytest.approx(np.array(vector["float32_eig_angle"]), abs=1.5e-7)
        cosines = np.linalg.eigvalsh(((c + c.T) / 2).astype(np.float32))
        lost = np.arccos(np.minimum(cosines, np.float32(1.0)))[-1]
        assert abs(lost - 1e-3) > 100 * abs(narrow[-1] - 1e-3)

    def test_triangle_is_exact(self) -> None:
        vector = VECTORS["triu_exact"]
        b, a = np.array(vector["B"]), np.array(vector["A"])
        assert np.array_equal(np.triu(b, 1), a)
        assert np.abs(algebra.skew_part(a) - b).max() == vector["max_abs_residual"]
        assert algebra.frequencies(b) == pytest.approx(np.array(vector["freqs"]), abs=1e-14)
        symmetric = a + np.array([[1, 2, 0, 1], [2, 5, 3, 0], [0, 3, 1, 1], [1, 0, 1, 2]])
        assert algebra.skew_part(symmetric) == pytest.approx(b, abs=1e-14)

    def test_folding_keeps_one_sign_for_all_axes(self) -> None:
        vector = VECTORS["aliasing"]
        plane = vector["2d_integer"]
        assert algebra.folded(np.array(plane["w"])) == pytest.approx(plane["canonical"], abs=1e-14)
        assert algebra.folded(np.array(plane["equiv"])) == pytest.approx(
            plane["canonical"], abs=1e-14
        )
        assert algebra.folded(np.array(plane["NOT_equiv"])) != pytest.approx(plane["canonical"])
        line = vector["1d_integer"]
        (found,) = algebra.folded(np.array([line["omega"]]))
        assert found == pytest.approx(line["alias"], abs=1e-14)
        lags = np.arange(50)
        difference = np.abs(np.cos(line["omega"] * lags) - np.cos(found * lags)).max()
        assert difference <= 2 * line["max_cos_diff_d<50"]


class TestNormalForm:
    @given(st.lists(ANGLES, max_size=5), st.sampled_from([(), (1.0,), (-1.0,), (1.0, -1.0)]), SEEDS)
    @settings(max_examples=120)
    def test_round_trip(self, theta: list[float], single: tuple[float, ...], seed: int) -> None:
        n = 2 * len(theta) + len(single)
        if not n:
            return
        q = orthogonal(n, seed)
        c = from_normal_form(q, np.array(theta), np.array(single))
        basis, found, signs = normal_form(c)
        assert basis.T @ basis == pytest.approx(np.eye(n), abs=1e-13)
        assert from_normal_form(basis, found, signs) == pytest.approx(c, abs=1e-13)
        assert (np.diff(found) <= 0).all()
        assert ((found >= 0) & (found <= np.pi)).all()
        expected = sorted(theta, reverse=True)
        # Single channels join into planes of angle 0 or pi where they can.
        assert (signs < 0).any() == (np.linalg.det(c) < 0)
        if len(found) == len(expected):
            assert found == pytest.approx(expected, abs=1e-13)

    @given(st.lists(ANGLES, max_size=5), st.booleans(), SEEDS)
    @settings(max_examples=60)
    def test_planes_of_generators(self, theta: list[float], odd: bool, seed: int) -> None:
        n = 2 * len(theta) + odd
        if not n:
            return
        b = turned(orthogonal(n, seed), skew(np.array(theta)))
        b = (b - b.T) / 2
        q, w = skew_planes(b)
        assert q.T @ q == pytest.approx(np.eye(n), abs=1e-13)
        assert w == pytest.approx(np.sort(theta)[::-1], abs=1e-13)
        assert turned(q, skew(w)) == pytest.approx(b, abs=1e-13)

    def test_principal_logarithm(self) -> None:
        for case in VECTORS["principal_log"]["cases"]:
            log = principal_log(rotations(np.array(case["theta"])))
            assert log is not None
            assert abs(log[1, 0]) == pytest.approx(case["folded_abs"], abs=2e-14)
            assert log[1, 0] == pytest.approx(case["expected_remainder_2pi"], abs=2e-14)
            kept = bool(abs(log[1, 0] - case["theta"]) < 1e-9)
            assert kept is case["recovers_theta"]

    def test_at_minus_one_the_logarithm_is_real(self) -> None:
        log = principal_log(-np.eye(2))
        assert log is not None
        vector = VECTORS["principal_log"]["minus_identity_2x2"]
        assert np.abs(log) == pytest.approx(np.abs(vector["a_real_skew_log"]), abs=1e-14)
        assert algebra.expm(log) == pytest.approx(-np.eye(2), abs=1e-14)
        # The real part of a complex logarithm would give the identity instead.
        wrong = algebra.expm(np.array(vector["scipy_logm_real"]))
        assert wrong == pytest.approx(np.array(vector["exp_of_real_part_only"]), abs=1e-14)

    def test_a_reflection_has_no_logarithm(self) -> None:
        vector = VECTORS["principal_log"]["reflection_det_minus_1"]
        assert (principal_log(np.array(vector["C"])) is not None) is vector["has_real_log"]

    def test_fast_generators_are_not_their_logarithm(self) -> None:
        vector = VECTORS["principal_log"]["trained_B_with_4rad"]
        b = block_diagonal(skew(np.array(vector["freqs_of_B"])))
        log = principal_log(algebra.expm(b))
        assert log is not None
        assert algebra.frequencies(log) == pytest.approx(vector["freqs_of_log_exp_B"], abs=1e-14)
        half = np.linalg.norm(algebra.expm(b / 2) - algebra.expm(log / 2))
        assert half == pytest.approx(vector["half_step_differs"], abs=1e-13)
        assert algebra.expm(log) == pytest.approx(algebra.expm(b), abs=1e-14)

    def test_polar_decomposition_says_nothing(self) -> None:
        """For orthogonal matrices U is the matrix itself, and no block diagonal."""
        vector = VECTORS["ape_from_rope"]
        c = np.array(vector["C"])
        u, s, vh = np.linalg.svd(c)
        assert np.abs((vh.T * s) @ vh - np.eye(8)).max() <= 20 * vector["polar_P_minus_I_max"]
        polar = u @ vh
        assert np.abs(polar - c).max() <= 20 * vector["polar_U_minus_C_max"]
        off = polar * (1 - block_diagonal(np.ones((4, 2, 2))))
        assert np.abs(off).max() == pytest.approx(vector["polar_U_offblock_max"], abs=1e-14)
        q, theta, _ = normal_form(c)
        assert theta == pytest.approx(np.array(vector["theta"]), abs=1e-14)
        assert q.T @ c @ q == pytest.approx(block_diagonal(rotations(theta)), abs=1e-14)


class TestFamilies:
    @given(st.integers(1, 3), st.integers(1, 4), st.booleans(), SEEDS)
    @settings(max_examples=40)
    def test_commuting_families_have_joint_planes(
        self, axes: int, planes: int, odd: bool, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        w = rng.standard_normal((planes, axes)) * np.exp(rng.uniform(-3, 3, (planes, 1)))
        q = orthogonal(2 * planes + odd, seed)
        family = np.stack([turned(q, skew(w[:, a])) for a in range(axes)])
        family = (family - np.swapaxes(family, -1, -2)) / 2
        assert algebra.largest_commutator(family) < 1e-13
        found, v = plane_vectors(family)
        expected = canonical(w[np.argsort(-np.linalg.norm(w, axis=1))])[0]
        assert found == pytest.approx(expected, abs=1e-8 * np.abs(w).max())
        again = np.stack([algebra.from_planes(v, found[:, a]) for a in range(axes)])
        assert again == pytest.approx(family, abs=1e-8 * np.abs(w).max())

    def test_equal_and_still_planes(self) -> None:
        w = np.array([(1.0, 2.0), (1.0, 2.0), (0.0, 0.0), (0.0, 0.0)])
        q = orthogonal(8, 1)
        family = np.stack([turned(q, skew(w[:, a])) for a in range(2)])
        found, v = plane_vectors(family)
        assert found == pytest.approx(w, abs=1e-13)
        # Planes that stand still are planes all the same: they can be given a frequency.
        new = np.array([(1.0, 2.0), (3.0, 1.0), (0.5, 0.1), (0.2, 0.7)])
        moved = np.stack([algebra.from_planes(v, new[:, a]) for a in range(2)])
        joint, _ = algebra.joint_vectors(moved)
        order = np.argsort(-np.linalg.norm(new, axis=1))
        assert joint == pytest.approx(new[order], abs=1e-13)

    def test_commutator_of_two_rotations_of_space(self) -> None:
        vector = VECTORS["liere_2d_noncommuting"]
        a, b = np.array(vector["A0"]), np.array(vector["A1"])
        assert algebra.frobenius(algebra.commutator(a, b)) == pytest.approx(
            vector["commutator_fro"], abs=1e-14
        )
        assert algebra.relative_commutator(a, b) == pytest.approx(
            vector["relative_commutator"], abs=1e-14
        )
        assert algebra.relative_commutator(a, 0 * a) == 0.0

    def test_symmetric_part_survives_new_frequencies(self) -> None:
        a = np.random.default_rng(5).standard_normal((3, 6, 6))
        old, new = algebra.skew_part(a), skewed(3, 6, 6, seed=6)
        again = algebra.stored_again(a, old, new)
        assert algebra.skew_part(again) == pytest.approx(new, abs=1e-14)
        assert again + np.swapaxes(again, -1, -2) == pytest.approx(
            a + np.swapaxes(a, -1, -2), abs=1e-14
        )
        assert np.array_equal(algebra.stored_again(a, old, old), a)
