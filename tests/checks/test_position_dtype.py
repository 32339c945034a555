"""Formats in which positions are counted, against exact rounding."""

from __future__ import annotations

import pytest

from ropeaudit.checks import position_dtype as check
from ropeaudit.document import Document
from ropeaudit.facts import Fact, Location, Reading
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import replace
from ropeaudit.schedule.core import Context, Schedule
from ropeaudit.schedule.float32 import round_to
from tests.schedules import only, outcomes, plain, raw


def said(value: object, length: int, key: str = "position_dtype", **kw: object) -> Outcome:
    reading = Reading(
        target="m", format="hf-config", document=Document("config.json", {key: value})
    )
    return only(check, plain(context=Context(length, length), **kw), reading=reading)


@pytest.mark.parametrize(("dtype", "exact"), [("bfloat16", 256), ("float16", 2048)])
def test_limit_is_where_rounding_begins(dtype: str, exact: int) -> None:
    assert all(round_to(float(n), dtype) == n for n in range(exact + 1))
    assert round_to(exact + 1.0, dtype) != exact + 1
    assert said(dtype, exact + 1).status is Status.PASS
    found = said(dtype, exact + 2)
    assert found.status is Status.FAIL
    assert found.severity is None
    assert found.evidence["exact_up_to"] == exact


@pytest.mark.parametrize(
    ("dtype", "length", "step"),
    [("bf16", 15963, 64), ("torch.float16", 32768, 16), ("bfloat16", 66048, 512)],
)
def test_step_at_the_end(dtype: str, length: int, step: int) -> None:
    found = said(dtype, length)
    assert found.evidence["step"] == step
    assert found.evidence["max_phase_error"] == step / 2
    name = found.evidence["dtype"]
    start = 2 ** ((length - 1).bit_length() - 1)
    assert round_to(start + float(step), name) == start + step
    assert round_to(start + step / 4, name) == start


@pytest.mark.parametrize("value", ["float32", "fp64", "int64", "torch.int32"])
def test_wide_formats_pass(value: str) -> None:
    assert said(value, 1_000_000).status is Status.PASS


def test_float32_has_a_limit_too() -> None:
    assert said("float32", 2**24 + 2).status is Status.FAIL


def test_a_window_does_not_help() -> None:
    reading = Reading(
        target="m", format="x", document=Document("config.json", {"rope_dtype": "bf16"})
    )
    sliding = plain(context=Context(32768, 32768, window=128))
    found = only(check, sliding, reading=reading)
    assert found.status is Status.FAIL
    assert found.location == Location(file="config.json", pointer="/rope_dtype")
    assert found.message.startswith("Angles")


def test_live_fact_is_used() -> None:
    place = Location(file="<module>", tensor="inv_freq")
    schedule = plain(trained=4096, provenance=(Fact("position_dtype", "half", location=place),))
    found = only(check, schedule)
    assert found.status is Status.FAIL
    assert found.location == place


def test_unheard_of_format_is_unknown() -> None:
    assert said("bfloat17", 4096).status is Status.UNKNOWN


def test_skips() -> None:
    def statuses(*schedules: Schedule) -> list[Status]:
        return [o.status for o in outcomes(check, *schedules)]

    assert statuses(plain(trained=4096), plain(trained=4096)) == [Status.SKIP]
    assert statuses(replace(plain(), component="vision")) == [Status.SKIP]
    fact = (Fact("position_dtype", "bf16"),)
    assert statuses(raw([1.0, 0.5], provenance=fact)) == [Status.SKIP]
