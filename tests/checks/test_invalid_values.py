"""RA105: values no frequency can have, and buffers that nobody filled."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks import invalid_values as check
from ropeaudit.findings import Severity, Status
from ropeaudit.schedule.float32 import f32s
from tests.schedules import (
    cast,
    llama3,
    only,
    outcomes,
    plain,
    proportional,
    raw,
    scaled,
    stored,
    with_values,
    yarn,
)

GEMMA_GLOBAL = scaled("linear", 1e6, 256, scaling={"factor": 8.0})


@pytest.mark.parametrize(
    "schedule", [plain(1e4), plain(5e8, 512), llama3(), yarn(), proportional(), GEMMA_GLOBAL]
)
def test_laws_pass_built_stored_and_bare(schedule: object) -> None:
    assert only(check, schedule).status is Status.PASS  # type: ignore[arg-type]
    beside = outcomes(check, schedule, stored(schedule))  # type: ignore[arg-type]
    assert {o.status for o in beside} == {Status.PASS}
    assert only(check, raw(schedule.inv_freq)).status is Status.PASS  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (math.nan, "not_finite"),
        (math.inf, "not_finite"),
        (-math.inf, "not_finite"),
        (-0.3, "negative"),
        (1e-40, "denormal"),
        (22675456.0, "huge"),
        (-1.468446e34, "negative"),
    ],
)
def test_each_fault_is_named_with_its_channel(value: float, key: str) -> None:
    table = list(plain(1e7, 64).inv_freq)
    table[6] = value
    outcome = only(check, raw(table))
    assert outcome.status is Status.FAIL
    assert outcome.severity is Severity.ERROR
    assert outcome.evidence[key] == [6]


def test_denormal_depends_on_the_format() -> None:
    """19 of 64 values of a base 1e6 table are denormal in float16, none in bfloat16."""
    outcome = only(check, cast(plain(1e6), "float16"))
    assert (outcome.severity, len(outcome.evidence["denormal"])) == (Severity.WARNING, 19)
    assert only(check, cast(plain(1e6), "bfloat16")).status is Status.PASS


def test_a_factor_of_zero_is_an_infinite_frequency() -> None:
    lists = {"short_factor": [1.0, 0.0, 1.0, 1.0], "long_factor": [1.0] * 4}
    schedule = scaled(
        "longrope", 1e4, 8, scaling=lists | {"original_max_position_embeddings": 4096}
    )
    assert only(check, schedule).evidence["not_finite"] == [1]


def test_an_unscaled_table_starts_at_one() -> None:
    law = plain(1e4, 64)
    values = [0.5, *law.inv_freq[1:]]
    values[1] = 0.4
    _, outcome = outcomes(check, law, stored(law, values))
    assert outcome.evidence["first_value"] == [0]
    assert "starts at 0.5, unscaled ones at 1" in outcome.message


def test_a_scaled_table_need_not() -> None:
    unscaled = plain(1e6, 256)
    _, outcome = outcomes(check, GEMMA_GLOBAL, stored(GEMMA_GLOBAL, unscaled.inv_freq))
    assert outcome.status is Status.PASS  # the wrong table, but a filled one


def test_leftover_memory_near_zero_is_an_error() -> None:
    outcome = only(check, raw([6.93e-18, *plain(1e4, 64).inv_freq[1:]]))
    assert (outcome.severity, outcome.evidence["first_value"]) == (Severity.ERROR, [0])


def test_disorder_that_does_not_start_at_one_is_leftover_memory() -> None:
    garbage = [0.3, 0.9, 0.01, 0.5, 0.002, 0.7, 0.04, 0.6]
    assert only(check, raw(garbage)).evidence["disorder"] == [1, 3, 5, 7]
    assert only(check, raw(sorted(garbage, reverse=True))).status is Status.PASS


def test_zeros_belong_to_another_rule() -> None:
    law = plain(1e6)
    statuses = [o.status for o in outcomes(check, law, stored(law, [0.0] * 64))]
    assert statuses == [Status.PASS, Status.PASS]


def test_a_bare_table_above_pi_is_a_warning_and_an_image_table_is_not() -> None:
    table = [math.pi * k for k in (64, 16, 4, 1)]
    assert only(check, raw(table)).severity is Severity.WARNING
    image = plain(component="vision", rope_type="axial", inv_freq=tuple(f32s(table)))
    assert only(check, image).status is Status.PASS


def test_the_sign_of_a_learned_frequency_means_nothing() -> None:
    assert only(check, raw([1.0, -0.5, 3.5], rope_type="learned")).status is Status.PASS
    assert only(check, raw([1.0, math.nan], rope_type="learned")).status is Status.FAIL


def test_the_option_sets_what_is_huge() -> None:
    table = raw([50.0, 1.0, 0.5], rope_type="learned")
    assert only(check, table).status is Status.PASS
    assert only(check, table, params=check.Params(largest=10.0)).evidence["huge"] == [0]


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.dictionaries(
        st.integers(0, 31), st.sampled_from([math.nan, math.inf, -1.0, 1e-42]), max_size=8
    )
)
def test_exactly_the_damaged_channels_are_named(damage: dict[int, float]) -> None:
    schedule = with_values(plain(1e5, 64), lambda k, v: damage.get(k, v))
    outcome = only(check, schedule)
    keys = ("not_finite", "negative", "denormal", "huge")
    found = {k for key in keys for k in outcome.evidence.get(key, [])}
    assert found == set(damage)
    assert (outcome.status is Status.PASS) == (not damage)
