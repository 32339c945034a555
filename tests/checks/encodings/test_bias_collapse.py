"""RA716: biases that a narrow format makes equal."""

from __future__ import annotations

import numpy as np
import pytest

from ropeaudit.checks.encodings import bias_collapse as check
from ropeaudit.findings import Status
from ropeaudit.schedule.float32 import round_to
from tests.checks.encodings import by_hand as make
from tests.encodings.vectors import VECTORS

COUNTS = VECTORS["alibi"]


@pytest.mark.parametrize("dtype", check.FORMATS)
def test_counts_of_slope_one(dtype: str) -> None:
    expected = COUNTS["distinct_bias_values_L4096_slope1"][dtype]
    found = make.only(check, make.alibi((1.0,), 4096, dtype))
    assert (found.status is Status.PASS) == (expected == 4096)
    if found.status is Status.FAIL:
        assert found.evidence["distinct"] == COUNTS["distinct_bias_values_L4096_slope1"]
    half = COUNTS["distinct_bias_values_L4096_slope2^-0.5"].get(dtype)
    assert half is None or check.distinct(np.array([2**-0.5]), 4096, dtype) == half


@pytest.mark.parametrize("dtype", check.FORMATS)
def test_counts_against_rounding_one_by_one(dtype: str) -> None:
    for slope in (0.3, 2.0**-8, 17.0):
        values = {round_to(slope * d, dtype) for d in range(700)}
        assert check.distinct(np.array([slope]), 700, dtype) == len(values)


def test_lengths_asked_for_and_absent() -> None:
    short = make.alibi(length=129, dtype="bfloat16")
    assert make.only(check, short).status is Status.PASS
    assert make.only(check, short, lengths=(2048,)).evidence["head_count"] == 8
    assert make.only(check, make.alibi(dtype="bfloat16")).status is Status.SKIP
    assert make.only(check, make.mixed([(1.0, 0.5)])).status is Status.SKIP
