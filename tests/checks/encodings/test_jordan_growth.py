"""RA710: how far blocks grow, and where formats and the clamp end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks.encodings import jordan_growth as check
from ropeaudit.encodings import jordan
from ropeaudit.findings import Severity, Status
from ropeaudit.records import replace
from tests.checks.encodings import by_hand as make
from tests.encodings.jordan_models import read
from tests.encodings.vectors import VECTORS

GROWTH = VECTORS["jordan_growth"]


@settings(max_examples=25, derandomize=True, deadline=None)
@given(st.floats(0.01, 0.1), st.floats(0.1, 1.0))
def test_the_peak_is_that_of_the_maps(gamma: float, eta: float) -> None:
    encoding = make.jordan((0.7,), (gamma,), (eta,), length=101)
    found = make.only(check, encoding)
    lags = np.linspace(0.0, 100.0, 2001)
    norms = np.linalg.norm(jordan.pairwise(encoding, lags)[:, 0, 0], 2, axis=(-2, -1))
    if found.status is Status.FAIL:
        assert found.evidence["peak"] == pytest.approx(norms.max(), rel=2e-2)
    else:
        assert norms.max() <= 1 + 1e-9


def test_the_clamp_and_float16() -> None:
    exponent = GROWTH["clamp30"]["fp16_overflow_exponent"]
    for gamma, words, severity in (
        (30.5 / 1000, "clamp", None),
        (1.01 * exponent / 1000, "float16", None),
        (0.99 * exponent / 1000, "grow", Severity.INFO),
    ):
        found = make.only(check, make.jordan((0.7,), (gamma,), (0.3,), length=1001))
        assert words in found.message
        assert found.severity is severity
    assert found.evidence["float16_until"] == pytest.approx(exponent / gamma, rel=1e-5)
    assert found.evidence["clamped_from"] == pytest.approx(30 / gamma, rel=1e-5)


def test_a_longer_context_asked_for_counts() -> None:
    encoding = make.jordan((0.7,), (1 / 1024,), (1e-4,), length=1024)
    assert make.only(check, encoding).status is Status.PASS
    wide = make.only(check, encoding, lengths=(8193,))
    factor = GROWTH["scaled_exact_c1_L1024"]["abs_factor_T8192"]
    assert wide.status is Status.PASS or wide.evidence["key_factor"] == pytest.approx(factor)
    assert "float16" in make.only(check, encoding, lengths=(16384,)).message
    assert "30720" in make.only(check, encoding, lengths=(40000,)).message


def test_shear_without_damping_has_no_bound_unless_the_coordinate_has() -> None:
    free = make.only(check, make.jordan((0.7,), (0.0,), (0.3,), length=101))
    assert (free.severity, free.evidence["shear"]) == (None, pytest.approx(30.0))
    bounded = make.only(check, make.jordan((0.7,), (0.0,), (0.3,), bounded=16.0, length=101))
    assert bounded.severity is Severity.INFO
    assert math.isinf(bounded.evidence["clamped_from"])


def test_damping_alone_never_grows_and_no_length_is_a_skip() -> None:
    assert make.only(check, make.jordan(eta=(0.0, 0.0), length=65)).status is Status.PASS
    assert make.only(check, make.jordan(length=None)).status is Status.SKIP
    assert make.only(check, make.alibi()).status is Status.SKIP


def test_jets_grow_by_their_own_coefficients() -> None:
    encoding = read("jordan_jetmix_m4_c001_g001_g090_g001")
    found = make.only(check, encoding)
    assert found.severity is Severity.INFO
    lags = np.linspace(0.0, 1023.0, 400)
    norms = np.linalg.norm(jordan.pairwise(encoding, lags)[:, 0, 0], 2, axis=(-2, -1))
    plain = 1 + 0.01 + 0.01**2 / 2 + 0.01**3 / 6  # as if the powers were those of g_1
    assert plain < norms.max() <= found.evidence["peak"]
    assert found.evidence["peak"] == pytest.approx(norms.max(), rel=0.1)
    zero = {k: v * (0.0 if k == "raw_jet_coefficients" else 1.0) for k, v in
            encoding.parameters.items()}  # fmt: skip
    assert make.only(check, replace(encoding, parameters=zero)).status is Status.PASS
