"""Exact claims about learned encodings: what is proved is true, and what is false is refuted."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.encodings._algebra import frequencies, skew_part
from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.interface import load, modules
from ropeaudit.proofs import _encodings as about
from ropeaudit.proofs import _encodings_jordan as jordan_claims
from ropeaudit.proofs._encodings import CLAIMS, claims, kinds
from ropeaudit.proofs._spectra import brackets, equal_vectors, planes
from ropeaudit.proofs.interface import Claim, Status
from ropeaudit.records import replace
from tests.encodings import layouts_ape, layouts_jordan, layouts_liere, layouts_rope_vit, make


def read(state: Any, config: Any = None, wrap: str | None = None, **options: str) -> Encoding:
    found = make.recognised(state, config, options, wrap=wrap)
    assert len(found) == 1
    return found[0]


def by_name(encoding: Encoding) -> dict[str, Claim]:
    found = claims(encoding)
    assert tuple(c.claim for c in found) == CLAIMS
    assert {c.schedule for c in found} == {encoding.name}
    return {c.claim: c for c in found}


def planes_of(*w: float) -> Any:
    """X with ``X - X^T`` turning planes of neighbouring channels by ``w``."""
    x = np.zeros((2 * len(w), 2 * len(w)))
    for k, value in enumerate(w):
        x[2 * k, 2 * k + 1] = value
    return x


def group(*blocks: Any) -> Any:
    return np.array(blocks)[None, None]


def test_distinct_planes_are_proved_by_one_prime() -> None:
    found = planes(group(planes_of(0.1, 0.2, 0.0)))[0]
    assert found.prime == 2**31 - 1
    assert found.largest == 1


def test_equal_planes_are_found_with_their_frequency() -> None:
    found = planes(group(planes_of(0.1, -0.1, 0.3, 0.1)))[0]
    assert found.largest == 3
    assert found.parts == {1: 1, 3: 1}
    assert found.squares is not None
    assert found.squares[3] == (Fraction(0.1) ** 2,)


def test_twins_that_differ_in_the_last_bit_are_distinct() -> None:
    other = float(np.nextafter(0.1, 1))
    assert planes(group(planes_of(0.1, other)))[0].largest == 1
    assert planes(group(planes_of(0.1), planes_of(other)))[0].largest == 1


def test_equal_planes_of_different_blocks() -> None:
    assert planes(group(planes_of(0.1, 0.2), planes_of(0.3, 0.2)))[0].largest == 2


def test_planes_that_stand_still_are_no_cluster() -> None:
    found = planes(group(planes_of(0.1, 0.0, 0.0)))[0]
    assert (found.largest, found.still) == (1, 2)
    assert planes(group(np.zeros((4, 4))))[0].largest == 1


@settings(max_examples=40, deadline=None)
@given(
    w=st.lists(st.integers(-4, 4), min_size=1, max_size=4),
    odd=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_clusters_in_any_basis(w: list[int], odd: bool, seed: int) -> None:
    """A basis of signed permutations and Hadamard blocks is exact in floats, up to a power of 2."""
    rng = np.random.default_rng(seed)
    n = 2 * len(w) + odd
    b = np.zeros((n, n))
    b[: n - odd, : n - odd] = skew_part(planes_of(*map(float, w)))
    q = np.eye(n)[rng.permutation(n)] * rng.choice([-1.0, 1.0], size=n)
    if n >= 4:
        h = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
        q[:4] = h @ q[:4]
    turned = q @ b @ q.T
    assert (turned == -turned.T).all()
    # Any symmetric part in the parameters changes nothing.
    s = rng.integers(-8, 8, size=(n, n)).astype(float)
    found = planes(group(np.triu(turned, 1) + s + s.T))[0]
    sizes = [abs(v) for v in w if v]
    assert found.largest == max((sizes.count(v) for v in sizes), default=1)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 8), seed=st.integers(0, 2**32 - 1))
def test_a_proof_agrees_with_floats(n: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(n, n)).astype(np.float32).astype(float)
    assert planes(group(x))[0].largest == 1
    gaps = np.diff(frequencies(skew_part(x)))
    assert (gaps < 0).all()


def test_commutators_are_exact() -> None:
    a, b = planes_of(1.0, 2.0), planes_of(0.1, -0.3)
    assert brackets(np.array([[a], [b]]))[0].entry is None
    tilted = b.copy()
    tilted[0, 2] = 2.0**-80
    found = brackets(np.array([[a], [tilted]]))[0]
    assert found.entry is not None
    i, j = found.entry[1:]
    whole = [np.array([[Fraction(v) for v in r] for r in m - m.T]) for m in (a, tilted)]
    # Exact in rationals: numpy multiplies the objects as they are.
    assert (whole[0] @ whole[1] - whole[1] @ whole[0])[i, j] == found.value != 0


def test_vectors_are_equal_up_to_one_sign() -> None:
    w = np.array([[[1.0, 2.0], [-1.0, -2.0], [1.0, -2.0], [0.0, 0.0], [0.0, -3.0], [-0.0, 3.0]]])
    assert equal_vectors(w) == [[[0, 1], [4, 5]]]


def test_ape_drawn_at_random_is_distinct() -> None:
    encoding = read(layouts_ape.sequential(layouts_ape.drawn(2, 8)))
    found = by_name(encoding)
    assert {c.status for c in found.values()} == {Status.PROVED}
    assert found["distinct"].method == about.SQUAREFREE
    assert found["relative"].method == about.SUBGROUP


def test_the_twins_of_the_public_initialisation_are_refuted() -> None:
    """Every angle stands twice; where the fit is exact, so do the planes."""
    exact = planes_of(*layouts_ape.angles(8))[None].astype(np.float32)
    encoding = read(layouts_ape.sequential(exact))
    found = by_name(encoding)["distinct"]
    assert found.status is Status.REFUTED
    assert found.evidence["max_cluster"] == 2
    assert found.evidence["clusters"][0]["frequencies"] == 4


def test_branches_and_axes_of_ape() -> None:
    tree = by_name(read(layouts_ape.branching(heads=2, n=4), **{"ape-layout": "tree"}))
    assert tree["relative"].method == about.PREFIX
    assert tree["distinct"].status is Status.PROVED
    grid = by_name(read(layouts_ape.grid(heads=2, n=8), **{"ape-layout": "grid", "grid": "4x4"}))
    assert grid["relative"].status is Status.PROVED
    assert grid["distinct"].evidence["groups"] == 4


@pytest.mark.parametrize("g", [2, 4])
def test_liere(g: int) -> None:
    raw = layouts_liere.initial(axes=2, layers=1, heads=2, g=g)
    found = by_name(read(layouts_liere.checkpoint(raw), wrap="state_dict"))
    if g == 2:
        assert {c.status for c in found.values()} == {Status.PROVED}
        return
    relative = found["relative"]
    assert relative.status is Status.REFUTED
    assert Fraction(relative.evidence["value"]) != 0
    assert found["distinct"].status is Status.UNDECIDED
    assert found["distinct"].evidence["reason"] == about.NO_JOINT


def test_liere_of_axes_that_commute() -> None:
    raw = np.zeros((2, 1, 16, 8, 8), dtype=np.float32)
    raw[:, 0] = np.triu(planes_of(1.0, 0.5, 0.25, 0.125))
    raw[1, 0] *= np.float32(3.0)
    raw[:, 0] += np.arange(16, dtype=np.float32)[:, None, None] * (raw[:, 0] != 0)
    encoding = read(layouts_liere.checkpoint(raw), wrap="state_dict")
    found = by_name(encoding)
    assert found["relative"].status is Status.PROVED
    assert found["distinct"].status in (Status.PROVED, Status.UNDECIDED)
    raw[:, 0, 1] = raw[:, 0, 0]  # twins on both axes
    found = by_name(read(layouts_liere.checkpoint(raw), wrap="state_dict"))
    assert found["distinct"].evidence["reason"] == about.ONE_COMBINATION


def test_rope_mixed_as_drawn_and_with_an_opposite_pair() -> None:
    encoding = read(layouts_rope_vit.deit(depth=2, heads=2))
    found = by_name(encoding)
    assert {c.status for c in found.values()} == {Status.PROVED}
    freqs = encoding.parameters["freqs"].copy()
    freqs[:, 1, 0, 3] = -freqs[:, 1, 0, 7]
    found = by_name(replace(encoding, parameters={"freqs": freqs}))
    distinct = found["distinct"]
    assert distinct.status is Status.REFUTED
    assert distinct.evidence["clusters"] == [{"layer": 1, "head": 0, "planes": 2, "units": [3, 7]}]


def jordan(method: str, **parameters: Any) -> Encoding:
    encoding = read(*layouts_jordan.checkpoint(method))
    held = dict(encoding.parameters)
    for name, value in parameters.items():
        held[name] = np.full_like(held[name], value)
    return replace(encoding, parameters=held)


@pytest.mark.parametrize(
    ("method", "relative"),
    [
        ("jordan_raw_tau", jordan_claims.GROUP),
        ("jordan_exact_scaled", jordan_claims.GROUP),
        ("jordan_rope", jordan_claims.BOUNDED),
        ("jordan_m4", jordan_claims.BOUNDED),
        ("damped_rope", jordan_claims.NO_SHEAR),
        ("direct_sum", jordan_claims.BOUNDED),
        ("real_jordan", jordan_claims.BOUNDED),
    ],
)
def test_jordan_blocks(method: str, relative: str) -> None:
    shear = {} if method == "damped_rope" else {"raw_eta": 0.5}
    encoding = jordan(method, **shear)
    found = by_name(encoding)
    assert found["skew"].status is Status.REFUTED
    assert found["distinct"].status is Status.PROVED
    assert found["relative"].method == relative
    if relative is not jordan_claims.BOUNDED:
        assert found["relative"].status is Status.PROVED
        return
    assert found["relative"].status is Status.REFUTED
    first, second = map(Fraction, found["relative"].evidence["tau_steps"])
    length = Fraction(encoding.settings["train_context"])
    assert first == length / (length + 1) > second
    # The maps themselves, in floats: one lag at two places.
    module = load(encoding.module)
    q, k = module.operators(encoding, np.arange(3.0)[:, None])
    score = [np.swapaxes(q[i + 1], -1, -2) @ k[i] for i in (0, 1)]
    assert np.abs(score[0] - score[1]).max() > 1e-6


def test_jordan_blocks_without_shear_are_relative() -> None:
    encoding = jordan("jordan_rope", raw_eta=0.0)
    assert by_name(encoding)["relative"].method == jordan_claims.NO_SHEAR
    module = load(encoding.module)
    q, k = module.operators(encoding, np.arange(3.0)[:, None])
    score = [np.swapaxes(q[i + 1], -1, -2) @ k[i] for i in (0, 1)]
    assert np.abs(score[0] - score[1]).max() < 1e-12


def test_blocks_without_damping_turn_only_without_shear() -> None:
    found = by_name(jordan("jordan_no_gamma", raw_eta=0.0))
    assert found["skew"].method == jordan_claims.TURNS_ONLY
    found = by_name(jordan("jordan_no_gamma", raw_eta=1e-30))
    assert found["skew"].evidence == {"learned": "raw_eta", "layer": 0, "head": 0, "block": 0}


def test_jets_and_changed_blocks_are_not_covered() -> None:
    jets = read(*layouts_jordan.checkpoint("jordan_jetmix_m2_c100_g050"))
    changed = jordan("jordan_raw_tau")
    changed = replace(changed, parameters={"gamma": changed.parameters["raw_gamma"]})
    for encoding in (jets, changed):
        assert {c.method for c in claims(encoding)} == {about.NOT_COVERED}


def test_what_no_statement_covers_is_undecided() -> None:
    encoding = read(layouts_rope_vit.deit(depth=1, heads=1))
    for claim in claims(replace(encoding, kind="something-else")):
        assert claim.status is Status.UNDECIDED
        assert claim.evidence["reason"] == about.NOT_COVERED


def test_kinds_belong_to_modules() -> None:
    known = {kind for name in modules() for kind in load(name).KINDS}
    assert set(kinds()) <= known
