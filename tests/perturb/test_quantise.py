"""Quantisers, casts and noise: measured counts, and numpy and torch as oracles."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import UsageError
from ropeaudit.perturb.changes.cast import FORMATS
from ropeaudit.perturb.changes.integer import quantised
from ropeaudit.perturb.changes.noise import normals
from ropeaudit.perturb.measure import measures
from ropeaudit.perturb.variant import make
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import f32
from tests.schedules import plain, proportional, raw, with_values

COUNTS = {
    (1e4, 128): (25, 21, 45, 40, 1, 5),
    (1e4, 256): (51, 42, 91, 80, 1, 9),
    (1e5, 64): (16, 14, 24, 22, 1, 2),
    (5e5, 128): (36, 33, 51, 47, 1, 5),
    (1e6, 128): (38, 35, 51, 48, 1, 5),
    (1e6, 256): (76, 70, 103, 96, 1, 9),
    (1e7, 128): (42, 39, 53, 50, 1, 5),
}
"""Largest set of equal values after each quantiser, for a base and a width."""
QUANTISERS = ("int8:sym", "int8:affine", "int4:sym", "int4:affine", "log8", "log4")
CAST_COUNTS = {
    (1e4, 128): (1, 1, 15, 2),
    (1e6, 128): (1, 1, 31, 9),
    (1e7, 128): (1, 1, 36, 17),
    (1e8, 128): (1, 4, 39, 23),
    (5e8, 128): (1, 8, 41, 26),
}


def one(schedule: Schedule, recipe: str) -> Schedule:
    return make([schedule], recipe).schedules[0]


def cluster(schedule: Schedule, recipe: str) -> int:
    return measures(make([schedule], recipe))[0].max_cluster


@pytest.mark.parametrize(("base", "dim"), COUNTS)
def test_measured_counts_of_quantisers(base: float, dim: int) -> None:
    assert tuple(cluster(plain(base, dim), r) for r in QUANTISERS) == COUNTS[base, dim]


@pytest.mark.parametrize(("base", "dim"), CAST_COUNTS)
def test_measured_counts_of_casts(base: float, dim: int) -> None:
    found = tuple(cluster(plain(base, dim), f"cast:{f}") for f in FORMATS)
    assert found == CAST_COUNTS[base, dim]


@pytest.mark.parametrize("dim", [128, 256, 512])
def test_bfloat16_keeps_all_apart(dim: int) -> None:
    assert all(cluster(plain(b, dim), "cast:bf16") == 1 for b in (1e4, 1e6, 5e8))


def test_the_published_clusters() -> None:
    made = one(plain(1e6, 128), "int8:sym")
    assert [k for k, v in enumerate(made.inv_freq) if v == 0] == list(range(26, 64))
    assert cluster(plain(1e4, 256), "int8:affine") == 42


@pytest.mark.parametrize("bits", range(2, 17))
@pytest.mark.parametrize("base", [1e4, 1e6])
def test_integers_as_numpy_rounds_them(bits: int, base: float) -> None:
    table = np.array(plain(base, 128).inv_freq)
    step = table.max() / (2 ** (bits - 1) - 1)
    wanted = (np.rint(table / step) * step).astype(np.float32)
    assert one(plain(base, 128), f"int:bits={bits},mode=sym").inv_freq == tuple(wanted.tolist())
    low, step = table.min(), (table.max() - table.min()) / (2**bits - 1)
    wanted = (low + np.rint((table - low) / step) * step).astype(np.float32)
    assert one(plain(base, 128), f"int:bits={bits},mode=affine").inv_freq == tuple(wanted.tolist())


@given(st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), max_size=20), st.integers(2, 16))
@settings(max_examples=60)
def test_the_round_trip_is_stable_and_near(values: list[float], bits: int) -> None:
    for symmetric in (True, False):
        back = quantised(values, bits, symmetric=symmetric)
        if not values:
            assert back == []
            continue
        span = max(map(abs, values)) if symmetric else max(values) - min(values)
        step = span / (2 ** (bits - 1) - 1 if symmetric else 2**bits - 1)
        assert all(abs(a - b) <= step / 2 * (1 + 1e-9) for a, b in zip(values, back, strict=True))
        assert len(set(back)) <= 2**bits


@pytest.mark.parametrize("name", FORMATS)
def test_casts_as_torch_casts(name: str) -> None:
    torch = pytest.importorskip("torch")
    kinds = {"float8_e4m3": "float8_e4m3fn"}
    dtype = getattr(torch, kinds.get(FORMATS[name], FORMATS[name]))
    for base, dim in ((1e4, 256), (5e8, 512)):
        table = torch.tensor(plain(base, dim).inv_freq, dtype=torch.float32)
        wanted = tuple(table.to(dtype).to(torch.float32).tolist())
        made = one(plain(base, dim), f"cast:{name}")
        assert made.inv_freq == wanted
        assert made.dtype == "float32"


def test_zeros_by_design_take_no_part() -> None:
    schedule = proportional()
    static = schedule.static_channels
    turning = [v for k, v in enumerate(schedule.inv_freq) if k not in static]
    for recipe in (*QUANTISERS, "cast:fp8_e4m3", "noise:eps=0.01,seed=1", "jitter:eps=1e-4"):
        made = one(schedule, recipe)
        assert all(made.inv_freq[k] == 0 for k in static), recipe
    made = one(schedule, "int8:affine")
    low, high = min(turning), max(turning)
    assert {f32(low), high} <= set(made.inv_freq)


def test_logarithms_leave_zeros_and_signs() -> None:
    schedule = with_values(plain(1e4, 32), lambda k, v: 0.0 if k == 3 else v)
    made = one(schedule, "log4")
    assert made.inv_freq[3] == 0
    signed = raw([1.0, -0.5, 0.25, -0.125])
    assert [v < 0 for v in one(signed, "log:bits=3").inv_freq] == [False, True, False, True]


def test_a_constant_table_has_no_step() -> None:
    flat = raw([0.5] * 4)
    for recipe in ("int8:affine", "log8"):
        assert one(flat, recipe).inv_freq == flat.inv_freq
    assert one(raw([0.0] * 4), "int8:sym").inv_freq == (0.0,) * 4


def test_noise_is_pinned_to_the_last_bit() -> None:
    """The sequence is part of the format: a recipe published once must give the same table."""
    sequence = normals(0)
    assert [next(sequence) for _ in range(6)] == PINNED
    made = one(plain(1e4, 8), "noise:eps=0.01,seed=0")
    wanted = [v * (1 + 0.01 * g) for v, g in zip(plain(1e4, 8).inv_freq, PINNED, strict=False)]
    assert made.inv_freq == tuple(map(f32, wanted))


PINNED = [
    -0.18386822109325826, 0.0325041290775818, 0.6988276932539805,
    -0.09636784501527529, 1.4135077900481214, -1.532635871090883,
]  # fmt: skip


def test_noise_is_standard_normal() -> None:
    sequence = normals(12345)
    drawn = sorted(next(sequence) for _ in range(20_000))
    assert abs(statistics.fmean(drawn)) < 0.03
    assert abs(statistics.stdev(drawn) - 1) < 0.02
    normal = statistics.NormalDist()
    off = max(abs((i + 0.5) / len(drawn) - normal.cdf(x)) for i, x in enumerate(drawn))
    assert off < 1.95 / math.sqrt(len(drawn))  # Kolmogorov-Smirnov at 0.001


def test_noise_depends_on_seed_and_channel_alone() -> None:
    a, b = (
        one(plain(1e4, 64), "noise:eps=0.01,seed=5"),
        one(plain(1e6, 64), "noise:eps=0.01,seed=5"),
    )
    for x, y, p, q in zip(
        a.inv_freq, b.inv_freq, plain(1e4, 64).inv_freq, plain(1e6, 64).inv_freq, strict=True
    ):
        assert x / p == pytest.approx(y / q, rel=3e-7)
    assert one(plain(1e4, 64), "noise:eps=0.01,seed=6").inv_freq != a.inv_freq
    assert one(plain(1e4, 64), "noise:eps=0,seed=6").inv_freq == plain(1e4, 64).inv_freq


def test_noise_turns_no_channel_around() -> None:
    with pytest.raises(UsageError, match="take a smaller eps"):
        make([plain(1e4, 128)], "noise:eps=2,seed=0")


def test_tables_that_are_no_numbers_are_refused() -> None:
    for value in (math.nan, math.inf):
        with pytest.raises(UsageError, match="NaN or infinities"):
            make([raw([1.0, value, 0.5])], "int8:sym")


def test_learned_vectors_are_no_list_of_channels() -> None:
    learned = raw([1.0] * 12, rope_type="learned", parameters={"shape": [2, 3, 2]})
    with pytest.raises(UsageError, match="no list of channels"):
        make([learned], "int8:sym")
    flat = raw([1.0, 0.3], rope_type="learned", parameters={"shape": [2]})
    assert one(flat, "int4:sym").inv_freq != flat.inv_freq
