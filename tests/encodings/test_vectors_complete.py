"""Every number of ``fixtures/encodings/vectors.json`` is computed again, or is given and said so.

One place for the whole file, so that a key which nobody reproduces is a failure. What the numbers
mean is tested beside each encoding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropeaudit.encodings import _algebra as algebra
from ropeaudit.encodings import _alibi, _growth, _jordan, _paths, ape, axial, jordan, liere
from ropeaudit.encodings._liere_layout import line
from ropeaudit.encodings._normal_form import normal_form, principal_log
from ropeaudit.encodings._planes import block_diagonal, rotations, skew
from ropeaudit.records import replace
from tests.checks.encodings import by_hand
from tests.encodings import layouts_ape, layouts_jordan
from tests.encodings.test_jordan import block, lag, one_score
from tests.encodings.vectors import VECTORS
from tests.probe import test_kernel

V = VECTORS
HALF = np.pi / 2

GIVEN = {
    "principal_log/minus_identity_2x2/scipy_logm_real": "what scipy returns, whose trap it shows",
    "principal_log/minus_identity_2x2/scipy_logm_imag": "the same",
    "principal_log/reflection_det_minus_1/scipy_logm_imag": "the same",
    "ape_repo_init_angles/adamw_fit": "one run of the public fit; test_ape bounds another one",
    "ape_from_rope/logm_minus_B_max": "the rounding of scipy's logarithm",
    "jordan_block/expm(5J)_minus_G": "the rounding of scipy's exponential",
    "jordan_block/group_law_defect_G(2)G(3)-G(5)": "mpmath's rounding at 40 digits: zero",
}  # fmt: skip
"""Subtrees that say what something else returned. Inputs are listed in :data:`INPUTS`."""
ELSEWHERE = {
    "kernel_fit_paper_config": "PAPER",
    "kernel_fit_small": "SMALL",
}
"""Subtrees that ``tests/probe/test_kernel.py`` walks over, and what it calls them."""
INPUTS = set(
    """
