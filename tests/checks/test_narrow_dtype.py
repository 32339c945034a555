"""Narrow tables: errors as reported, tables that only look narrow, and everything wide."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks import narrow_dtype as check
from ropeaudit.findings import Severity, Status
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from tests.schedules import cast, llama3, only, outcomes, plain, raw, stored, yarn


def held(built: Schedule, dtype: str, *, back: bool = False) -> Schedule:
    table = cast(stored(built), dtype)
    return replace(table, dtype="float32") if back else table


def test_bfloat16_reports_the_lengths_of_the_known_table() -> None:
    found = only(check, held(plain(), "bfloat16"))
    assert found.severity is None
    assert found.evidence["length_at_0.1"] == 82
    assert found.evidence["length_at_pi"] == 2569
    assert found.evidence["phase_error"]["32768"] == pytest.approx(40.08, abs=0.005)
    short = only(check, held(plain(), "bfloat16"), lengths=[512])
    assert short.evidence["phase_error"]["512"] == pytest.approx(0.625, abs=0.005)
    assert short.severity is Severity.WARNING
    assert only(check, held(plain(), "bfloat16"), lengths=[32]).severity is Severity.INFO


def test_float16_counts_its_subnormals() -> None:
    found = only(check, held(plain(1e6), "float16"))
    assert found.severity is None
    assert found.evidence["subnormal"] == 19
    assert found.evidence["phase_error"]["32768"] == pytest.approx(5.837, abs=0.005)


@pytest.mark.parametrize(
    ("built", "length", "error"),
    [
        (plain(trained=32768), "32768", 40.08),
        (llama3(5e5, 64, 32.0, declared=131072), "8192", 7.483),
        (yarn(1e4, 64, 40.0, 4096, declared=163840), "4096", 1.79),
    ],
)
@pytest.mark.parametrize("back", [False, True])
def test_live_buffers_against_their_config(
    built: Schedule, length: str, error: float, back: bool
) -> None:
    table = held(built, "bfloat16", back=back)
    kept, found = outcomes(check, built, table, format="module")
    assert kept.status is Status.PASS
    assert found.severity is None
    assert found.evidence["phase_error"][length] == pytest.approx(error, rel=2e-3)
    assert found.evidence["cast_back"] is back


def test_in_a_file_with_its_config_it_is_a_warning() -> None:
    built = plain(1e6, trained=32768)
    found = outcomes(check, built, held(built, "bfloat16"), format="hf-config")[1]
    assert found.severity is Severity.WARNING
    assert "rebuild it from the config" in found.message


def test_beside_a_config_that_means_another_table_it_is_an_error() -> None:
    built = plain(1e11, trained=1048576)
    table = stored(built, cast(plain(1e6), "bfloat16").inv_freq)
    found = outcomes(check, built, table)[1]
    assert found.severity is None
    assert found.evidence["cast_back"] is True
    assert "base 1,000,000" in found.message


def test_channels_that_became_equal_are_listed() -> None:
    found = only(check, held(plain(1e4), "float8_e5m2"))
    assert found.severity is None
    assert found.evidence["max_cluster"] > 1
    assert found.evidence["clusters"]


def test_unknown_law_is_a_warning_without_phase() -> None:
    values = list(cast(plain(1e6), "bfloat16").inv_freq)
    values[:5] = [0.0, 1.0, 22675456.0, 0.8046875, 0.109375]
    values[63] = math.nan
    found = only(check, raw(values, dtype="bfloat16"))
    assert found.status is Status.FAIL
    assert found.severity is Severity.WARNING
    assert "phase_error" not in found.evidence


def test_powers_of_two_are_no_narrow_table() -> None:
    assert only(check, raw([2.0**-k for k in range(16)])).status is Status.PASS
    assert only(check, raw([2.0**-k for k in range(16)], dtype="bfloat16")).status is Status.PASS
    assert only(check, raw([1.0, 0.75, 0.5])).status is Status.PASS


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.floats(50, 1e8), st.sampled_from([32, 64, 128, 256]))
def test_float32_tables_pass(base: float, dim: int) -> None:
    assert only(check, raw(plain(base, dim).inv_freq)).status is Status.PASS


def test_rows_of_cos_and_sin_are_skipped() -> None:
    table = replace(held(plain(), "bfloat16"), parameters={"role": "cos_sin_cache"})
    assert only(check, table).status is Status.SKIP


def test_learned_tables() -> None:
    learned = replace(stored(plain()), rope_type="learned")
    assert only(check, learned).status is Status.PASS
    assert only(check, cast(learned, "bfloat16")).severity is Severity.INFO


def test_skips_without_any_table() -> None:
    assert [o.status for o in outcomes(check)] == [Status.SKIP]
