"""Channels that never complete a turn: counts known from published models."""

from __future__ import annotations

import math

import pytest

from ropeaudit.checks import under_rotation as check
from ropeaudit.findings import Severity, Status
from ropeaudit.records import replace
from ropeaudit.schedule.core import Context
from tests.schedules import llama3, only, outcomes, plain, proportional, raw, with_values


@pytest.mark.parametrize(
    ("base", "length", "count"),
    [
        (1e4, 4096, 18),
        (5e5, 8192, 29),
        (1e6, 2048, 37),
        (1e6, 4096, 33),
        (1e6, 8192, 30),
        (1e6, 16384, 27),
        (1e6, 32768, 24),
        (1e6, 131072, 17),
    ],
)
def test_counts_of_known_models(base: float, length: int, count: int) -> None:
    found = only(check, plain(base, 128, trained=length))
    assert found.status is Status.FAIL
    assert found.severity is Severity.INFO
    assert found.evidence["under_rotated"] == {str(length): count}


@pytest.mark.parametrize(
    ("base", "dim", "length"), [(1e4, 128, 4096), (5e5, 128, 8192), (1e6, 64, 32768)]
)
def test_critical_dimension_is_the_published_formula(base: float, dim: int, length: int) -> None:
    found = only(check, plain(base, dim, trained=length))
    formula = 2 * math.ceil(dim / 2 * math.log(length / (2 * math.pi)) / math.log(base))
    assert found.evidence["critical_dim"] == formula


def test_llama_2_has_the_published_critical_dimension() -> None:
    assert only(check, plain(trained=4096)).evidence["critical_dim"] == 92


def test_scaled_table_is_counted_scaled_and_its_critical_dimension_unscaled() -> None:
    found = only(check, llama3(declared=131072))
    unscaled = only(check, plain(5e5, trained=8192))
    assert found.evidence["under_rotated"]["131072"] == 25
    assert found.evidence["critical_dim"] == unscaled.evidence["critical_dim"]


def test_asked_lengths_and_windows() -> None:
    schedule = plain(context=Context(4096, 4096))
    asked = only(check, schedule, lengths=[65536])
    assert list(asked.evidence["under_rotated"]) == ["4096", "65536"]
    sliding = plain(1e4, 256, context=Context(32768, 32768, window=1024))
    assert only(check, sliding).evidence["under_rotated"] == {"1024": 57}


def test_static_channels_are_counted_and_named() -> None:
    found = only(check, proportional(declared=262144))
    assert found.evidence["static"] == 192
    assert "192 of them are zero by design" in found.message


def test_passes_when_every_channel_turns() -> None:
    assert only(check, plain(1e4, 64, trained=131072)).status is Status.PASS


def test_dynamic_variant_is_judged_at_its_own_length() -> None:
    found = only(check, plain(variant="@8192", trained=4096))
    assert list(found.evidence["under_rotated"]) == ["8192"]


def test_unknown_for_nan_and_skip_without_length() -> None:
    broken = with_values(plain(trained=4096), lambda k, v: math.nan if k == 3 else v)
    assert only(check, broken).status is Status.UNKNOWN
    assert only(check, raw([1.0, 0.5])).status is Status.SKIP
    assert only(check, replace(plain(trained=2048), component="vision")).status is Status.SKIP
    assert [o.status for o in outcomes(check)] == [Status.SKIP]
