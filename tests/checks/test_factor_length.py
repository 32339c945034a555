"""Factor, original and declared length, as in published files and real accidents."""

from __future__ import annotations

from typing import Any

import pytest

from ropeaudit.checks import factor_length as check
from ropeaudit.document import Document
from ropeaudit.facts import Fact, Location, Observation, Oddity, Origin, Reading
from ropeaudit.findings import Severity, Status
from ropeaudit.records import replace
from ropeaudit.schedule.core import Context, Schedule
from tests.schedules import case, llama3, only, outcomes, plain, scaled, stored, yarn


@pytest.mark.parametrize(
    "schedule",
    [
        yarn(declared=131072),
        yarn(1e4, 64, 40.0, 4096, declared=163840),
        llama3(declared=131072),
        llama3(5e5, 64, 32.0, declared=131072),
    ],
)
def test_agreement_and_llama3_pass(schedule: Schedule) -> None:
    assert only(check, schedule).status is Status.PASS


def test_factor_that_the_lengths_contradict() -> None:
    found = only(check, yarn(declared=40960))
    assert found.severity is Severity.WARNING
    assert found.evidence == {"expected": 131072, "found": 40960, "factor": 4.0}
    assert "1.25" in found.message


def test_declared_length_that_is_the_original_one_is_information() -> None:
    assert only(check, yarn(declared=32768)).severity is Severity.INFO


def test_derived_factor_passes() -> None:
    facts = (Fact("factor", 4.0, Origin.DERIVED),)
    assert only(check, yarn(declared=40960, provenance=facts)).status is Status.PASS


def test_missing_original_length_names_the_likely_one() -> None:
    place = Location(file="config.json", pointer="/rope_scaling")
    oddity = Observation(kind=Oddity.ORIGINAL_DEFAULTED, message="", location=place)
    schedule = yarn(original=131072, context=Context(131072, 131072, assumed=True))
    found = only(check, schedule, observations=[oddity])
    assert found.status is Status.FAIL
    assert found.severity is None
    assert found.evidence["expected"] == 32768
    assert found.location == place
    other = replace(oddity, schedule="vision")
    assert only(check, schedule, observations=[other]).status is Status.SKIP


@pytest.mark.parametrize(
    ("length", "factor", "status"), [(16384, 2.0, Status.FAIL), (16384, 4.0, Status.PASS)]
)
def test_linear_against_a_second_length(length: int, factor: float, status: Status) -> None:
    schedule = scaled(
        "linear", scaling={"factor": factor}, context=Context(4096, 4096, assumed=True)
    )
    data: dict[str, Any] = {"max_sequence_length": length}
    reading = Reading(target="m", format="hf-config", document=Document("config.json", data))
    found = only(check, schedule, reading=reading)
    assert found.status is status
    if status is Status.FAIL:
        assert found.severity is Severity.WARNING
        assert found.evidence["expected"] == 4.0


def test_linear_alone_is_skipped() -> None:
    schedule = scaled("linear", scaling={"factor": 4.0}, context=Context(16384, 16384, True))
    assert only(check, schedule).status is Status.SKIP


@pytest.mark.parametrize(("length", "meant"), [(8096, 8192), (16834, 16384), (32786, 32768)])
def test_swapped_digits(length: int, meant: int) -> None:
    found = only(check, plain(trained=length))
    assert found.severity is Severity.WARNING
    assert found.evidence["expected"] == meant


def test_variants_of_one_law_count_once_and_plain_is_skipped() -> None:
    short, long = (replace(yarn(declared=40960), variant=v) for v in ("short", "long"))
    assert len(list(check.run(case(short, long), check.Params()))) == 1
    assert only(check, plain(trained=4096)).status is Status.SKIP
    assert [o.status for o in outcomes(check, stored(plain()))] == [Status.SKIP]
    assert only(check, yarn(context=Context(32768, None))).status is Status.SKIP
