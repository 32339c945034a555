"""Declared lengths against scaling, base and family; healthy models stay silent."""

from __future__ import annotations

import math

import pytest

from ropeaudit.checks import length_beyond_scaling as check
from ropeaudit.findings import Severity, Status
from ropeaudit.records import replace
from ropeaudit.schedule.core import Context, Schedule
from tests.schedules import (
    llama3,
    only,
    outcomes,
    plain,
    proportional,
    scaled,
    stored,
    with_values,
    yarn,
)


def assumed(length: int, window: int | None = None) -> Context:
    return Context(length, length, assumed=True, window=window)


@pytest.mark.parametrize(
    ("base", "dim", "length", "model_type"),
    [
        (1e4, 128, 4096, "llama"),
        (5e5, 128, 8192, "llama"),
        (1e6, 128, 16384, "llama"),
        (1e6, 128, 128000, "mistral"),
        (1e6, 128, 40960, "qwen3"),
        (1e6, 64, 131072, "glm4_moe"),
        (1e6, 64, 202752, "glm_moe_dsa"),
        (5e5, 128, 131072, "ernie4_5"),
        (8e6, 64, 1048576, "glm_moe_dsa"),
        (5e6, 64, 1048576, "minimax_m3"),
        (1e7, 64, 262144, "qwen3_next"),
        (3580165449.0, 128, 1048576, "llama"),
        (1e7, 128, 1010000, "qwen2"),
        (1e4, 64, 32768, "glm4"),
        (1e6, 128, 65536, "mixtral"),
        (1e4, 8, 2048, "gpt_neox"),
    ],
)
def test_healthy_plain_models_pass(base: float, dim: int, length: int, model_type: str) -> None:
    schedule = plain(base, dim, context=assumed(length))
    assert only(check, schedule, model_type=model_type).status is Status.PASS


@pytest.mark.parametrize(
    "schedule",
    [
        llama3(declared=131072),
        llama3(5e5, 64, 32.0, declared=131072),
        yarn(1e4, 64, 40.0, 4096, declared=163840),
        yarn(150000.0, 64, 32.0, 4096, declared=131072),
        proportional(context=assumed(262144)),
        plain(1e4, context=assumed(32768, window=4096)),
        plain(5e5, context=assumed(1048576), layer_type="chunked_attention"),
        scaled("dynamic", 1e6, scaling={"factor": 2.0}, declared=32768),
    ],
    ids=lambda s: f"{s.rope_type}-{s.context.declared}",
)
def test_healthy_scaled_and_windowed_models_pass(schedule: Schedule) -> None:
    assert only(check, schedule, model_type="llama").status is Status.PASS


@pytest.mark.parametrize(
    ("base", "model_type", "word"),
    [(5e5, "llama", "Llama 3.1"), (1e6, "qwen2_moe", "32,768"), (1e4, "other", "no scaling")],
)
def test_long_plain_models_with_a_small_base_are_a_warning(
    base: float, model_type: str, word: str
) -> None:
    schedule = plain(base, context=assumed(131072))
    found = only(check, schedule, model_type=model_type)
    assert found.severity is Severity.WARNING
    assert word in found.message
    assert found.location is not None
    assert found.location.pointer == "/rope_theta"


def test_counts_in_the_message_are_those_of_the_table() -> None:
    found = only(check, plain(1e6, context=assumed(131072)), model_type="qwen2_moe")
    assert found.evidence["under_rotated"] == {"131072": 17, "32768": 24}


def test_tiny_base_is_an_error_with_its_turns() -> None:
    found = only(check, yarn(1000.0, declared=131072), model_type="qwen3_moe")
    assert found.severity is None
    assert found.evidence["turns_of_slowest"] == pytest.approx(14.79, abs=0.005)


def test_tiny_base_on_a_partly_rotated_head_is_a_warning() -> None:
    schedule = plain(1000.0, 64, head_dim=128, context=assumed(131072))
    assert only(check, schedule).severity is Severity.WARNING


@pytest.mark.parametrize(("declared", "severity"), [(200000, Severity.WARNING), (262144, None)])
def test_yarn_that_ends_too_early(declared: int, severity: Severity | None) -> None:
    found = only(check, yarn(factor=4.0, declared=declared))
    assert found.status is Status.FAIL
    assert found.severity is severity
    assert found.evidence["covered"] == 131072


def test_rotation_within_chunks_needs_no_reach() -> None:
    scout = llama3(declared=10_485_760, factor=16.0)
    assert only(check, scout, model_type="llama4").status is Status.PASS
    maverick = plain(5e5, context=assumed(1_048_576))
    assert only(check, maverick, model_type="llama4_text").status is Status.PASS


def test_llama3_far_beyond_its_reach_is_only_a_warning() -> None:
    assert only(check, llama3(declared=1048576)).severity is Severity.WARNING


def test_original_length_stated_and_no_scaling() -> None:
    assert only(check, plain(context=Context(4096, 131072))).severity is None
    assert only(check, plain(context=Context(4096, 6000))).severity is Severity.WARNING
    assert only(check, plain(context=Context(4096, 4096))).status is Status.PASS


def test_unknown_and_skips() -> None:
    broken = with_values(plain(trained=4096), lambda k, v: math.inf if k == 0 else v)
    assert only(check, broken).status is Status.UNKNOWN
    assert only(check, plain()).status is Status.SKIP
    assert [o.status for o in outcomes(check, stored(plain()))] == [Status.SKIP]
    linear = scaled("linear", scaling={"factor": 4.0}, context=assumed(16384))
    assert only(check, linear).status is Status.SKIP


def test_a_table_that_serves_no_layer_is_not_judged() -> None:
    served = replace(plain(1e4, 64, context=assumed(1048576)), layers=(0, 1))
    assert only(check, served).status is Status.FAIL
    assert only(check, replace(served, layers=())).status is Status.SKIP
