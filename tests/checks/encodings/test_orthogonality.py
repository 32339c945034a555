"""RA701: orthogonal maps, skew generators, and what doubling in float32 leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.checks.encodings import orthogonality as check
from ropeaudit.checks.encodings._maps import power
from ropeaudit.findings import Severity, Status
from ropeaudit.records import replace
from tests.checks.encodings import by_hand as make


@settings(max_examples=30, derandomize=True, deadline=None)
@given(st.lists(st.floats(0, 50), min_size=1, max_size=6), st.integers(0, 99))
def test_the_exponential_of_any_skew_matrix_passes(angles: list[float], seed: int) -> None:
    assert make.only(check, make.ape(make.generator(angles, seed))).status is Status.PASS


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 64, 513])
def test_powers_by_squaring_are_powers(exponent: int) -> None:
    w = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 4, 4)))[0]
    assert power(w, exponent) == pytest.approx(np.linalg.matrix_power(w, exponent), abs=1e-12)


def test_drift_of_doubling_is_a_warning_that_grows_with_the_length() -> None:
    b = make.generator([1.0, 0.1, 0.01, 0.001], 3)
    assert make.only(check, make.ape(b, length=17)).status is Status.PASS
    found = [make.only(check, make.ape(b, length=n + 1)) for n in (1024, 8192)]
    assert [f.severity for f in found] == [Severity.WARNING] * 2
    short, long = (f.evidence["drift"] for f in found)
    assert long == pytest.approx(8 * short, rel=0.5)  # each squaring doubles the defect
    assert found[0].evidence["length"] == 1024
    loose = check.Params(drift=1.0)
    assert make.only(check, make.ape(b, length=8193), params=loose).status is Status.PASS


def test_only_public_code_that_doubles_is_asked_about_doubling() -> None:
    thetas = 10000.0 ** (-np.arange(32) / 32)
    plain = replace(
        make.ape(make.generator(thetas), length=4096), kind="ape-rotary",
        parameters={"thetas": thetas},
    )  # fmt: skip
    assert make.only(check, plain).status is Status.PASS


def test_a_generator_that_is_not_skew(monkeypatch: pytest.MonkeyPatch) -> None:
    b = np.array([[0.1, -1.0], [1.0, 0.1]])
    encoding = make.crooked(monkeypatch, lambda p: (np.eye(2)[None],) * 2, b[None, None, None])
    found = make.only(check, encoding)
    expected = np.linalg.norm(b + b.T) / np.linalg.norm(b)
    assert (found.status, found.severity) == (Status.FAIL, None)
    assert found.evidence["skewness"] == pytest.approx(expected, rel=1e-3)


def test_maps_that_are_not_orthogonal_and_reflections(monkeypatch: pytest.MonkeyPatch) -> None:
    stretched = make.crooked(monkeypatch, lambda p: (np.diag([1.0, 1.001])[None],) * 2)
    found = make.only(check, stretched)
    assert found.evidence["defect"] == pytest.approx((1.001**2 - 1) / np.sqrt(2), rel=1e-3)
    mirror = make.crooked(monkeypatch, lambda p: (np.diag([1.0, -1.0])[None],) * 2)
    found = make.only(check, mirror)
    assert (found.severity, found.evidence["determinant"]) == (Severity.WARNING, -1)


def test_trees_grids_and_what_is_damped() -> None:
    tree = make.ape(make.generator([0.7, 0.2], 1), make.generator([0.5, 0.1], 2), branches=2)
    assert make.only(check, tree).status is Status.PASS
    assert make.only(check, make.mixed([(1.0, 0.5)])).status is Status.PASS
    assert make.only(check, make.jordan()).status is Status.SKIP
    assert make.only(check, make.alibi()).status is Status.SKIP
