"""Pieces of the fitting engine: short decimals, number formats, intervals, ramps."""

from __future__ import annotations

import math
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.schedule.families.interface import geometric
from ropeaudit.schedule.fit.cells import agrees, cells, edges, grids, shown, steps
from ropeaudit.schedule.fit.decimals import (
    decimals,
    digits,
    lengths,
    neighbours,
    simplest,
    spelled,
)
from ropeaudit.schedule.fit.geometric import base_interval
from ropeaudit.schedule.fit.guess import exponents
from ropeaudit.schedule.fit.nearest import fit
from ropeaudit.schedule.fit.ramps import meet, shapes
from ropeaudit.schedule.fit.search import search
from ropeaudit.schedule.float32 import FORMATS, round_to, ulp_distance
from tests.schedules import cast, llama3, plain, with_values, yarn

torch = pytest.importorskip("torch")

positive = st.floats(2.0**-100, 2.0**100, width=32)


@pytest.mark.parametrize(
    ("value", "count"),
    [(1e6, 1), (1000042.0, 7), (150000.0, 2), (0.25, 2), (1e-7, 1), (10000.5, 6), (1.0, 1)],
)
def test_digits(value: float, count: int) -> None:
    assert digits(value) == count


def test_whole_numbers_have_no_point() -> None:
    assert (spelled(1e6), type(spelled(1e6))) == (1000000, int)
    assert (spelled(2.5), type(spelled(1e300))) == (2.5, float)


@given(positive, st.floats(1e-9, 0.5))
def test_decimals_lie_inside_shortest_first(value: float, width: float) -> None:
    low, high = value * (1 - width), value * (1 + width)
    found = list(decimals(low, high, 8))
    assert all(low <= v <= high for v in found)
    assert len(set(found)) == len(found) == 8
    assert digits(found[0]) == min(map(digits, found))


@given(st.integers(1, 9999), st.integers(-20, 20))
def test_the_simplest_number_around_a_short_one_is_it(whole: int, power: int) -> None:
    value = float(f"{whole}e{power}")
    assert digits(simplest(value * (1 - 1e-9), value * (1 + 1e-9))) <= digits(value)
    assert simplest(value, value) == value


def test_no_decimals_in_an_empty_or_infinite_interval() -> None:
    assert list(decimals(2.0, 1.0, 4)) == []
    assert list(decimals(0.0, 1.0, 4)) == []
    assert list(decimals(1.0, math.inf, 4)) == []
    assert list(lengths(3.0, 2.0, 4)) == []


@pytest.mark.parametrize(
    ("value", "near"),
    [(1e6, (9e5, 2e6)), (5e5, (4e5, 6e5)), (150000.0, (140000.0, 160000.0)), (0.1, (0.09, 0.2))],
)
def test_neighbours_have_as_many_digits(value: float, near: tuple[float, float]) -> None:
    assert neighbours(value) == near


def test_lengths_are_powers_of_two_first() -> None:
    assert next(lengths(30000, 40000, 1)) == 32768
    assert next(lengths(33000, 40000, 1)) == 36864  # 36 x 1,024
    assert next(lengths(4999.9, 5000.1, 1)) == 5000


@given(st.floats(1e-7, 6e4), st.sampled_from(["bfloat16", "float16", "float32"]))
def test_cells_hold_what_rounds_to_a_value(value: float, dtype: str) -> None:
    held = torch.tensor(value, dtype=torch.float64).to(getattr(torch, dtype)).item()
    low, high = edges(held, FORMATS[dtype])
    assert low <= value <= high
    for inside in (low + (held - low) * 1e-3, high - (high - held) * 1e-3):
        assert torch.tensor(inside, dtype=torch.float64).to(getattr(torch, dtype)).item() == held


