"""Conversions as numbers: closed forms, round trips, and refusals where mathematics has none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.convert import ape, rope
from ropeaudit.convert.interface import Refused, Source, target, targets
from ropeaudit.convert.reading import of_subject
from ropeaudit.encodings import axial
from ropeaudit.encodings._algebra import expm, expm_skew
from ropeaudit.encodings._planes import block_diagonal, rotations, skew
from ropeaudit.encodings.interface import Sources, load
from ropeaudit.errors import UsageError
from ropeaudit.records import replace
from tests.encodings import make
from tests.encodings.vectors import VECTORS
from tests.schedules import plain, raw, subject


def source(matrices: Any, origin: str = "generator", **changes: Any) -> Source:
    given_ = np.asarray(matrices, dtype=np.float64)
    held: dict[str, Any] = {"maps": given_} if origin == "map" else {"generators": given_}
    return Source(target="t", name="n", origin=origin, kind=origin, **held, **changes)


def orthogonal(rng: Any, n: int) -> Any:
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return q * np.where(np.linalg.det(q) < 0, -1, 1) ** np.eye(1, n)


def test_the_closed_form_of_the_vector_is_exact() -> None:
    known = VECTORS["triu_exact"]
    made = ape.convert(source([[[known["B"]]]]))
    a = made.tensors[ape.TENSOR]
    assert a.tolist() == [known["A"]]
    assert made.residual == 0.0
    assert np.abs((a[0] - a[0].T) - np.array(known["B"])).max() == known["max_abs_residual"] == 0
    assert made.frequencies[0, 0, 0] == pytest.approx(known["freqs"], rel=1e-14)


def test_the_vector_in_a_householder_basis_both_ways() -> None:
    known = VECTORS["ape_from_rope"]
    c = np.array(known["C"])
    made = rope.convert(source([c], "map"))
    assert made.frequencies.ravel() == pytest.approx(known["theta"], abs=1e-12)
    assert made.residual < 1e-14
    back = ape.convert(source([c], "map")).tensors[ape.TENSOR][0]
    assert np.abs(back - np.array(known["A_strict_upper"])).max() < 1e-14
    # The polar factors of an orthogonal matrix are itself and the identity: they find nothing.
    u, s, vh = np.linalg.svd(c)
    assert np.abs(s - 1).max() < 1e-14
    blocks = np.kron(np.eye(4), np.ones((2, 2))) == 0
    assert np.abs((u @ vh)[blocks]).max() == pytest.approx(known["polar_U_offblock_max"])
    q = made.basis
    assert q is not None
    assert np.abs((q[0, 0].T @ c @ q[0, 0])[blocks]).max() < 1e-14


@pytest.mark.parametrize("case", VECTORS["principal_log"]["cases"], ids=lambda c: str(c["theta"]))
def test_a_map_says_the_angle_modulo_two_pi(case: Any) -> None:
    turned = rotations(np.array([case["theta"]]))
    made = ape.convert(source(turned, "map"))
    lower = -made.tensors[ape.TENSOR][0, 0, 1]
    assert lower == pytest.approx(case["expected_remainder_2pi"], abs=1e-9)
    assert (abs(lower - case["theta"]) < 1e-9) == case["recovers_theta"]
    found = rope.convert(source(turned, "map")).frequencies.item()
    assert found == pytest.approx(case["folded_abs"], abs=1e-9)


def test_a_generator_beyond_pi_is_kept() -> None:
    known = VECTORS["principal_log"]["trained_B_with_4rad"]
    b = block_diagonal(skew(np.array(known["freqs_of_B"])))
    made = rope.convert(source(b[None, None, None]))
    assert made.frequencies.ravel() == pytest.approx(known["freqs_of_B"])
    assert "beyond pi" in made.notes[0]
    folded = rope.convert(source(expm_skew(b)[None], "map"))
    assert folded.frequencies.ravel() == pytest.approx(known["freqs_of_log_exp_B"])
    half = np.abs(
        expm_skew(b / 2) - expm_skew(rope.generators(folded.frequencies, folded.basis)[0, 0, 0] / 2)
    )  # type: ignore[arg-type]
    assert np.sqrt((half**2).sum()) == pytest.approx(known["half_step_differs"])


def test_the_one_dimensional_lie_group_of_the_vector() -> None:
    known = VECTORS["liere_1d"]
    a = np.array(known["A"])
    made = rope.convert(source(a[None, None, None]))
    assert made.frequencies.ravel() == pytest.approx(known["freqs_per_unit_position"], abs=1e-14)
    assert made.residual < 1e-15


@pytest.mark.parametrize("form", ["ape", "rope"])
def test_no_form_of_a_reflection_nor_of_a_half_turn(form: str) -> None:
    known = VECTORS["principal_log"]
    with pytest.raises(Refused, match="the determinant is -1: the map holds a reflection"):
        target(form).convert(source([known["reflection_det_minus_1"]["C"]], "map"))
    with pytest.raises(Refused, match="an angle is pi"):
        target(form).convert(source([-np.eye(2)], "map"))
    with pytest.raises(Refused, match="head 1: an angle is pi"):
        target(form).convert(source([np.eye(2), -np.eye(2)], "map"))
    # A generator says which way, so a half turn is no obstacle.
    turned = skew(np.array([[[[math.pi]]]]))[..., 0, :, :]
    assert target(form).convert(source(turned)).frequencies.item() == pytest.approx(math.pi)


@pytest.mark.parametrize("form", ["ape", "rope"])
def test_maps_in_float32_are_missed_by_their_rounding_only(form: str) -> None:
    w = orthogonal(np.random.default_rng(8), 8).astype(np.float32)
    made = target(form).convert(source([w], "map"))
    assert 0 < made.residual < 3e-7
    # A checkpoint that stores maps is read as one, and not through its logarithm.
    (stored,) = make.recognised({ape.TENSOR: w[None]}, options={"ape-stores": "operator"})
    held = of_subject(replace(subject(), encodings=(stored,)))
    assert held.origin == "map"
    assert (target(form).convert(held).frequencies == made.frequencies).all()


def test_axes_that_do_not_commute_have_no_frequencies() -> None:
    known = VECTORS["liere_2d_noncommuting"]
    key = next(k for k in known if k.startswith("A") and np.asarray(known[k]).ndim >= 2)
    family = np.asarray(known[key], dtype=np.float64)
    if family.ndim == 2:
        family = np.stack([known["A0"], known["A1"]])
    with pytest.raises(Refused, match="do not commute"):
        rope.convert(source(family[:, None, None]))
    with pytest.raises(Refused, match="2 axes that share channels"):
        ape.convert(source(family[:, None, None]))


def test_axes_that_commute_have_vectors() -> None:
    rng = np.random.default_rng(3)
    w = rng.normal(size=(2, 4))
    q = orthogonal(rng, 8)
    family = q @ block_diagonal(skew(w)) @ q.T
    made = rope.convert(source((family - np.swapaxes(family, -1, -2))[:, None, None] / 2))
    found = made.frequencies[:, 0, 0].T
    for vector in w.T:
        assert min(np.abs(found - s * vector).max(axis=1).min() for s in (1, -1)) < 1e-12
    assert made.residual < 1e-9


def test_blocks_of_two_are_taken_as_they_are() -> None:
    w = np.array([[1.0, -0.5, 0.0, 0.25], [0.0, 0.5, 0.0, -3.0]])
    family = block_diagonal(skew(w), 9)
    made = rope.convert(source(family[:, None, None]))
    assert made.residual == 0.0
    assert made.frequencies[:, 0, 0].tolist() == [[1.0, 0.5, 0.0, 0.25], [0.0, -0.5, 0.0, -3.0]]
    assert made.basis is not None
    assert (np.abs(made.basis).sum(axis=-1) == 1).all()


def test_a_plane_that_stands_still_on_all_axes_has_no_basis() -> None:
    family = block_diagonal(skew(np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.0]])))
    q = orthogonal(np.random.default_rng(0), 6)
    family = q @ family @ q.T
    family = (family - np.swapaxes(family, -1, -2)) / 2
    with pytest.raises(Refused, match="stands still on every axis"):
        rope.convert(source(family[:, None, None]))


def test_an_axial_grid_is_an_ape_of_grids() -> None:
    """Each axis its run of channels; read as APE's grid it turns every position alike."""
    encoding = axial._asked(Sources(options={"method": "axial", "head-dim": "16", "theta": "50"}))
    held = source(axial.generators(encoding))
    made = ape.convert(held, heads=3)
    a = made.tensors[ape.TENSOR]
    assert a.shape == (2 * 3, 8, 8)
    assert made.residual == 0.0
    found = make.recognised(
        {ape.TENSOR: a}, options={"ape-layout": "grid", "grid": "4x4", "ape-skew": "full"}
    )
    (grid,) = found
    assert (load("ape").generators(grid)[:, 0] == held.generators[:, 0]).all()  # type: ignore[index]
    back = rope.convert(source(load("ape").generators(grid)))
    want = sorted(np.abs(axial.table(50.0, 16)).max(axis=0).ravel())
    assert sorted(np.abs(back.frequencies[:, 0, 0]).max(axis=0)) == pytest.approx(want, abs=1e-12)


