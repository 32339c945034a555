"""Defaulted bases: healthy files that leave them out, and accidents."""

from __future__ import annotations

from typing import Any

import pytest

from ropeaudit.checks import base_defaulted as check
from ropeaudit.document import Document
from ropeaudit.facts import Location, Observation, Oddity, Reading
from ropeaudit.findings import Severity, Status
from ropeaudit.records import replace
from ropeaudit.schedule.core import Context, Schedule
from tests.schedules import llama3, only, outcomes, plain, scaled, stored, yarn

PLACE = Location(file="config.json", pointer="")


def defaulted(model_type: str, base: float = 1e4, **evidence: Any) -> Observation:
    return Observation(
        kind=Oddity.BASE_DEFAULTED,
        message="",
        location=PLACE,
        evidence={"rope_theta": base, "model_type": model_type, "scaled": False} | evidence,
    )


def assumed(length: int) -> Context:
    return Context(length, length, assumed=True)


LINEAR = scaled("linear", scaling={"factor": 8.0}, context=assumed(32768))


@pytest.mark.parametrize(
    ("schedule", "observation", "severity"),
    [
        (plain(context=assumed(4096)), defaulted("llama"), Severity.INFO),
        (plain(), defaulted("llama"), Severity.INFO),
        (LINEAR, defaulted("llama", scaled=True), Severity.INFO),
        (yarn(1e4, factor=32.0, original=4096), defaulted("llama", scaled=True), Severity.INFO),
        (yarn(1e4, factor=2.0, original=8192), defaulted("llama", scaled=True), Severity.WARNING),
        (yarn(1e4, declared=131072), defaulted("qwen3", scaled=True), None),
        (plain(context=assumed(32768)), defaulted("qwen2"), None),
        (plain(context=assumed(32768)), defaulted("llama"), Severity.WARNING),
        (plain(context=Context(32768, 32768)), defaulted("llama"), None),
        (plain(context=assumed(16383)), defaulted("llama"), Severity.INFO),
        (plain(context=Context(131072, 131072, True, 1024)), defaulted("gemma3"), Severity.INFO),
        (plain(context=Context(131072, 131072, True, 65536)), defaulted("x"), Severity.WARNING),
        (llama3(1e4), defaulted("llama", scaled=True), None),
        (plain(context=assumed(8192)), defaulted("some_arch", family_base=1e6), None),
        (plain(5e6, context=assumed(65536)), defaulted("smollm3", 5e6), Severity.INFO),
    ],
)
def test_severity(schedule: Schedule, observation: Observation, severity: Severity | None) -> None:
    found = only(check, schedule, observations=[observation])
    assert found.status is Status.FAIL
    assert found.severity is severity
    assert found.location == PLACE
    assert found.evidence["found"] == observation.evidence["rope_theta"]


def test_the_usual_base_of_the_family_is_named() -> None:
    found = only(check, yarn(1e4), observations=[defaulted("qwen3", scaled=True)])
    assert found.evidence["expected"] == 1e6
    assert found.fix is not None
    assert "1,000,000" in found.fix


@pytest.mark.parametrize("model_type", ["falcon", "esm", "glm", "minicpm3"])
def test_families_that_leave_it_out_pass(model_type: str) -> None:
    schedule = plain(context=assumed(131072))
    assert only(check, schedule, observations=[defaulted(model_type)]).status is Status.PASS


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (assumed(32768), "a model declared at 32,768 positions"),
        (Context(32768, 131072), "a model trained at 32,768 positions"),
        (Context(131072, 131072, True, 1024), "layers that attend to 1,024 positions"),
    ],
)
def test_what_the_length_is_stands_in_the_message(context: Context, words: str) -> None:
    assert words in only(check, plain(context=context), observations=[defaulted("llama")]).message


@pytest.mark.parametrize(("generic", "severity"), [(True, Severity.WARNING), (False, None)])
@pytest.mark.parametrize("told", [True, False])
def test_base_that_only_the_models_own_code_reads(
    generic: bool, severity: Severity | None, told: bool
) -> None:
    observation = defaulted("chatglm", **({"elsewhere": "rope_ratio"} if told else {}))
    unknown = Observation(kind=Oddity.GENERIC_READING, message="")
    document = Document("config.json", {"rope_ratio": 10000})
    found = only(
        check,
        plain(context=Context(1_048_576, 1_048_576)),
        observations=[observation, unknown] if generic else [observation],
        reading=Reading(target="m", format="hf-config", document=document),
    )
    assert found.severity is severity
    assert ("rope_ratio" in found.message) is generic


def test_vision_towers_pass() -> None:
    tower = plain(1e4, 40, component="vision")
    observation = replace(defaulted("qwen2_5_vl"), schedule="vision")
    assert only(check, tower, observations=[observation]).status is Status.PASS


def test_dynamic_variants_count_once() -> None:
    first = scaled("dynamic", scaling={"factor": 2.0}, declared=4096, context=assumed(4096))
    grown = replace(first, variant="@8192")
    assert len(outcomes(check, first, grown, observations=[defaulted("llama")])) == 1


def test_without_a_schedule_it_is_still_said() -> None:
    found = outcomes(check, observations=[defaulted("qwen2")])
    assert [o.severity for o in found] == [None]
    assert found[0].status is Status.FAIL


def test_stated_base_passes_and_no_config_is_skipped() -> None:
    assert only(check, plain(trained=4096)).status is Status.PASS
    assert [o.status for o in outcomes(check, stored(plain()))] == [Status.SKIP]
