"""Jordan-RoPE: the vectors, its maps and their growth, and its laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.encodings import _growth, _jordan, jordan
from ropeaudit.encodings._jordan_method import parse
from ropeaudit.encodings.core import Encoding
from ropeaudit.records import replace
from tests.encodings.jordan_models import METHODS, WIDTHS, read
from tests.encodings.peers import assert_torch_agrees, drawn, positions, score
from tests.encodings.vectors import VECTORS

BLOCK, PAIR = VECTORS["jordan_block"], VECTORS["jordan_contragredient"]
STABLE, GROWTH = VECTORS["jordan_stabilized"], VECTORS["jordan_growth"]


def block(
    kind: str = "jordan-raw", order: int = 2, *, length: float | None = None, **values: float
) -> Encoding:
    """One head of one block with the numbers of the vectors."""
    numbers = {"gamma": 0.05, "omega": 0.7, "eta": 0.3, **values}
    return Encoding(
        name=kind,
        kind=kind,
        module="jordan",
        head_dim=2 * order,
        heads=1,
        layers=(0,),
        parameters={k: np.full((1, 1, 1), v) for k, v in numbers.items()},
        settings={
            **parse("jordan_raw_tau", None).settings(),
            "order": order,
            "tau": "linear" if length is None else "bounded",
            "train_context": length or 1024,
        },
    )


def lag(encoding: Encoding, d: float) -> np.ndarray:
    found: np.ndarray = jordan.pairwise(encoding, np.array([d]))[0, 0, 0]
    return found


# The block


def test_features_and_blocks_of_the_vector() -> None:
    g2, g3 = lag(block(), 5.0), lag(block(order=3), 5.0)
    assert g2 == pytest.approx(np.array(BLOCK["G_order2"]), abs=1e-14)
    assert g3 == pytest.approx(np.array(BLOCK["G_order3"]), abs=1e-14)
    cos, sin, dcos, dsin = (float(v) for v in BLOCK["features_mp"].values())
    assert (g2[0, 0], g2[1, 0]) == pytest.approx((cos, sin), abs=1e-15)
    assert (g2[0, 2] / 0.3, g2[1, 2] / 0.3) == pytest.approx((dcos, dsin), abs=1e-14)


def test_generator_of_the_vector() -> None:
    import torch

    found = _jordan.generator(jordan.numbers(block()))[0, 0]
    assert np.array_equal(found, np.array(BLOCK["generator_real_4x4"]))
    exponential = torch.linalg.matrix_exp(torch.tensor(5.0 * found)).numpy()
    assert exponential == pytest.approx(np.array(BLOCK["G_order2"]), abs=1e-14)
    g = jordan.generators(block())
    assert g is not None
    assert np.array_equal(g[0, 0, 0], -found)


def test_ranks_tell_a_block() -> None:
    found = _jordan.generator(jordan.numbers(block()))[0, 0]
    assert _growth.ranks(found, -0.05 + 0.7j, 2, 1e-12) == (
        BLOCK["rank_(J-lambda I)_complex"],
        BLOCK["rank_(J-lambda I)^2_complex"],
    )
    flat = _jordan.generator(jordan.numbers(block(eta=0.0)))[0, 0]
    assert _growth.ranks(flat, -0.05 + 0.7j, 2, 1e-12) == (2, 2)


def test_group_law_and_orthogonality_of_the_vector() -> None:
    g = block()
    assert lag(g, 2.0) @ lag(g, 3.0) == pytest.approx(lag(g, 5.0), abs=1e-15)
    defect = np.linalg.norm(lag(g, 5.0).T @ lag(g, 5.0) - np.eye(4))
    assert defect == pytest.approx(BLOCK["orthogonality_defect_fro"], rel=1e-12)


def test_mpmath_agrees_far_out() -> None:
    import mpmath

    with mpmath.workdps(50):
        j = mpmath.matrix([[mpmath.mpc(-0.05, 0.7), 0.3], [0, mpmath.mpc(-0.05, 0.7)]])
        exact = mpmath.expm(j * 137)
        far = lag(block(), 137.0)
        assert far[0, 0] == pytest.approx(float(exact[0, 0].real), rel=1e-12)
        assert far[1, 2] == pytest.approx(float(exact[0, 1].imag), rel=1e-12)


# Queries and keys


def one_score(encoding: Encoding, i: float, j: float) -> float:
    q, k = (np.array(PAIR[n])[None, None, None] for n in ("q", "k"))
    return float(score(encoding, q, k, positions(1, (i,)), positions(1, (j,)))[0, 0, 0, 0])


def test_the_contragredient_pair_of_the_vector() -> None:
    q, k = np.array(PAIR["q"]), np.array(PAIR["k"])
    assert q @ lag(block(), 5.0) @ k == pytest.approx(PAIR["direct_q^T G(5) k"], rel=1e-14)
    assert one_score(block(), 9, 4) == pytest.approx(PAIR["correct_t=-pos (9,4)"], rel=1e-13)
    assert one_score(block(), 59, 54) == pytest.approx(PAIR["correct_t=-pos (59,54)"], rel=1e-12)


def test_what_the_traps_of_the_vector_give() -> None:
    q, k = np.array(PAIR["q"]), np.array(PAIR["k"])
    queries, keys = jordan.operators(block(), positions(1, (9,)))
    assert keys[0, 0, 0] == pytest.approx(lag(block(), -9.0))
    assert queries[0, 0, 0] == pytest.approx(lag(block(), 9.0).T)
    naive = q @ lag(block(), 9.0).T @ lag(block(), 4.0) @ k
    assert naive == pytest.approx(PAIR["naive_same_map G(i)^T G(j) (9,4)"], rel=1e-12)
    naive = q @ lag(block(), 59.0).T @ lag(block(), 54.0) @ k
    assert naive == pytest.approx(PAIR["naive_same_map (59,54)"], rel=1e-12)
    assert q @ lag(block(), -5.0) @ k == pytest.approx(PAIR["wrong_sign_t=+pos (9,4)"], rel=1e-13)


def test_the_two_stabilized_objects_of_the_vector() -> None:
    found = block("jordan-stabilized", length=16)
    q, k = np.array(PAIR["q"]), np.array(PAIR["k"])
    assert _growth.tau(5.0, 16) == pytest.approx(STABLE["tau(5)"])
    pairwise = q @ lag(found, 5.0) @ k
    assert pairwise == pytest.approx(STABLE["pairwise q^T Gstab(5) k"], rel=1e-13)
    assert one_score(found, 9, 4) == pytest.approx(STABLE["score(9,4)"], rel=1e-13)
    assert one_score(found, 59, 54) == pytest.approx(STABLE["score(59,54)"], rel=1e-12)
    assert lag(found, 5.0)[0, 2] / lag(found, 5.0)[0, 0] == pytest.approx(
        STABLE["shear_pairwise_lag5"]
    )
    for i, j in ((9, 4), (59, 54), (109, 104)):
        queries, keys = jordan.operators(found, positions(1, (i,), (j,)))
        relative = queries[0, 0, 0].T @ keys[1, 0, 0]
        assert relative[0, 2] / relative[0, 0] == pytest.approx(
            STABLE[f"shear_positionwise({i},{j})"], rel=1e-10
        )
    assert jordan.generators(found) is None
    assert _growth.group_coefficient(1.0, 16.0, 16.0, 16.0) / 16 == pytest.approx(
        -STABLE["group_law_defect_coeff tau(2L)-2tau(L) over L"]
    )
    assert _growth.group_coefficient(0.3, 7.0, 9.0, None) == 0.0
    assert _growth.tau(1e12, 16) / 16 == pytest.approx(STABLE["tau_limit_over_L"], rel=1e-9)


def test_the_clamp_breaks_relativity_where_it_says() -> None:
    gamma = 1.0 / 1024
    found = block(gamma=gamma, eta=0.01)
    edge = _growth.clamp_position(gamma)
    assert edge == GROWTH["clamp30"]["gamma=1/1024 clamps beyond position"]
    near, far = one_score(found, 29, 24), one_score(found, edge + 2005, edge + 2000)
    assert one_score(found, edge - 5, edge - 10) == pytest.approx(near, rel=1e-6)
    assert far != pytest.approx(near, rel=1e-4)  # the damping of the lag is gone
    assert far / near == pytest.approx(math.exp(5 * gamma), rel=1e-4)


# Growth


def test_growth_of_the_vector() -> None:
    expected, formula = GROWTH["check_lag5"]
    assert _growth.operator_norm(0.05, 0.3 * 5, 5.0) == pytest.approx(formula, rel=1e-15)
    assert np.linalg.norm(lag(block(), 5.0), 2) == pytest.approx(expected, rel=1e-14)
    at, value = _growth.peak(0.05, 0.3)
    peak = GROWTH["peak_of_eta d e^{-gamma d}"]
    assert (at, value) == pytest.approx((peak["at_d"], peak["value"]), rel=1e-15)
    scaled = GROWTH["scaled_exact_c1_L1024"]
    at, value = _growth.peak(1 / 1024, 1 / 1024)
    assert at == scaled["peak_d"]
    assert value == pytest.approx(scaled["peak_over_eta"], rel=1e-15)
    assert _growth.rescaling(1 / 1024, 8192) == pytest.approx(scaled["abs_factor_T8192"])
    clamp = GROWTH["clamp30"]
    assert _growth.clamp_position(1e-4) == pytest.approx(clamp["gamma=1e-4"])
    assert _growth.overflow_exponent("float16") == pytest.approx(clamp["fp16_overflow_exponent"])
    assert _growth.overflow_position(1.0, "float16") == pytest.approx(
        clamp["fp16_overflow_exponent"]
    )
    assert _growth.overflow_position(1.0, "bfloat16") == math.inf
    assert _growth.peak(0.0, 0.3) == (math.inf, math.inf)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_numerical_abscissa_of_the_vector(order: int) -> None:
    expected = GROWTH["numerical_abscissa"][f"m={order}"]
    found = _growth.numerical_abscissa(0.05, 0.3, order)
    assert [found, found] == pytest.approx(expected, abs=1e-14)
    j = _jordan.generator(jordan.numbers(block(order=order)))[0, 0]
    assert np.linalg.eigvalsh((j + j.T) / 2)[-1] == pytest.approx(found, abs=1e-14)


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 0.5), st.floats(-2, 2), st.floats(0, 60), st.integers(2, 5))
def test_the_norm_stays_below_its_bound(gamma: float, eta: float, d: float, order: int) -> None:
    found = lag(block(order=order, gamma=gamma, eta=eta), d)
    norm = np.linalg.norm(found, 2)
    assert norm <= _growth.norm_bound(gamma, eta * d, d, order) * (1 + 1e-12)
    if order == 2:
        assert _growth.operator_norm(gamma, eta * d, d) == pytest.approx(norm, rel=1e-9)


def test_jets_are_a_group_only_where_they_are_powers() -> None:
    rule = VECTORS["jordan_jetmix_group_check"]
    powers, others = np.array([0.5, 0.25, 0.125]), np.array([0.5, 0.3, 0.2])
    assert not _growth.jet_defects(powers).any()
    assert rule["g=(0.5,0.25,0.125)"] is True
    assert _growth.jet_defects(others) == pytest.approx(
        rule["defect_coeffs g_r-g_1^r for (0.5,0.3,0.2)"]
    )
    for jets, group in ((powers, True), (others, False)):
        numbers = replace(
            jordan.numbers(block(order=4)),
            jets=np.array([1.0, *jets]).reshape(4, 1, 1, 1),
            shear_scale=0.1,
        )
        assert _jordan.is_group(numbers) is group
        g = _jordan.pairwise(numbers, np.array([2.0, 3.0, 5.0]))[:, 0, 0]
        assert np.allclose(g[0] @ g[1], g[2], atol=1e-14) is group


# Laws


LAWFUL = ("jordan_raw_tau", "jordan_exact_c010", "jordan_exact_m3_c010_eta100_eta1")


@pytest.mark.parametrize("method", LAWFUL)
def test_exact_methods_depend_on_the_lag(method: str) -> None:
    encoding = read(method, width=96, noise=1.0)
    q, k = drawn(encoding, 3, 2, 1), drawn(encoding, 3, 2, 2)
    at = positions(1, (0,), (7,), (40,))
    here, there = score(encoding, q, k, at, at), score(encoding, q, k, at + 13, at + 13)
    assert there == pytest.approx(here, rel=1e-9, abs=1e-9 * float(np.abs(here).max()))
    lags = jordan.pairwise(encoding, np.array([33.0]))[0]
    direct = np.einsum("lha,lhab,lhb->lh", q[:, :, 2], lags, k[:, :, 1])
    assert here[:, :, 2, 1] == pytest.approx(direct, rel=1e-9)
    g = jordan.generators(encoding)
    assert g is not None


@pytest.mark.parametrize("method", METHODS)
def test_torch_agrees_and_trains(method: str) -> None:
    encoding = read(method, width=WIDTHS.get(METHODS[method][1], 64), noise=0.3)
    module = assert_torch_agrees(encoding, positions(1, (0,), (3,), (50,), (7,)), layers=2)
    names = {n for n, _ in module.named_parameters()}
    assert names == set(encoding.parameters)
    for parameter in module.parameters():
        assert parameter.grad.abs()[1].max() > 0.0


def test_torch_agrees_beyond_the_clamp() -> None:
    assert_torch_agrees(block(gamma=0.01), positions(1, (2900,), (3100,), (9000,)))


@pytest.mark.parametrize("method", [*METHODS])
def test_rebuilt(method: str) -> None:
    encoding = read(method, width=WIDTHS.get(METHODS[method][1], 64), noise=0.3)
    spectrum = jordan.spectrum(encoding)
    assert jordan.rebuilt(encoding, spectrum).parameters.keys() == encoding.parameters.keys()
    new = replace(spectrum, w=spectrum.w * 1.1, gamma=spectrum.gamma * 0.5, eta=spectrum.eta + 0.2)
    again = jordan.rebuilt(encoding, new)
    found = jordan.spectrum(again)
    for name in ("w", "gamma", "eta"):
        assert np.array_equal(getattr(found, name), getattr(new, name))
    assert_torch_agrees(again, positions(1, (0,), (9,)), layers=2)