def test_layers_that_differ_are_no_ape() -> None:
    b = skew(np.array([[[1.0]], [[2.0]]]))[None]
    with pytest.raises(Refused, match="differs between its 2 layers"):
        ape.convert(source(b[..., 0, :, :][:, :, None]))
    with pytest.raises(Refused, match="no whole numbers"):
        ape.convert(source(b[:, :1, :, 0], integer=False))


_angles = st.lists(
    st.one_of(st.floats(1e-7, math.pi - 1e-3), st.sampled_from([0.0, 1.0, 1.0, 1e-4])),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(theta=_angles, odd=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_round_trip_through_every_form(theta: list[float], odd: bool, seed: int) -> None:
    """Angles, map, logarithm, parameters, frequencies: to 1e-9 wherever theory allows it."""
    n = 2 * len(theta) + odd
    q = orthogonal(np.random.default_rng(seed), n)
    b = q @ block_diagonal(skew(np.array(theta)), n) @ q.T
    b = (b - b.T) / 2
    want = sorted(theta, reverse=True)
    parameters = ape.convert(source(b[None, None, None]))
    assert parameters.residual == 0.0
    a = parameters.tensors[ape.TENSOR][0]
    assert ((a - a.T) == b).all()
    assert np.abs(expm(a - a.T) - expm_skew(b)).max() < 1e-13  # two ways to one exponential
    turned = rope.convert(source((a - a.T)[None, None, None]))
    assert turned.frequencies.ravel() == pytest.approx(want, abs=1e-9)
    basis = turned.basis
    assert basis is not None
    assert np.abs(rope.generators(turned.frequencies, basis)[0, 0, 0] - b).max() < 1e-12
    # From the map alone, as long as no angle reaches pi.
    w = expm_skew(b)
    assert rope.convert(source([w], "map")).frequencies.ravel() == pytest.approx(want, abs=1e-9)
    again = ape.convert(source([w], "map")).tensors[ape.TENSOR][0]
    assert np.abs(again - a).max() < 1e-9


@settings(max_examples=40, deadline=None)
@given(
    half=st.integers(1, 8),
    spare=st.integers(0, 3),
    pairing=st.sampled_from(["half", "interleaved"]),
    position=st.integers(0, 2000),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_schedule_turns_as_its_engine_turns(
    half: int, spare: int, pairing: str, position: int, seed: int
) -> None:
    """W^p of the parameters is cos and sin on the pairs of channels that the engine couples."""
    rng = np.random.default_rng(seed)
    table = np.float32(rng.uniform(1e-4, 1.0, half))
    width = 2 * half + spare
    schedule = replace(raw(table.tolist()), pairing=pairing, head_dim=width, variant=None)
    made = ape.convert(of_subject(subject(schedule)), heads=2)
    a = made.tensors[ape.TENSOR]
    assert a.shape == (2, width, width)
    assert (np.float32(a) == a).all()  # the public code's dtype holds it
    x = rng.normal(size=width)
    angle = position * np.float64(table)
    first = np.arange(half) if pairing == "half" else 2 * np.arange(half)
    second = first + (half if pairing == "half" else 1)
    want = x.copy()
    want[first] = np.cos(angle) * x[first] - np.sin(angle) * x[second]
    want[second] = np.sin(angle) * x[first] + np.cos(angle) * x[second]
    assert np.abs(expm_skew(position * (a[1] - a[1].T)) @ x - want).max() < 1e-9
    assert made.residual == 0.0


def test_heads_come_from_the_config_or_from_the_caller() -> None:
    one = of_subject(subject(plain(1e4, 16)))
    assert ape.convert(one).tensors[ape.TENSOR].shape == (1, 16, 16)
    assert ape.convert(one, heads=3).tensors[ape.TENSOR].shape == (3, 16, 16)
    assert ape.convert(replace(one, heads=5)).tensors[ape.TENSOR].shape == (5, 16, 16)
    several = source(np.zeros((1, 1, 4, 2, 2)))
    with pytest.raises(UsageError, match="--heads is 3, and the source has 4 heads"):
        ape.convert(several, heads=3)


def test_a_factor_on_the_turned_vectors_is_said() -> None:
    scaled = of_subject(subject(replace(plain(1e4, 16), attention_scaling=1.25)))
    assert scaled.scale == 1.25
    assert any("factor 1.25" in n for n in ape.convert(scaled).notes)


def test_targets_are_found_by_folder() -> None:
    assert sorted(targets()) == ["ape", "rope"]
    with pytest.raises(UsageError, match="nothing is converted to rpoe; did you mean rope"):
        target("rpoe")
