"""Scalings that change nothing, by accident and by design."""

from __future__ import annotations

from typing import Any

import pytest

from ropeaudit.checks import scaling_no_effect as check
from ropeaudit.facts import Location, Observation, Oddity
from ropeaudit.findings import Severity, Status
from ropeaudit.records import replace
from ropeaudit.schedule.core import Context, Schedule
from tests.schedules import llama3, only, outcomes, plain, proportional, scaled, yarn


def noticed(kind: Oddity, pointer: str = "/rope_scaling", **evidence: Any) -> Observation:
    place = Location(file="config.json", pointer=pointer)
    return Observation(kind=kind, message="noticed", location=place, evidence=evidence)


def longrope(variant: str, long: float) -> Schedule:
    return scaled(
        "longrope",
        1e4,
        96,
        scaling={
            "short_factor": [1.0] * 48,
            "long_factor": [long] * 48,
            "original_max_position_embeddings": 4096,
            "attention_factor": 1.0,
        },
        declared=131072,
        length=131072 if variant == "long" else None,
        variant=variant,
    )


@pytest.mark.parametrize(
    "schedule",
    [
        llama3(),
        yarn(),
        scaled("linear", scaling={"factor": 4.0}),
        longrope("short", 2.0),
        longrope("long", 2.0),
        scaled("ntk_alpha", scaling={"alpha": 1000.0}, unscaled=None),
    ],
    ids=lambda s: s.name + s.rope_type,
)
def test_scalings_with_an_effect_pass(schedule: Schedule) -> None:
    assert only(check, schedule).status is Status.PASS


@pytest.mark.parametrize(
    "schedule",
    [
        scaled("linear", scaling={"factor": 1.0}),
        scaled("dynamic", scaling={"factor": 1.0}, declared=32768),
        scaled("dynamic", scaling={"factor": 6.0}, declared=32768),
    ],
)
def test_idle_by_design_is_information(schedule: Schedule) -> None:
    found = only(check, schedule)
    assert found.status is Status.FAIL
    assert found.severity is Severity.INFO


def test_dynamic_variants_count_once() -> None:
    first = scaled("dynamic", scaling={"factor": 2.0}, declared=4096)
    grown = scaled("dynamic", scaling={"factor": 2.0}, declared=4096, length=8192)
    assert len(outcomes(check, first, replace(grown, variant="@8192"))) == 1


def test_idle_by_accident() -> None:
    found = only(check, longrope("long", 1.0))
    assert found.status is Status.FAIL
    assert found.severity is None
    idle = llama3(1.5, 16, context=Context(8192, 8192))
    assert idle.inv_freq == idle.unscaled
    assert only(check, idle).severity is Severity.WARNING


@pytest.mark.parametrize(
    ("observation", "severity"),
    [
        (noticed(Oddity.NOT_APPLIED, factor=8.0), None),
        (noticed(Oddity.NOT_APPLIED), None),
        (noticed(Oddity.NOT_APPLIED, key="truncate"), Severity.WARNING),
        (noticed(Oddity.NOT_APPLIED, "/rope_parameters/full_attention/truncate"), Severity.WARNING),
        (noticed(Oddity.TYPE_MISSING, factor=4.0), None),
        (noticed(Oddity.TYPE_MISSING, factor=1.0), Severity.INFO),
        (noticed(Oddity.TYPE_MISSING, factor=None), Severity.WARNING),
    ],
)
def test_remarks_of_the_reader(observation: Observation, severity: Severity | None) -> None:
    found = only(check, plain(trained=4096), observations=[observation])
    assert found.status is Status.FAIL
    assert found.severity is severity
    assert found.location == observation.location


def test_unknown_without_the_unscaled_table() -> None:
    assert only(check, yarn(unscaled=None)).status is Status.UNKNOWN


def test_skips_without_scaling() -> None:
    assert only(check, plain(trained=4096)).status is Status.SKIP
    assert only(check, proportional()).status is Status.SKIP