@given(st.lists(positive, min_size=1, max_size=8), st.lists(positive, min_size=8, max_size=8))
def test_steps_count_numbers_of_the_format(a: list[float], b: list[float]) -> None:
    b = b[: len(a)]
    assert steps(a, b, "float32") == [ulp_distance(x, y) for x, y in zip(a, b, strict=True)]
    bits = [
        [torch.tensor(v).to(torch.bfloat16).view(torch.int16).item() for v in values]
        for values in (a, b)
    ]
    narrow = [abs(x - y) for x, y in zip(*bits, strict=True)]
    assert steps(a, b, "bfloat16") == narrow


def test_the_format_that_a_table_shows() -> None:
    table = plain(1e6).inv_freq
    assert shown(table) == "float32"
    for dtype in ("bfloat16", "float16", "float8_e4m3", "float8_e5m2"):
        held = [round_to(v, dtype) for v in table]
        assert shown(held) == dtype
        assert grids(held, "float32") == [dtype, "float32"]
    twos = [2.0**-k for k in range(12)]
    assert grids(twos, "bfloat16") == ["float32", "bfloat16"]  # no rounding to be seen


def test_a_step_is_only_allowed_at_a_boundary() -> None:
    table = [1.0, 0.75, 1 + 2.0**-7]
    found = cells(table, "bfloat16")
    at_boundary = [1.0, 0.75, 1 + 2.0**-8 - 2.0**-23]
    beyond = [1.0, 0.75, 1 + 2.0**-8 - 2.0**-16]
    for built, allowed in ((at_boundary, True), (beyond, False)):
        apart = steps(table, built, "bfloat16")
        assert max(apart) == 1
        assert agrees(found, built, apart, 8) is allowed


@given(st.floats(2, 1e11), st.sampled_from([16, 64, 128]), st.sampled_from(["float32", "bfloat16"]))
def test_the_interval_of_bases_holds_the_base(base: float, dim: int, dtype: str) -> None:
    held = [round_to(v, dtype) for v in geometric(base, dim)]
    found = base_interval(cells(held, dtype), exponents((dim,), dim // 2), 3 * 2.0**-24)
    assert found is not None
    low, high = math.exp(found[0]), math.exp(found[1])
    assert low * (1 - 1e-7) <= base <= high * (1 + 1e-7)


def test_tables_that_contradict_a_ladder_leave_no_base() -> None:
    moved = with_values(plain(1e6), lambda k, v: v * 1.001 if k == 9 else v).inv_freq
    assert base_interval(cells(moved, "float32"), exponents((128,), 64), 1e-6) is None


def test_intervals_meet_or_do_not() -> None:
    assert meet((1.0, 3.0), (2.0, 4.0)) == (2.0, 3.0)
    assert meet((1.0, 2.0), (3.0, 4.0)) is None


@pytest.mark.parametrize(("law", "base", "factor"), [(yarn(), 1e6, 4.0), (llama3(), 5e5, 8.0)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_ramp_is_read_off_a_table(law: object, base: float, factor: float, dtype: str) -> None:
    held = cast(law, dtype).inv_freq  # type: ignore[arg-type]
    shape = next(iter(shapes(cells(held, dtype), 8)))
    assert shape.base == base
    assert 1 / shape.slow[1] <= factor <= 1 / shape.slow[0]
    assert 0 < shape.kept < shape.divided < 64


def test_a_table_that_returns_to_the_ladder_is_no_ramp() -> None:
    moved = with_values(plain(1e6), lambda k, v: v * 0.5 if 20 < k < 30 else v).inv_freq
    assert list(islice(shapes(cells(moved, "float32"), 8), 3)) == []


@given(st.lists(st.floats(0, 2.0**127, width=32), min_size=3, max_size=12))
def test_any_table_is_searched_without_an_error(table: list[float]) -> None:
    for found in search(table, "float32", 8).matches:
        assert found.max_ulp <= 8
        assert steps(table, found.table, shown(table)) or not table


@given(st.lists(st.floats(), max_size=12))
def test_any_table_has_a_nearest_ladder_or_none(table: list[float]) -> None:
    found = fit(table, "float64", None, 16)
    usable = sum(1 for v in table if 0 < v < math.inf)
    assert found is None or (usable >= 3 and found.base > 0)
