"""RA104: zeros that nobody defined."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

import ropeaudit
from ropeaudit.checks import zero_frequency as check
from ropeaudit.findings import Severity, Status
from ropeaudit.records import replace
from ropeaudit.schedule.core import Axis, Schedule
from tests.schedules import (
    cast,
    llama3,
    only,
    outcomes,
    plain,
    proportional,
    quantised,
    raw,
    scaled,
    stored,
    with_values,
)


@pytest.mark.parametrize("schedule", [plain(5e8, 512), llama3(), proportional()])
def test_laws_pass(schedule: object) -> None:
    assert only(check, schedule).status is Status.PASS  # type: ignore[arg-type]


def test_lfm3_and_gemma4_zeros_are_by_design_stored_or_not() -> None:
    for law in (proportional(512, 0.25), proportional(128, 0.5)):
        assert {o.status for o in outcomes(check, law, stored(law))} == {Status.PASS}


def test_int8_zeros_are_counted_and_placed() -> None:
    outcome = only(check, quantised(plain(1e6), 8, "sym"))
    assert outcome.status is Status.FAIL
    assert outcome.evidence["channels"] == list(range(26, 64))
    assert outcome.location is not None


def test_zeros_that_the_format_makes_are_said_to_be_so() -> None:
    held = plain(1e6, dtype="float8_e4m3")
    outcome = only(check, held)
    assert len(outcome.evidence["channels"]) == 31
    assert "31 of them only in float8_e4m3" in outcome.message
    assert len(only(check, cast(plain(1e6), "float8_e4m3")).evidence["channels"]) == 31


def test_a_factor_of_infinity_makes_a_zero() -> None:
    lists = {"short_factor": [1.0, 1e39, 1.0, 1.0], "long_factor": [1.0] * 4}
    schedule = scaled(
        "longrope", 1e4, 8, scaling=lists | {"original_max_position_embeddings": 4096}
    )
    assert only(check, schedule).evidence["channels"] == [1]


def test_minus_zero_is_zero() -> None:
    assert only(check, raw([1.0, 0.5, -0.0])).evidence["channels"] == [2]


def test_a_zero_where_the_family_has_none_is_found_beside_those_it_defines() -> None:
    law = proportional()
    outcome = only(check, with_values(law, lambda k, v: 0.0 if k == 5 else v))
    assert outcome.evidence["channels"] == [5]


def test_a_bare_padded_table_is_unknown_and_a_broken_one_is_not() -> None:
    assert only(check, raw(proportional().inv_freq)).status is Status.UNKNOWN
    values = list(proportional().inv_freq)
    values[10] *= 1.01
    assert only(check, raw(values)).status is Status.FAIL
    assert only(check, raw([0.0] * 64)).status is Status.FAIL


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.sets(st.integers(0, 63), max_size=20))
def test_exactly_the_zeroed_channels_are_named(zeroed: set[int]) -> None:
    outcome = only(check, with_values(plain(1e6), lambda k, v: 0.0 if k in zeroed else v))
    assert outcome.evidence.get("channels", []) == sorted(zeroed)
    assert (outcome.status is Status.PASS) == (not zeroed)


def learned(values: np.ndarray, axes: str = "") -> Schedule:
    """A learned tensor of several vectors as the reader of stored tables gives it."""
    flat = tuple(float(v) for v in values.ravel())
    count = len(flat) // max(1, len(axes))
    named = [Axis(a, (i * count, (i + 1) * count - 1)) for i, a in enumerate(axes)]
    return replace(
        raw(flat), rope_type="learned", axes=tuple(named) or None,
        parameters={"role": "learned", "shape": list(values.shape)},
    )  # fmt: skip


@pytest.mark.parametrize(("shape", "axes"), [((3, 2, 64), "xyz"), ((4, 64), ""), ((64, 3), "")])
def test_learned_vectors_that_are_all_zero(shape: tuple[int, ...], axes: str) -> None:
    outcome = only(check, learned(np.zeros(shape), axes))
    assert (outcome.status, outcome.severity) == (Status.FAIL, Severity.WARNING)
    assert "none turns" in outcome.message
    assert len(outcome.evidence["channels"]) == math.prod(shape)


def test_a_vector_along_an_axis_is_no_zero_frequency() -> None:
    values = np.random.default_rng(3).normal(size=(3, 2, 16))
    values[1, :, ::2] = 0.0
    assert only(check, learned(values, "xyz")).status is Status.SKIP
    values[:, 1, 4] = 0.0  # on every axis
    outcome = only(check, learned(values, "xyz"))
    assert outcome.evidence["channels"] == [20, 52, 84]
    values[:, 1, 4] = 1.0
    values[2, 1] = 0.0  # a head that never looks along z
    assert only(check, learned(values, "xyz")).evidence["channels"] == list(range(80, 96))


def test_the_reader_of_tensors_leads_here(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    save_file({"freqs": np.zeros((3, 2, 64), np.float32)}, path)
    report = ropeaudit.audit(str(path))
    assert [(f.rule, f.severity) for f in report.subjects[0].findings] == [
        ("RA104", Severity.WARNING)
    ]
    save_file({"freqs": np.ones((3, 2, 64), np.float32)}, path)
    report = ropeaudit.audit(str(path))
    assert [(f.rule, f.severity) for f in report.subjects[0].findings] == [
        ("RA101", Severity.WARNING)
    ]
    save_file({"freqs": np.random.default_rng(5).normal(size=(3, 2, 64)).astype("f4")}, path)
    assert not ropeaudit.audit(str(path)).subjects[0].findings
