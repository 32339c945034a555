"""The factor on cos and sin against its method, with values as published."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ropeaudit.checks import attention_scaling as check
from ropeaudit.facts import Fact, Location, Origin
from ropeaudit.findings import Severity, Status
from ropeaudit.records import replace
from ropeaudit.schedule.core import Context, Schedule
from tests.schedules import llama3, only, outcomes, plain, scaled, stored, yarn


def explicit(schedule: Schedule, value: float) -> Schedule:
    place = Location(file="config.json", pointer="/rope_scaling/attention_factor")
    fact = Fact("attention_factor", value, Origin.FILE, place)
    facts = (*schedule.provenance, fact)
    return replace(schedule, attention_scaling=value, provenance=facts)


def phi3(**scaling: object) -> Schedule:
    ones = {"short_factor": [1.0] * 48, "long_factor": [2.0] * 48}
    return scaled(
        "longrope",
        1e4,
        96,
        scaling={**ones, "original_max_position_embeddings": 4096, **scaling},
        declared=131072,
        variant="short",
    )


@hypothesis_settings(max_examples=50, deadline=None, derandomize=True)
@given(st.floats(0.5, 1000), st.integers(2, 100_000))
def test_what_the_laws_build_is_what_is_prescribed(factor: float, original: int) -> None:
    assert only(check, yarn(factor=factor, original=original)).status is Status.PASS
    built = phi3(factor=factor, original_max_position_embeddings=original)
    assert only(check, replace(built, variant="long")).status is Status.PASS


def test_types_without_a_factor() -> None:
    for schedule in (plain(trained=4096), llama3(), scaled("linear", scaling={"factor": 4.0})):
        assert only(check, schedule).status is Status.PASS
        wrong = only(check, replace(schedule, attention_scaling=1.2))
        assert wrong.status is Status.FAIL
        assert wrong.severity is None


def test_explicit_value_is_information_at_its_place() -> None:
    found = only(check, explicit(yarn(5e5, factor=64.0, original=4096), 1.0))
    assert found.severity is Severity.INFO
    assert found.evidence == {"expected": pytest.approx(1.4158883083359672), "found": 1.0}
    assert found.location is not None
    assert found.location.pointer == "/rope_scaling/attention_factor"


def test_explicit_value_that_is_the_prescribed_one_passes() -> None:
    olmo = yarn(5e5, factor=8.0, original=8192)
    assert only(check, explicit(olmo, 1.2079441541679836)).status is Status.PASS


@pytest.mark.parametrize("schedule", [phi3(), yarn(factor=32.0, original=4096)])
def test_the_scaling_factor_itself_is_an_error(schedule: Schedule) -> None:
    found = only(check, explicit(schedule, 32.0))
    assert found.severity is None
    assert "the scaling factor itself" in found.message


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e308, 1e-50])
def test_values_that_are_no_factor(value: float) -> None:
    assert only(check, explicit(yarn(), value)).severity is None


@pytest.mark.parametrize("value", [3.0, 1e30, 0.1, 1e-30])
def test_implausible_explicit_value_is_a_warning(value: float) -> None:
    assert only(check, explicit(yarn(), value)).severity is Severity.WARNING


def test_missing_factor_is_an_error() -> None:
    found = only(check, replace(yarn(), attention_scaling=1.0))
    assert found.severity is None
    assert found.evidence["expected"] == pytest.approx(1.138629436111989)


def test_ratio_of_mscales_is_information() -> None:
    facts = tuple(Fact(k, 0.707) for k in ("mscale", "mscale_all_dim"))
    schedule = replace(yarn(1e4, 64, 40.0, 4096), attention_scaling=1.0, provenance=facts)
    assert only(check, schedule).severity is Severity.INFO


def test_factor_carried_by_the_logits_passes() -> None:
    magnitude = 0.1 * math.log(40) + 1
    schedule = replace(yarn(1e4, 64, 40.0, 4096), attention_scaling=1.0, softmax_scale=magnitude**2)
    assert only(check, schedule).status is Status.PASS


def test_switched_off_is_information() -> None:
    facts = (Fact("apply_scale", False),)
    schedule = replace(yarn(factor=36.0, original=8192), attention_scaling=1.0, provenance=facts)
    assert only(check, schedule).severity is Severity.INFO


def test_longrope_tells_that_short_texts_are_scaled_too() -> None:
    found = only(check, phi3())
    assert found.severity is Severity.INFO
    assert "1.190238" in found.message


def test_phi3_without_scaling_misses_its_factor() -> None:
    schedule = plain(1e4, 96, context=Context(4096, 131072))
    found = only(check, schedule, model_type="phi3")
    assert found.severity is None
    assert found.evidence["expected"] == pytest.approx(1.1902380714238083)
    assert only(check, schedule, model_type="llama").status is Status.PASS


def test_unknown_when_the_factor_is_not_known() -> None:
    assert only(check, replace(yarn(), parameters={})).status is Status.UNKNOWN


def test_live_factor_against_the_config() -> None:
    fact = Fact("attention_scaling", 1.0, location=Location(file="<module>", tensor="inv_freq"))
    built = yarn()
    for value, status in ((1.0, Status.FAIL), (built.attention_scaling, Status.PASS)):
        held = replace(stored(built), attention_scaling=value, provenance=(fact,))
        assert [o.status for o in outcomes(check, built, held)] == [Status.PASS, status]
    held = replace(stored(built), provenance=(fact,))
    assert only(check, held).status is Status.SKIP


def test_skips_without_a_config() -> None:
    assert [o.status for o in outcomes(check, stored(plain()))] == [Status.SKIP]