axial_rope_vit_deit/head_dim axial_rope_vit_deit/theta axial_rope_vit_swin/head_dim
axial_rope_vit_swin/theta rope_mixed_init/head_dim rope_mixed_init/theta rope_mixed_init/phi
triu_exact/B ape_from_rope/theta ape_from_rope/householder_v ape_repo_init_angles/head_dim
principal_log/reflection_det_minus_1/C principal_log/trained_B_with_4rad/freqs_of_B
ape_tree/W1 ape_tree/W2 ape_tree/q ape_tree/k ape_tree_repo_steps/paths liere_1d/raw_param_upper
liere_2d_noncommuting/A0 liere_2d_noncommuting/A1 liere_2d_noncommuting/pi
liere_2d_noncommuting/pj liere_2d_noncommuting/shift liere_2d_block2_commuting/axis0
liere_2d_block2_commuting/axis1 liere_positions/n_train jordan_block/gamma jordan_block/omega
jordan_block/eta jordan_block/lag jordan_contragredient/q jordan_contragredient/k
jordan_stabilized/L aliasing/1d_integer/omega aliasing/2d_integer/w aliasing/liere_step/n_train
ape_decay_equals_damping/c
""".split()  # noqa: SIM905 (as a list it is a page)
)
ROUNDING = {
    "ape_from_rope/polar_P_minus_I_max", "ape_from_rope/polar_U_minus_C_max",
    "ape_from_rope/orthogonality_defect", "triu_exact/max_abs_residual",
    "aliasing/1d_integer/max_cos_diff_d<50",
}  # fmt: skip
"""Results that are nothing but rounding: ours has to be as small."""


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every number, list or string with its path; lists of cases are walked, too."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        yield path, value
        return
    for key, inner in value.items():
        yield from leaves(inner, f"{path}/{key}" if path else str(key))


LEAVES = dict(leaves(VECTORS))


def arr(path: str) -> np.ndarray:
    return np.array(LEAVES[path])


# Each function yields (path, what we compute).

Pairs = Iterator[tuple[str, Any]]


def _axial_and_mixed() -> Pairs:
    yield "geometric_rope_d8_b10000", 10000.0 ** (-np.arange(4) / 4)
    for name in ("axial_rope_vit_deit", "axial_rope_vit_swin"):
        given = V[name]
        w = axial.table(given["theta"], given["head_dim"])[:, 0, 0]
        yield f"{name}/per_axis", w[0][: given["head_dim"] // 4]
    w = axial.table(100.0, 64)[:, 0, 0]
    yield "axial_rope_vit_deit/channels", w.shape[1]
    repeats = np.unique(np.linalg.norm(w, axis=0), return_counts=True)[1]
    yield "axial_rope_vit_deit/max_cluster_scalar_by_design", repeats.max()
    yield "axial_rope_vit_deit/max_cluster_vector", cluster(by_hand.mixed(w.T, (14, 14)))
    yield "axial_rope_vit_swin/stored_zero_in_float32", np.cos(np.float32(np.pi) / np.float32(2))
    given = V["rope_mixed_init"]
    mag = given["theta"] ** (-4.0 * np.arange(given["head_dim"] // 4) / given["head_dim"])
    angle = given["phi"] + np.repeat([0.0, HALF], len(mag))
    w = np.tile(mag, 2)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    yield "rope_mixed_init/mag", mag
    yield "rope_mixed_init/wx", w[:, 0]
    yield "rope_mixed_init/wy", w[:, 1]
    encoding = by_hand.mixed(w, (14, 14))
    from ropeaudit.encodings import rope_mixed

    turned = rope_mixed.operators(encoding, np.array([(3.0, 5.0)]))[0][0, 0, 0]
    cos, sin = turned[::2, ::2].diagonal(), turned[1::2, ::2].diagonal()
    yield "rope_mixed_init/angle_at_(tx=3,ty=5)", modulo(sin, cos, w @ (3.0, 5.0))
    sizes = np.linalg.norm(w, axis=1)
    yield "rope_mixed_init/checks/norm_pairs_equal", bool(np.allclose(sizes[:16], sizes[16:]))
    yield "rope_mixed_init/checks/vector_cluster", cluster(encoding)
    counts = np.unique(np.round(sizes, 12), return_counts=True)[1]
    yield "rope_mixed_init/checks/scalar_norm_cluster", counts.max()


def modulo(sin: Any, cos: Any, near: Any) -> Any:
    """The angle of a rotation, of all that differ by whole turns the one next to ``near``."""
    angle = np.arctan2(sin, cos)
    return angle + 2 * np.pi * np.round((near - angle) / (2 * np.pi))


def cluster(encoding: Any) -> int:
    from ropeaudit.checks.encodings import duplicate_plane

    found = by_hand.only(duplicate_plane, encoding)
    return int(found.evidence.get("max_cluster", 1))


def _ape() -> Pairs:
    b = arr("triu_exact/B")
    a = np.triu(b, 1)
    yield "triu_exact/A", a
    yield "triu_exact/max_abs_residual", np.abs(algebra.skew_part(a) - b).max()
    yield "triu_exact/freqs", algebra.frequencies(b)
    theta, v = arr("ape_from_rope/theta"), arr("ape_from_rope/householder_v")
    mirror = np.eye(8) - 2 * np.outer(v, v) / (v @ v)
    c = mirror @ block_diagonal(rotations(theta)) @ mirror.T
    b = mirror @ block_diagonal(skew(theta)) @ mirror.T
    yield "ape_from_rope/C", c
    yield "ape_from_rope/B_generator", b
    yield "ape_from_rope/A_strict_upper", np.triu(b, 1)
    yield "ape_from_rope/angles_from_B", algebra.frequencies(b)
    yield "ape_from_rope/angles_from_schur", normal_form(c)[1]
    yield "ape_from_rope/orthogonality_defect", algebra.orthogonality_defect(c)
    u, s, vh = np.linalg.svd(c)
    yield "ape_from_rope/polar_P_minus_I_max", np.abs((vh.T * s) @ vh - np.eye(8)).max()
    yield "ape_from_rope/polar_U_minus_C_max", np.abs(u @ vh - c).max()
    off = np.abs((u @ vh) * (1 - block_diagonal(np.ones((4, 2, 2))))).max()
    yield "ape_from_rope/polar_U_offblock_max", off
    single = c.astype(np.float32)
    yield "ape_from_rope/float32_eig_angle", algebra.angles(single)
    cosines = np.clip(np.linalg.eigvalsh((single + single.T) / 2)[::2], -1, 1)
    yield "ape_from_rope/float32_arccos_of_symmetric_part", np.arccos(cosines)
    name = "ape_repo_init_angles"
    angles = layouts_ape.angles(V[name]["head_dim"] // 2)
    plain = 10000.0 ** (-np.arange(32) / 32)
    encoding = by_hand.ape(by_hand.generator(angles))
    from ropeaudit.checks.encodings import inherited_twins

    yield f"{name}/planes", len(ape.spectrum(encoding).w[0, 0])
    yield f"{name}/angles", angles
    yield f"{name}/distinct", len(set(angles))
    yield f"{name}/max_cluster", by_hand.only(inherited_twins, encoding).evidence["max_cluster"]
    yield f"{name}/true_rope_angles", plain
    gamma = -math.log(V["ape_decay_equals_damping"]["c"])
    yield "ape_decay_equals_damping/gamma", gamma
    yield "ape_decay_equals_damping/half_distance", math.log(2) / gamma


def _logarithms() -> Pairs:
    for n, case in enumerate(V["principal_log"]["cases"]):
        at, theta = f"principal_log/cases/{n}", case["theta"]
        yield f"{at}/theta", theta
        log = principal_log(rotations(np.array(theta)))
        assert log is not None
        yield f"{at}/principal_log_lower_left", log[1, 0]
        yield f"{at}/expected_remainder_2pi", theta - 2 * np.pi * round(theta / (2 * np.pi))
        yield f"{at}/folded_abs", abs(algebra.folded(np.array([theta]))[0])
        yield f"{at}/recovers_theta", bool(abs(log[1, 0] - theta) < 1e-9)
    at = "principal_log/minus_identity_2x2"
    log = principal_log(-np.eye(2))
    assert log is not None
    yield f"{at}/a_real_skew_log", log if log[1, 0] > 0 else log.T
    yield f"{at}/exp_of_real_part_only", algebra.expm(arr(f"{at}/scipy_logm_real"))
    mirror = principal_log(arr("principal_log/reflection_det_minus_1/C"))
    yield "principal_log/reflection_det_minus_1/has_real_log", mirror is not None
    at = "principal_log/trained_B_with_4rad"
    b = block_diagonal(skew(arr(f"{at}/freqs_of_B")))
    log = principal_log(algebra.expm_skew(b))
    assert log is not None
    yield f"{at}/freqs_of_log_exp_B", algebra.frequencies(log)
    half = algebra.frobenius(algebra.expm_skew(b / 2) - algebra.expm_skew(log / 2))
    yield f"{at}/half_step_differs", half


def _trees() -> Pairs:
    # The current public code multiplies by the transposed map of each branch.
    branches = np.stack([arr("ape_tree/W1").T, arr("ape_tree/W2").T])
    at = [[0, 1], [1, 0]]
    m = _paths.maps(branches, _paths.padded(at))
    yield "ape_tree/M_[0,1]", m[0]
    yield "ape_tree/M_[1,0]", m[1]
    q, k = arr("ape_tree/q"), arr("ape_tree/k")
    yield "ape_tree/score_q@[0,1]_k@[1,0]", (m[0] @ q) @ (m[1] @ k)
    far = _paths.maps(branches, _paths.padded([[1, *p] for p in at]))
    yield "ape_tree/score_with_common_prefix_[1]", (far[0] @ q) @ (far[1] @ k)
    commutator = algebra.frobenius(algebra.commutator(*branches))
    yield "ape_tree/commutator_group_norm", commutator
    steps = _paths.distance(*(_paths.padded([p]) for p in at))[0, 0]
    yield "ape_tree/steps_distance", steps
    yield "ape_tree/decay_0.98_pow_steps", 0.98**steps
    name = "ape_tree_repo_steps"
    paths = V[name]["paths"]
    own, more = (_paths.padded(p) for p in (paths, [*paths, [0, 0, 0, 0]]))
    yield f"{name}/true_tree_distance", _paths.distance(own, own)
    yield f"{name}/repo_HEAD_returns", _paths.public_distance(own, own)
    yield f"{name}/repo_HEAD_with_extra_[0,0,0,0]", _paths.public_distance(more, more)


def _liere_small() -> Pairs:
    raw = arr("liere_1d/raw_param_upper")
    encoding = by_hand.liere(raw[None, None, None], grid=(14,))
    yield "liere_1d/A", liere.generators(encoding)[0, 0, 0]
    w = liere.spectrum(encoding).w[0, 0, :, 0]
    yield "liere_1d/freqs_per_unit_position", w
    yield "liere_1d/check", w
    yield "liere_1d/freq_per_step_steps14", w * encoding.positions.step[0]
    name = "liere_2d_noncommuting"
    both = np.stack([arr(f"{name}/A0"), arr(f"{name}/A1")])
    encoding = by_hand.liere(np.triu(both, 1)[:, None, None])
    family = liere.generators(encoding)[:, 0, 0]
    commutator = algebra.frobenius(algebra.commutator(*family))
    yield f"{name}/commutator_fro", commutator
    yield f"{name}/relative_commutator", algebra.relative_commutator(*family)
    pi, pj, shift = (arr(f"{name}/{n}") for n in ("pi", "pj", "shift"))
    at = np.stack([pi, pj, pi + shift, pj + shift, pi + pj])
    m = liere.operators(encoding, at)[0][:, 0, 0]
    yield f"{name}/relativity_defect_fro", np.linalg.norm(m[0].T @ m[1] - m[2].T @ m[3])
    law = f"{name}/group_law_defect_fro_R(a)R(b)-R(a+b)"
    yield law, np.linalg.norm(m[0] @ m[1] - m[4])
    small = 0.5 * abs(pi[0] * pj[1] - pi[1] * pj[0]) * commutator
    yield f"{name}/first_order_prediction 0.5*|a0 b1-a1 b0|*comm", small
    found = liere.spectrum(encoding)
    yield f"{name}/pencil_freq_along_axis0", found.w[0, 0, 0, 0]
    yield f"{name}/pencil_freq_along_axis1", found.w[0, 0, 0, 1]
    along = found.directions["y+x"][0, 0, 0] * math.sqrt(2)
    yield f"{name}/pencil_freq_along_(1,1)", along
    yield f"{name}/linear_would_be", found.w[0, 0, 0].sum()
    name = "liere_2d_block2_commuting"
    both = np.stack([arr(f"{name}/axis0"), arr(f"{name}/axis1")])
    raw = np.stack([both[:, :2, :2], both[:, 2:, 2:]], axis=1)[:, None]
    encoding = by_hand.liere(np.triu(raw, 1))
    yield f"{name}/commutator_fro", algebra.frobenius(algebra.commutator(*both))
    yield f"{name}/vectors_up_to_sign", liere.spectrum(encoding).w[0, 0]
    yield f"{name}/pencil_(1,1)", algebra.frequencies(both.sum(0))


def _liere_sizes() -> Pairs:
    rng = np.random.default_rng(0)
    for g in (2, 4, 8, 16, 32, 64):
        at = f"liere_default_init_stats/by_block/{g}"
        raw = rng.uniform(0, 2 * np.pi, (200 if g < 32 else 40, 2, g, g))
        family = np.moveaxis(algebra.skew_part(np.triu(raw, 1)), 1, 0)
        w = algebra.frequencies(family[0])
        yield f"{at}/mean_top_freq", w[:, 0].mean()
        yield f"{at}/mean_min_freq", w[:, -1].mean()
        yield f"{at}/mean_rel_commutator", algebra.relative_commutator(*family).mean()
        yield f"{at}/pi_cot(pi/2g)", math.pi / math.tan(math.pi / (2 * g))
        for steps in (8, 14):
            yield f"{at}/rad_per_step_steps{steps}", w[:, 0].mean() * line(steps, steps)[1]
    for n in V["liere_positions"]["spacing"]:
        places = line(int(n), V["liere_positions"]["n_train"])
        yield f"liere_positions/spacing/{n}", places[1]
        yield f"liere_positions/max_pos/{n}", places[-1]
    from ropeaudit.checks.encodings import dead_parameters

    for axes in (2, 3):
        for g in V["liere_param_count_vit_b"]["2d"]:
            raw = np.ones((axes, 12, 12 * (64 // int(g)), int(g), int(g)))
            encoding = by_hand.liere(raw, grid=(14,) * axes)
            seen = by_hand.only(dead_parameters, encoding).evidence
            yield f"liere_param_count_vit_b/{axes}d/{g}", seen["effective"]
            if axes == 2 and g in V["liere_param_count_vit_b"]["stored_2d"]:
                yield f"liere_param_count_vit_b/stored_2d/{g}", seen["stored"]
    nyquist = "aliasing/liere_step"
    yield f"{nyquist}/nyquist_freq_per_unit_position", math.pi / line(14, 14)[1]
    yield f"{nyquist}/n=28", math.pi / line(28, 14)[1]


def _jordan_blocks() -> Pairs:
    g2, g3 = lag(block(), 5.0), lag(block(order=3), 5.0)
    yield "jordan_block/G_order2", g2
    yield "jordan_block/G_order3", g3
    eta = V["jordan_block"]["eta"]
    for name, value in (
        ("e^-gd cos", g2[0, 0]), ("e^-gd sin", g2[1, 0]),
        ("d e^-gd cos", g2[0, 2] / eta), ("d e^-gd sin", g2[1, 2] / eta),
    ):  # fmt: skip
        yield f"jordan_block/features_mp/{name}", value
    j = _jordan.generator(jordan.numbers(block()))[0, 0]
    yield "jordan_block/generator_real_4x4", j
    yield "jordan_block/orthogonality_defect_fro", np.linalg.norm(g2.T @ g2 - np.eye(4))
    ranks = _growth.ranks(j, -0.05 + 0.7j, 2, 1e-12)
    yield "jordan_block/rank_(J-lambda I)_complex", ranks[0]
    yield "jordan_block/rank_(J-lambda I)^2_complex", ranks[1]
    name = "jordan_contragredient"
    q, k = arr(f"{name}/q"), arr(f"{name}/k")
    yield f"{name}/direct_q^T G(5) k", q @ g2 @ k
    yield f"{name}/correct_t=-pos (9,4)", one_score(block(), 9, 4)
    yield f"{name}/correct_t=-pos (59,54)", one_score(block(), 59, 54)
    for i, far in ((9, "G(i)^T G(j) (9,4)"), (59, "(59,54)")):
        same = q @ lag(block(), float(i)).T @ lag(block(), i - 5.0) @ k
        yield f"{name}/naive_same_map {far}", same
    yield f"{name}/wrong_sign_t=+pos (9,4)", q @ lag(block(), -5.0) @ k
    yield f"{name}/q^T G(-5) k", q @ lag(block(), -5.0) @ k
    name = "jordan_stabilized"
    length = float(V[name]["L"])
    bounded = block("jordan-stabilized", length=length)
    yield f"{name}/tau(5)", _growth.tau(5.0, length)
    yield f"{name}/shear_pairwise_lag5", lag(bounded, 5.0)[0, 2] / lag(bounded, 5.0)[0, 0]
    for i, j_ in ((9, 4), (59, 54), (109, 104)):
        queries, keys = jordan.operators(bounded, np.array([[i], [j_]], dtype=float))
        between = queries[0, 0, 0].T @ keys[1, 0, 0]
        yield f"{name}/shear_positionwise({i},{j_})", between[0, 2] / between[0, 0]
    yield f"{name}/score(9,4)", one_score(bounded, 9, 4)
    yield f"{name}/score(59,54)", one_score(bounded, 59, 54)
    yield f"{name}/pairwise q^T Gstab(5) k", q @ lag(bounded, 5.0) @ k
    defect = -_growth.group_coefficient(1.0, length, length, length) / length
    yield f"{name}/group_law_defect_coeff tau(2L)-2tau(L) over L", defect
    yield f"{name}/tau_limit_over_L", _growth.tau(1e18, length) / length


def _jordan_numbers() -> Pairs:
    norm = float(_growth.operator_norm(0.05, 0.3 * 5, 5.0))
    yield "jordan_growth/check_lag5", [np.linalg.norm(lag(block(), 5.0), 2), norm]
    at, value = _growth.peak(0.05, 0.3)
    yield "jordan_growth/peak_of_eta d e^{-gamma d}/at_d", at
    yield "jordan_growth/peak_of_eta d e^{-gamma d}/value", value
    name = "jordan_growth/scaled_exact_c1_L1024"
    at, value = _growth.peak(1 / 1024, 1 / 1024)
    yield f"{name}/peak_d", at
    yield f"{name}/peak_over_eta", value
    yield f"{name}/abs_factor_T8192", _growth.rescaling(1 / 1024, 8192)
    name = "jordan_growth/clamp30"
    yield f"{name}/gamma=1/1024 clamps beyond position", _growth.clamp_position(1 / 1024)
    yield f"{name}/gamma=1e-4", _growth.clamp_position(1e-4)
    yield f"{name}/fp16_overflow_exponent", _growth.overflow_exponent("float16")
    for m in (2, 3, 4):
        j = _jordan.generator(jordan.numbers(block(order=m)))[0, 0]
        both = [_growth.numerical_abscissa(0.05, 0.3, m), np.linalg.eigvalsh((j + j.T) / 2)[-1]]
        yield f"jordan_growth/numerical_abscissa/m={m}", both
    name = "jordan_jetmix_group_check"
    for g in ((0.5, 0.25, 0.125), (0.5, 0.3, 0.2)):
        jets = np.array([1.0, *g]).reshape(4, 1, 1, 1)
        numbers = replace(jordan.numbers(block(order=4)), jets=jets)
        yield f"{name}/g=({','.join(map(str, g))})", _jordan.is_group(numbers)
    defects = _growth.jet_defects(np.array([0.5, 0.3, 0.2]))
    yield f"{name}/defect_coeffs g_r-g_1^r for (0.5,0.3,0.2)", defects
    name = "jordan_repo_frequency_grid"
    for m, title in ((1, "m=1 (rope)"), (2, "m=2"), (4, "m=4")):
        w = 10000.0 ** (-2.0 * np.arange(64 // (2 * m)) / 64)
        if m > 1:
            encoding = recognised(f"jordan_m{m}" if m > 2 else "jordan_rope")
            w = jordan.spectrum(encoding).w[0, 0, :, 0]
        yield f"{name}/head_dim64_theta1e4/{title}", [w[0], w[-1]]
        yield f"{name}/counts/m={m}", len(w)
        yield f"{name}/longest_period/m={m}", 2 * math.pi / w[-1]
    name = "jordan_repo_raw_params/raw_gamma for"
    yield (
        f"{name} gamma=gamma_min=init 1e-4 (target clamp 1e-8)",
        layouts_jordan.raw_gamma(1e-4, 1e-4),
    )
    yield f"{name} scaled c=1 L=1024 gamma_min=0", layouts_jordan.raw_gamma(1 / 1024, 0.0)
    raw = layouts_jordan.raw_bounded(0.05, 0.1)
    yield "jordan_repo_raw_params/raw_eta for eta=0.05 eta_max=0.1", raw


def recognised(method: str) -> Any:
    from tests.encodings.jordan_models import read

    return read(method, width=128)


def _slopes_and_aliases() -> Pairs:
    for heads in (8, 12, 16):
        yield f"alibi/slopes_{heads}", _alibi.slopes(heads)
    for heads in V["alibi"]["mpt_equals_press_for"]:
        yield f"alibi/mpt_equals_press_for/{heads}", mpt_agrees(int(heads))
    for slope, name in ((1.0, "1"), (2.0**-0.5, "2^-0.5")):
        at = f"alibi/distinct_bias_values_L4096_slope{name}"
        for dtype in V["alibi"][f"distinct_bias_values_L4096_slope{name}"]:
            yield f"{at}/{dtype}", _alibi.distinct_values(slope, 4096, dtype)
    omega = V["aliasing"]["1d_integer"]["omega"]
    folded = algebra.folded(np.array([omega]))[0]
    yield "aliasing/1d_integer/alias", folded
    lags = np.arange(50)
    apart = np.abs(np.cos(omega * lags) - np.cos(folded * lags)).max()
    yield "aliasing/1d_integer/max_cos_diff_d<50", apart
    flipped = np.allclose(np.sin(omega * lags), -np.sin(folded * lags))
    yield "aliasing/1d_integer/sign_flip", bool(flipped)
    w = arr("aliasing/2d_integer/w")
    yield "aliasing/2d_integer/equiv", w - 2 * np.pi * np.round(w / (2 * np.pi))
    yield "aliasing/2d_integer/canonical", algebra.folded(w)
    yield "aliasing/2d_integer/NOT_equiv", np.abs(algebra.folded(w))


def mpt_agrees(heads: int) -> bool:
    from transformers.models.mpt import modeling_mpt

    theirs = modeling_mpt.build_mpt_alibi_tensor(heads, 2)[:, 0, 0].numpy()
    return bool(np.allclose(-theirs, _alibi.slopes(heads), rtol=1e-6))


GROUPS: tuple[Callable[[], Pairs], ...] = (
    _axial_and_mixed, _ape, _logarithms, _trees, _liere_small, _liere_sizes, _jordan_blocks,
    _jordan_numbers, _slopes_and_aliases,
)  # fmt: skip


@pytest.fixture(scope="module")
def computed() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for group in GROUPS:
        for path, value in group():
            assert path not in found, path
            found[path] = value
    return found


def test_every_number_is_computed_or_given(computed: dict[str, Any]) -> None:
    roots = {*GIVEN, *ELSEWHERE, *INPUTS}
    given = {root: {p for p in LEAVES if f"{p}/".startswith(f"{root}/")} for root in roots}
    assert all(given.values())  # nothing is listed that is not there
    listed = set().union(*given.values())
    assert set(computed) | listed == set(LEAVES)
    assert not set(computed) & listed


@pytest.mark.parametrize(("root", "name"), ELSEWHERE.items())
def test_the_fits_are_walked_over_elsewhere(root: str, name: str) -> None:
    text = Path(test_kernel.__file__).read_text(encoding="utf-8")
    for key in set(V[root]) - {*test_kernel.SETTINGS, "omega"}:  # omega is that of the index
        assert f'{name}["{key}"]' in text


def test_every_computed_number_is_the_stated_one(computed: dict[str, Any]) -> None:
    wrong = {p: (v, LEAVES[p]) for p, v in computed.items() if not agrees(p, v, LEAVES[p])}
    assert not wrong


def agrees(path: str, found: Any, stated: Any) -> bool:
    if isinstance(stated, bool):
        return bool(found) is stated
    if isinstance(stated, str):  # mpmath's digits, more than a float has
        return bool(found == pytest.approx(float(stated), rel=1e-14))
    a, b = np.asarray(found, dtype=float), np.asarray(stated, dtype=float)
    if a.shape != b.shape:
        return False
    if path in ROUNDING:
        return bool(np.abs(a).max() <= 20 * max(np.abs(b).max(), 2.0**-60))
    relative = 1e-6 if path.startswith("ape_from_rope/float32") else 1e-10
    return bool(np.allclose(a, b, rtol=relative, atol=1e-13))
