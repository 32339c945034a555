"""RA102: close pairs are found, healthy tables of any width stay silent."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks import near_duplicate as check
from ropeaudit.findings import Severity, Status
from ropeaudit.schedule.core import Axis
from ropeaudit.schedule.float32 import f32s, ordinal
from tests.schedules import cast, llama3, only, plain, quantised, raw, scaled, with_values, yarn


@pytest.mark.parametrize("dim", [16, 64, 128, 512, 2048, 131072])
@pytest.mark.parametrize("base", [1e4, 1e6, 5e8])
def test_plain_tables_of_any_width_are_silent(base: float, dim: int) -> None:
    assert only(check, plain(base, dim)).status is Status.PASS


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3", "float8_e5m2"])
@pytest.mark.parametrize("dim", [64, 128, 512, 2048])
def test_rounding_alone_makes_no_near_duplicates(dtype: str, dim: int) -> None:
    """Values of a narrow format are either equal or a whole step apart."""
    assert only(check, cast(plain(1e4, dim), dtype)).status is Status.PASS


@pytest.mark.parametrize("schedule", [llama3(), yarn(), yarn(factor=40, original=4096)])
def test_ramps_are_silent(schedule: object) -> None:
    assert only(check, schedule).status is Status.PASS  # type: ignore[arg-type]


def test_a_longrope_list_is_silent() -> None:
    factors = [1.0 + 63 * (k / 47) ** 2 for k in range(48)]
    schedule = scaled(
        "longrope",
        1e4,
        96,
        scaling={
            "short_factor": [1.0] * 48,
            "long_factor": factors,
            "original_max_position_embeddings": 4096,
        },
        length=131072,
    )
    assert only(check, schedule).status is Status.PASS


def test_linearly_spaced_image_frequencies_are_silent() -> None:
    linear = [math.pi * (1 + k) for k in range(1000)]
    assert only(check, plain(component="vision", inv_freq=tuple(linear))).status is Status.PASS


def test_a_repair_by_jitter_is_found() -> None:
    """Symmetric INT8 moved by k * 1e-7: all distinct, and as bad as before."""
    table = with_values(quantised(plain(1e5, 64), 8, "sym"), lambda k, v: v + k * 1e-7)
    assert len(set(table.inv_freq)) == 32
    outcome = only(check, table)
    assert outcome.status is Status.FAIL
    assert [13, 14, 15] in outcome.evidence["clusters"]
    assert outcome.evidence["max_cluster"] == 3
    assert 0 < outcome.evidence["smallest_log_gap"] < 1e-5


def test_one_ulp_apart_is_found_and_equal_is_left_to_the_other_rule() -> None:
    table = list(plain(1e6, 128).inv_freq)
    table[11] = f32s([table[10] * (1 - 2**-24)])[0]
    assert ordinal(table[10]) - ordinal(table[11]) == 1
    outcome = only(check, with_values(plain(1e6), table))
    assert outcome.evidence["clusters"] == [[10, 11]]
    table[11] = table[10]
    assert only(check, with_values(plain(1e6), table)).status is Status.PASS


def test_doubles_that_share_a_float32_are_near() -> None:
    table = raw([1.0, 0.5, 0.5 - 1e-12, 0.25], dtype="float64")
    assert only(check, table).evidence["clusters"] == [[1, 2]]


def test_the_options_move_the_line() -> None:
    table = list(plain(1e6, 128).inv_freq)
    table[11] = table[10] * (1 - 5e-3)
    schedule = with_values(plain(1e6), table)
    assert only(check, schedule).status is Status.PASS
    wide = check.Params(relative_gap=0.05)
    assert only(check, schedule, params=wide).evidence["clusters"] == [[10, 11]]
    steps = check.Params(ulp=100_000, relative_gap=0.0)
    assert only(check, schedule, params=steps).evidence["clusters"] == [[10, 11]]


def test_axes_are_judged_apart() -> None:
    ladder = plain(1e4, 32).inv_freq
    shifted = tuple(f32s(v * (1 - 1e-6) for v in ladder))
    axes = (Axis("h", (0, 15)), Axis("w", (16, 31)))
    both = plain(1e4, 64, inv_freq=ladder + shifted, axes=axes, component="vision")
    assert only(check, both).status is Status.PASS
    assert only(check, plain(1e4, inv_freq=ladder + shifted)).evidence["max_cluster"] == 2


def test_learned_tables_have_their_own_tolerance() -> None:
    """Near means below 1 % and below 0.1 rad over the trained length."""

    def learned(gap: float, length: int | None) -> Status:
        values = [1.0, 0.1, 0.1 * (1 - gap), 0.01]
        return only(check, raw(values, rope_type="learned", trained=length)).status

    assert learned(0.005, 128) is Status.FAIL  # 0.064 rad
    assert learned(0.005, 1024) is Status.PASS  # 0.51 rad: far apart in phase
    assert learned(0.02, 4) is Status.PASS  # 2 %
    assert learned(0.005, None) is Status.UNKNOWN
    assert learned(0.02, None) is Status.PASS


def test_twins_of_an_optimiser_are_found_where_equality_misses_them() -> None:
    """A learned table that started with every angle twice, 1e-5 apart after training."""
    angles = [10000.0 ** (-k / 16) for k in range(16)]
    twins = [v for a in angles for v in (a, a * (1 + 1e-5))]
    outcome = only(check, raw(twins, rope_type="learned", trained=512))
    assert (outcome.severity, outcome.evidence["max_cluster"]) == (Severity.WARNING, 2)
    assert len(outcome.evidence["clusters"]) == 16


def test_nan_leaves_the_question_open() -> None:
    assert only(check, raw([1.0, math.nan, 0.5, 0.1])).status is Status.UNKNOWN
    found = only(check, raw([1.0, math.nan, 0.5, 0.5 * (1 + 1e-6)]))
    assert found.evidence["clusters"] == [[2, 3]]


@settings(max_examples=80, derandomize=True, deadline=None)
@given(
    st.sampled_from([1e4, 5e5, 1e6, 1e7]),
    st.sampled_from([64, 128, 256]),
    st.integers(0, 30),
    st.integers(1, 4),
    st.floats(1e-3, 1e3),
)
def test_a_planted_pair_is_found_at_any_place_and_scale(
    base: float, dim: int, at: int, ulp: int, factor: float
) -> None:
    table = f32s(v * factor for v in plain(base, dim).inv_freq)
    table[at + 1] = table[at] * (1 - ulp * 2.0**-24)
    outcome = only(check, with_values(plain(base, dim), table))
    assert outcome.evidence.get("clusters") == [[at, at + 1]]
