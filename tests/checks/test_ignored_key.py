"""What readers notice about keys, weighed by harm."""

from __future__ import annotations

from typing import Any

import pytest

from ropeaudit.checks import ignored_key as check
from ropeaudit.document import Document
from ropeaudit.facts import Location, Observation, Oddity, Reading
from ropeaudit.findings import Outcome, Severity, Status
from tests.schedules import llama3, only, outcomes, plain


def noticed(kind: Oddity, pointer: str = "", **evidence: Any) -> Observation:
    place = Location(file="config.json", pointer=pointer) if pointer else None
    return Observation(kind=kind, message="noticed", location=place, evidence=evidence)


def judged(*observations: Observation, **kw: Any) -> Outcome:
    found = outcomes(check, plain(trained=4096), observations=observations, **kw)
    assert len(found) == 1, found
    return found[0]


def config(data: dict[str, Any]) -> Reading:
    return Reading(target="m", format="hf-config", document=Document("config.json", data))


@pytest.mark.parametrize(
    ("observation", "severity"),
    [
        (noticed(Oddity.TYPE_CONFLICT, type="linear", rope_type="yarn"), None),
        (noticed(Oddity.TYPE_CONFLICT, type="su", rope_type="longrope"), Severity.INFO),
        (noticed(Oddity.TYPE_CONFLICT, type="mrope", rope_type="default"), Severity.INFO),
        (noticed(Oddity.SCHEMA_CONFLICT), None),
        (noticed(Oddity.SCHEMA_CONFLICT, changes_table=False), Severity.INFO),
        (noticed(Oddity.PER_LAYER_IGNORED), None),
        (noticed(Oddity.KEY_IGNORED, "/factor"), Severity.WARNING),
        (noticed(Oddity.KEY_IGNORED, "/factor", value=1.0), Severity.INFO),
        (noticed(Oddity.KEY_IGNORED, "/rope_scaling/finetuned"), Severity.INFO),
        (noticed(Oddity.KEY_IGNORED, "/other", changes_table=True), Severity.WARNING),
        (noticed(Oddity.KEY_MISSPELT, "/rope_thta", meant="rope_theta"), Severity.WARNING),
        (noticed(Oddity.KEY_MISSPELT, "/rope_thta", meant="rope_theta", value=7e6), None),
        (noticed(Oddity.KEY_MISSPELT, "/rope_thta", meant="rope_theta", value=1e4), Severity.INFO),
        (noticed(Oddity.KEY_MISSPELT, "/facotr", meant="factor", value=2.0), Severity.WARNING),
        (noticed(Oddity.OUT_OF_RANGE, key="rope.scaling.yarn_ext_factor", value=64.0), None),
        (noticed(Oddity.TYPE_UNKNOWN), Severity.WARNING),
        (noticed(Oddity.BETA_ORDER, beta_fast=1.0, beta_slow=32.0), None),
        (noticed(Oddity.BETA_ORDER, low_freq_factor=1.0, high_freq_factor=1.0), Severity.WARNING),
        (noticed(Oddity.BETA_ORDER, low_freq_factor=4.0, high_freq_factor=1.0), None),
        (noticed(Oddity.BETA_ORDER, low=1.0, high=1.0, rope_type="llama3"), Severity.WARNING),
        (noticed(Oddity.BETA_ORDER, low=32.0, high=1.0, rope_type="yarn"), None),
    ],
    ids=lambda v: v.kind.value if isinstance(v, Observation) else str(v),
)
def test_severity_follows_harm(observation: Observation, severity: Severity | None) -> None:
    found = judged(observation)
    assert found.status is Status.FAIL
    assert found.severity is severity
    assert found.location == observation.location


def test_bounds_are_taken_from_the_schedule_where_evidence_is_silent() -> None:
    schedule = llama3()
    found = only(check, schedule, observations=[noticed(Oddity.BETA_ORDER)])
    assert found.severity is None
    equal = {**schedule.parameters, "high_freq_factor": 1.0}
    found = only(check, llama3(parameters=equal), observations=[noticed(Oddity.BETA_ORDER)])
    assert found.severity is Severity.WARNING


def test_what_other_rules_judge_is_left_to_them() -> None:
    for kind in (Oddity.BASE_DEFAULTED, Oddity.ORIGINAL_DEFAULTED, Oddity.LENGTH_MISMATCH):
        assert judged(noticed(kind), reading=config({})).status is Status.PASS


@pytest.mark.parametrize(
    ("model_type", "flags", "status"),
    [
        ("smollm3", [0, 0, 0, 1] * 9, Status.FAIL),
        ("smollm3", [1, 1, 1, 0] * 9, Status.PASS),
        ("llama4_text", [], Status.PASS),
        ("llama", [0, 0, 0, 1], Status.PASS),
    ],
)
def test_inverted_list(model_type: str, flags: list[int], status: Status) -> None:
    data = {"model_type": model_type, "no_rope_layers": flags}
    found = judged(reading=config(data))
    assert found.status is status
    if status is Status.FAIL:
        assert found.severity is Severity.WARNING
        assert found.evidence == {"without_rotation": 27, "layers": 36}
        nested = judged(reading=config({"text_config": data}))
        assert nested.location == Location(
            file="config.json", pointer="/text_config/no_rope_layers"
        )


@pytest.mark.parametrize(
    ("key", "value", "severity"),
    [
        ("rotary_dim", 128, Severity.INFO),
        ("rotary_dim", 64, Severity.WARNING),
        ("partial_rotary_factor", 1.0, Severity.INFO),
        ("partial_rotary_factor", 0.25, Severity.WARNING),
        ("rotary_emb_base", 10000, Severity.INFO),
        ("rotary_emb_base", 20000, Severity.WARNING),
        ("rope_theta", None, Severity.INFO),
    ],
)
def test_dead_key_that_agrees_with_what_is_built(key: str, value: Any, severity: Severity) -> None:
    assert judged(noticed(Oddity.KEY_IGNORED, f"/{key}", value=value)).severity is severity
    if value is not None:
        reading = config({key: value})
        assert judged(noticed(Oddity.KEY_IGNORED, f"/{key}"), reading=reading).severity is severity


def test_misspelt_switch_that_is_off_is_information() -> None:
    observation = noticed(Oddity.KEY_MISSPELT, "/rope_interleaved", meant="rope_interleave")
    off = judged(observation, reading=config({"rope_interleaved": False}))
    on = judged(observation, reading=config({"rope_interleaved": True}))
    assert (off.severity, on.severity) == (Severity.INFO, Severity.WARNING)


def test_unread_list_without_an_exception_is_information() -> None:
    observation = noticed(Oddity.PER_LAYER_IGNORED, "/no_rope_layers")
    for flags, severity in (([], Severity.INFO), ([1, 1], Severity.INFO), ([1, 0], None)):
        reading = config({"model_type": "llama", "no_rope_layers": flags})
        assert judged(observation, reading=reading).severity is severity


def test_skips_without_any_keys() -> None:
    assert judged(reading=Reading(target="t", format="raw")).status is Status.SKIP


def test_equal_bounds_are_not_to_be_swapped() -> None:
    equal = judged(noticed(Oddity.BETA_ORDER, low=1.0, high=1.0, rope_type="llama3"))
    assert "swap" not in (equal.fix or "").lower()
    reversed_ = judged(noticed(Oddity.BETA_ORDER, low=32.0, high=1.0, rope_type="yarn"))
    assert reversed_.fix == "Swap the two bounds."
