"""Phases beyond training, by a plain count, for scaled and unscaled schedules."""

from __future__ import annotations

import math

import pytest

from ropeaudit.checks import unseen_phase as check
from ropeaudit.findings import Severity, Status
from ropeaudit.schedule.core import Context
from tests.schedules import llama3, only, plain, proportional, raw, scaled, with_values, yarn


def test_nothing_is_unseen_within_the_trained_length() -> None:
    assert only(check, plain(trained=4096)).status is Status.PASS


@pytest.mark.parametrize(("length", "severity"), [(4500, Severity.WARNING), (32768, None)])
def test_plain_model_asked_beyond_its_length(length: int, severity: Severity | None) -> None:
    schedule = plain(trained=4096)
    found = only(check, schedule, lengths=[length])
    slow = [k for k, v in enumerate(schedule.inv_freq) if v * 4096 < 2 * math.pi]
    assert found.status is Status.FAIL
    assert found.severity is severity
    assert found.evidence["channels"] == slow
    assert found.evidence["max_ratio"] == pytest.approx(length / 4096)


def test_yarn_keeps_every_phase_inside_up_to_its_length() -> None:
    assert only(check, yarn(declared=131072)).status is Status.PASS


def test_yarn_beyond_its_length_fails() -> None:
    found = only(check, yarn(declared=131072), lengths=[262144])
    assert found.severity is None
    assert found.evidence["unseen"] == {"131072": 0, "262144": 24}


def test_llama3_goes_beyond_on_purpose() -> None:
    found = only(check, llama3(declared=131072))
    assert found.status is Status.FAIL
    assert found.severity is Severity.INFO
    assert found.evidence["max_ratio"] == pytest.approx(2.0)


def test_llama3_a_little_beyond_its_declared_length_is_a_warning() -> None:
    assert only(check, llama3(declared=131072), lengths=[160000]).severity is Severity.WARNING
    assert only(check, llama3(declared=131072), lengths=[524288]).severity is None


@pytest.mark.parametrize(("factor", "status"), [(2.0, Status.PASS), (1.0, Status.FAIL)])
def test_dynamic_at_twice_its_length_is_no_more_than_information(
    factor: float, status: Status
) -> None:
    grown = scaled(
        "dynamic",
        1e6,
        scaling={"factor": factor},
        declared=32768,
        length=65536,
        variant="@65536",
        context=Context(32768, 32768, assumed=True),
    )
    found = only(check, grown)
    assert found.status is status
    if status is Status.FAIL:
        assert found.severity is Severity.INFO
        assert 1 < found.evidence["max_ratio"] < 2


def test_linear_without_original_length_is_taken_as_trained_as_built() -> None:
    schedule = scaled(
        "linear", scaling={"factor": 4.0}, declared=16384, context=Context(16384, 16384, True)
    )
    assert only(check, schedule).status is Status.PASS
    found = only(check, schedule, lengths=[32768])
    assert found.severity is None
    assert found.evidence["trained_assumed"] is True
    assert found.evidence["max_ratio"] == pytest.approx(2.0)


def test_sliding_layers_see_no_further_than_their_window() -> None:
    schedule = plain(context=Context(8192, 8192, window=4096))
    assert only(check, schedule, lengths=[1_000_000]).status is Status.PASS


def test_still_channels_are_never_unseen() -> None:
    found = only(
        check, proportional(context=Context(262144, 262144, assumed=True)), lengths=[1_000_000]
    )
    assert found.status is Status.PASS  # the turning channels have all gone round


def test_unknown_without_trained_length_only_when_asked() -> None:
    table = raw(plain().inv_freq)
    assert only(check, table).status is Status.SKIP
    assert only(check, table, lengths=[8192]).status is Status.UNKNOWN


def test_unknown_for_nan_and_for_a_missing_unscaled_table() -> None:
    broken = with_values(plain(trained=4096), lambda k, v: math.nan)
    assert only(check, broken, lengths=[8192]).status is Status.UNKNOWN
    assert only(check, yarn(declared=131072, unscaled=None)).status is Status.UNKNOWN
