"""The base bound against published first negatives and a direct sum."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks import base_bound as check
from ropeaudit.findings import Severity, Status
from tests.schedules import only, plain, proportional, raw, with_values


@pytest.mark.parametrize(
    ("base", "dim", "length", "first"),
    [
        (1e4, 128, 4096, 1707),
        (1e4, 256, 8192, 2653),
        (1e6, 128, 32768, 27115),
        (1e5, 64, 8192, 3616),
    ],
)
def test_first_negative_of_known_models(base: float, dim: int, length: int, first: int) -> None:
    found = only(check, plain(base, dim, trained=length))
    assert found.status is Status.FAIL
    assert found.severity is Severity.INFO
    assert found.evidence["first_negative"] == first
    assert found.evidence["minimum"] < 0


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.floats(10, 1e6), st.integers(1, 20), st.integers(1, 700))
def test_scan_equals_the_direct_sum(base: float, half: int, length: int) -> None:
    thetas = plain(base, 2 * half).inv_freq
    sums = [math.fsum(math.cos(m * t) for t in thetas) for m in range(length)]
    found = check.scan(thetas, length)
    assert found.minimum == pytest.approx(min(sums), abs=1e-9)
    assert sums[found.minimum_at] == pytest.approx(min(sums), abs=1e-9)
    negative = [m for m, s in enumerate(sums) if s < -2e-7]
    if negative:
        assert found.first is not None
        assert found.first <= negative[0]
        assert sums[found.first] < 0
    else:
        assert found.first is None or sums[found.first] < 0


def test_blocks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    thetas = plain(1e6).inv_freq
    whole = check.scan(thetas, 32768)
    monkeypatch.setattr(check, "BLOCK", 1000)
    cut = check.scan(thetas, 32768)
    assert (cut.first, cut.minimum_at) == (whole.first, whole.minimum_at)
    assert cut.minimum == pytest.approx(whole.minimum, abs=1e-9)


def test_passes_below_the_first_negative() -> None:
    assert only(check, plain(trained=1707)).status is Status.PASS
    assert only(check, plain(trained=1708)).status is Status.FAIL


def test_still_channels_take_no_part() -> None:
    turning = [v for v in proportional().inv_freq if v]
    found = only(check, proportional(declared=4096))
    assert found.evidence["minimum"] == pytest.approx(check.scan(turning, 4096).minimum)


def test_unknown_beyond_the_limit_and_for_nan() -> None:
    schedule = plain(1e6, trained=32768)
    assert only(check, schedule, params=check.Params(max_length=1000)).status is Status.UNKNOWN
    broken = with_values(schedule, lambda k, v: math.nan)
    assert only(check, broken).status is Status.UNKNOWN


def test_skips_without_length_or_text() -> None:
    assert only(check, raw([1.0, 0.5])).status is Status.SKIP
    assert only(check, plain(component="vision", trained=64)).status is Status.SKIP
    assert only(check, plain(1e4, 8, inv_freq=(0.0,) * 4, trained=64)).status is Status.SKIP


def test_the_module_itself_needs_no_numpy() -> None:
    import subprocess

    code = "import sys, ropeaudit.checks.base_bound; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
