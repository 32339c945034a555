"""RA201: the order of channels."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks import not_monotone as check
from ropeaudit.findings import Severity, Status
from ropeaudit.schedule.core import Axis
from ropeaudit.schedule.float32 import f32s
from tests.schedules import (
    cast,
    llama3,
    only,
    outcomes,
    plain,
    proportional,
    quantised,
    raw,
    scaled,
    stored,
    with_values,
    yarn,
)


@pytest.mark.parametrize(
    "schedule",
    [
        plain(1e4),
        llama3(),
        yarn(),
        yarn(factor=40, original=4096),
        proportional(),
        cast(plain(5e8), "float16"),
        quantised(plain(1e6), 8, "sym"),
    ],
)
def test_laws_and_roundings_keep_the_order(schedule: object) -> None:
    assert only(check, schedule).status is Status.PASS  # type: ignore[arg-type]


def test_a_swap_is_found_at_its_place() -> None:
    values = list(plain(1e6).inv_freq)
    values[4], values[5] = values[5], values[4]
    outcome = only(check, with_values(plain(1e6), values))
    assert (outcome.status, outcome.severity) == (Status.FAIL, None)
    assert outcome.evidence == {"rises": [[4, 5]], "count": 1, "channels": [5]}


def test_a_stored_permutation_of_the_config_is_called_one() -> None:
    law = plain(1e6)
    halves = law.inv_freq[1::2] + law.inv_freq[::2]  # read in the wrong layout
    _, outcome = outcomes(check, law, stored(law, halves))
    assert "those of the config in another order" in outcome.message


def test_text_in_reverse_is_an_error_and_a_rising_image_axis_is_not() -> None:
    reverse = plain(1e4).inv_freq[::-1]
    assert "reverse order" in only(check, raw(reverse)).message
    linear = tuple(f32s(math.pi * k for k in range(1, 17)))
    assert only(check, plain(component="vision", inv_freq=linear)).status is Status.PASS


def test_one_ladder_dealt_to_axes_is_one_ladder() -> None:
    """Interleaved sections (t h w t h w ...) fall on each axis and as a whole."""
    axes = tuple(Axis("thw"[k % 3], (k, k)) for k in range(64))
    assert only(check, plain(1e6, axes=axes)).status is Status.PASS


def test_each_axis_has_its_own_ladder() -> None:
    ladder = plain(1e4, 32).inv_freq
    axes = (Axis("h", (0, 15)), Axis("w", (16, 31)))
    both = plain(1e4, 64, inv_freq=ladder * 2, axes=axes, component="vision")
    assert only(check, both).status is Status.PASS
    broken = list(ladder * 2)
    broken[20], broken[21] = broken[21], broken[20]
    assert only(check, with_values(both, broken)).evidence["rises"] == [[20, 21]]


def test_a_bare_repeated_ladder_is_unknown() -> None:
    ladder = plain(1e4, 32).inv_freq
    assert only(check, raw(ladder * 2)).status is Status.UNKNOWN
    assert only(check, raw(ladder + ladder[:-1] + (9.0,))).status is Status.FAIL


def test_a_searched_list_out_of_order_is_a_warning() -> None:
    lists = {"short_factor": [1.0, 30.0, 1.0, 1.0], "long_factor": [1.0] * 4}
    schedule = scaled(
        "longrope", 1e4, 8, scaling=lists | {"original_max_position_embeddings": 4096}
    )
    outcome = only(check, schedule)
    assert (outcome.severity, outcome.evidence["rises"]) == (Severity.WARNING, [[1, 2]])


def test_learned_tables_have_no_order() -> None:
    assert only(check, raw([0.1, 0.5, 0.2], rope_type="learned")).status is Status.SKIP


def test_nan_leaves_the_question_open_unless_the_rest_decides() -> None:
    assert only(check, raw([1.0, math.nan, 0.5])).status is Status.UNKNOWN
    assert only(check, raw([1.0, math.nan, 2.0])).evidence["rises"] == [[0, 2]]


@settings(max_examples=80, derandomize=True, deadline=None)
@given(st.permutations(list(range(16))))
def test_only_the_identity_passes(order: list[int]) -> None:
    values = plain(1e4, 32).inv_freq
    outcome = only(check, raw(values[k] for k in order))
    assert (outcome.status is Status.PASS) == (order == sorted(order))
    if outcome.status is Status.FAIL:
        rises = [[i, i + 1] for i in range(15) if order[i] > order[i + 1]]
        assert outcome.evidence["rises"] == rises
