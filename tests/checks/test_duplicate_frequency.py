"""RA101: the exact cluster counts of quantisers and casts, and what is equal by design."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks import duplicate_frequency as check
from ropeaudit.findings import Severity, Status
from ropeaudit.schedule.core import Axis
from ropeaudit.schedule.float32 import f32s
from tests.schedules import (
    case,
    cast,
    llama3,
    only,
    outcomes,
    plain,
    proportional,
    quantised,
    raw,
    stored,
    with_values,
    yarn,
)

# base, dim: INT8 symmetric, INT8 affine, INT4 symmetric, INT4 affine, log-INT8, log-INT4
COUNTS = {
    (1e4, 128): (25, 21, 45, 40, 1, 5),
    (1e4, 256): (51, 42, 91, 80, 1, 9),
    (1e5, 64): (16, 14, 24, 22, 1, 2),
    (5e5, 128): (36, 33, 51, 47, 1, 5),
    (1e6, 128): (38, 35, 51, 48, 1, 5),
    (1e6, 256): (76, 70, 103, 96, 1, 9),
    (1e7, 128): (42, 39, 53, 50, 1, 5),
}
QUANTISERS = ((8, "sym"), (8, "affine"), (4, "sym"), (4, "affine"), (8, "log"), (4, "log"))


def max_cluster(outcome: object) -> int:
    return getattr(outcome, "evidence", {}).get("max_cluster", 1)


@pytest.mark.parametrize(("base", "dim"), COUNTS)
def test_quantisers_make_the_published_clusters(base: float, dim: int) -> None:
    found = tuple(
        max_cluster(only(check, quantised(plain(base, dim), bits, mode)))
        for bits, mode in QUANTISERS
    )
    assert found == COUNTS[base, dim]


def test_int8_zeroes_the_slow_channels_of_a_million() -> None:
    outcome = only(check, quantised(plain(1e6, 128), 8, "sym"))
    assert outcome.status is Status.FAIL
    assert outcome.severity is None
    assert outcome.evidence["clusters"][0] == list(range(26, 64))
    assert "38 of 64 channels have the same frequency 0 (channels 26-63)" in outcome.message
    assert outcome.location is not None
    assert outcome.location.pointer == "/rope_theta"


CASTS = [
    (1e4, 128, "float8_e4m3", 15),
    (1e6, 128, "float8_e4m3", 31),
    (1e7, 128, "float8_e4m3", 36),
    (1e4, 128, "float8_e5m2", 2),
    (1e6, 128, "float8_e5m2", 9),
    (1e7, 128, "float8_e5m2", 17),
    (1e7, 128, "float16", 1),
    (1e8, 128, "float16", 4),
    (5e8, 128, "float16", 8),
    *((b, d, "bfloat16", 1) for b in (1e4, 1e6, 5e8) for d in (128, 256, 512)),
]


@pytest.mark.parametrize(("base", "dim", "dtype", "count"), CASTS)
def test_casts_make_the_published_clusters(base: float, dim: int, dtype: str, count: int) -> None:
    assert max_cluster(only(check, cast(plain(base, dim), dtype))) == count


def test_the_table_is_rounded_to_the_dtype_it_is_held_in() -> None:
    """A schedule that says float16 and still has float32 values is judged as float16."""
    outcome = only(check, plain(5e8, 128, dtype="float16"))
    assert max_cluster(outcome) == 8
    assert "in float16" in outcome.message


@pytest.mark.parametrize("schedule", [plain(1e4), plain(5e8, 512), llama3(), yarn()])
def test_every_law_gives_distinct_frequencies(schedule: object) -> None:
    assert only(check, schedule).status is Status.PASS  # type: ignore[arg-type]


def test_base_one_is_one_cluster() -> None:
    assert max_cluster(only(check, plain(1.0, 128))) == 64


def test_zeros_of_the_family_are_information() -> None:
    outcome = only(check, proportional())
    assert (outcome.status, outcome.severity) == (Status.FAIL, Severity.INFO)
    assert outcome.evidence["max_cluster"] == 1
    assert outcome.evidence["static_channels"] == list(range(64, 256))
    assert "proportional" in outcome.message


def test_a_stored_copy_of_such_a_table_is_no_error_either() -> None:
    law = proportional()
    beside = outcomes(check, law, stored(law))
    assert [o.severity for o in beside] == [Severity.INFO, Severity.INFO]


def test_an_extra_duplicate_beside_by_design_zeros_is_an_error() -> None:
    law = proportional()
    values = list(law.inv_freq)
    values[3] = values[4]
    outcome = only(check, with_values(law, values))
    assert (outcome.status, outcome.severity) == (Status.FAIL, None)
    assert outcome.evidence["clusters"] == [[3, 4]]


def test_a_bare_table_with_a_zero_tail_is_unknown_only_where_a_law_would_leave_it() -> None:
    assert only(check, raw(proportional().inv_freq)).status is Status.UNKNOWN
    table = plain(1e6, 128).inv_freq
    assert only(check, raw((*table[:40], *[0.0] * 24))).status is Status.FAIL
    assert only(check, raw((*table[:32], *[0.0] * 32))).status is Status.UNKNOWN
    known = outcomes(check, plain(1e6), stored(plain(1e6), (*table[:32], *[0.0] * 32)))
    assert known[1].status is Status.FAIL


def test_equal_values_on_different_axes_are_by_design() -> None:
    ladder = plain(1e4, 32).inv_freq
    axes = (Axis("h", (0, 15)), Axis("w", (16, 31)))
    apart = plain(1e4, 64, inv_freq=ladder * 2, axes=axes, component="vision")
    outcome = only(check, apart)
    assert (outcome.status, outcome.severity) == (Status.FAIL, Severity.INFO)
    assert outcome.evidence["across_axes"][0] == [0, 16]
    shared = plain(1e4, 32, axes=(Axis("h", (0, 15)), Axis("w", (0, 15))), component="vision")
    assert only(check, shared).status is Status.PASS
    twice = list(ladder * 2)
    twice[1] = twice[0]
    outcome = only(check, with_values(apart, twice))
    assert (outcome.severity, outcome.evidence["clusters"]) == (None, [[0, 1]])


def test_a_bare_repeated_ladder_is_unknown() -> None:
    ladder = plain(1e4, 32).inv_freq
    for count in (2, 3, 4):
        assert only(check, raw(ladder * count)).status is Status.UNKNOWN
    twins = sorted(ladder * 2, reverse=True)  # every angle twice in a row, not copy after copy
    assert only(check, raw(twins)).status is Status.FAIL


def test_learned_duplicates_are_a_warning() -> None:
    outcome = only(check, raw([1.0, 1.0, 0.5], rope_type="learned"))
    assert (outcome.status, outcome.severity) == (Status.FAIL, Severity.WARNING)


def test_learned_vectors_are_skipped() -> None:
    table = raw([1.0, 1.0, 0.5, 0.5], rope_type="learned", parameters={"shape": [2, 2]})
    assert only(check, table).status is Status.SKIP


def test_nan_leaves_the_question_open_and_equals_nothing() -> None:
    assert only(check, raw([1.0, math.nan, 0.5])).status is Status.UNKNOWN
    outcome = only(check, raw([1.0, math.nan, 0.5, math.nan, 0.5]))
    assert (outcome.status, outcome.evidence["clusters"]) == (Status.FAIL, [[2, 4]])


def test_the_option_accepts_small_clusters() -> None:
    table = raw([1.0, 1.0, 0.5])
    assert only(check, table, params=check.Params(max_cluster=2)).status is Status.PASS


def test_nothing_to_judge_is_said() -> None:
    assert [o.status for o in check.run(case(), check.Params())] == [Status.SKIP]


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=24),
    st.randoms(use_true_random=False),
    st.floats(1e-3, 1e3),
)
def test_order_and_scale_change_no_count(
    members: list[int], shuffle: random.Random, factor: float
) -> None:
    """The largest cluster is the largest multiplicity, however the table is shuffled or scaled."""
    expected = max(members.count(m) for m in members)
    values = [float(m) for m in members]
    shuffle.shuffle(values)
    table = raw(f32s(v * factor for v in values), rope_type="default", variant=None)
    outcome = only(check, table)
    assert max_cluster(outcome) == expected
    assert (outcome.status is Status.PASS) == (expected == 1)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.integers(2, 12), st.integers(2, 4))
def test_splitting_a_table_into_axes_removes_only_clusters_across_them(
    size: int, copies: int
) -> None:
    ladder = plain(1e4, 2 * size).inv_freq
    axes = tuple(Axis("thwx"[i], (i * size, (i + 1) * size - 1)) for i in range(copies))
    one = plain(1e4, inv_freq=ladder * copies)
    assert max_cluster(only(check, one)) == copies
    outcome = only(check, plain(1e4, inv_freq=ladder * copies, axes=axes))
    assert (outcome.severity, max_cluster(outcome)) == (Severity.INFO, 1)
