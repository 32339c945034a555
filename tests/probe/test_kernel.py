"""The kernel probe against numbers computed elsewhere, published ones, and what must hold."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import UsageError
from ropeaudit.probe import _published, kernel
from ropeaudit.probe._bases import DEFAULT, PUBLISHED, basis
from ropeaudit.probe._digits import Agreement, compare
from ropeaudit.probe._solve import condition, normal, reference
from ropeaudit.probe.kernel import Result, Settings, run
from tests.encodings.vectors import VECTORS

PAPER, SMALL = VECTORS["kernel_fit_paper_config"], VECTORS["kernel_fit_small"]
SETTINGS = ("theta", "head_dim", "target_index", "gamma", "ridge")
PHASE_LINEAR_MIXED = PAPER["paper_table3_T8192_phase_linear_mixed"]
QR = PAPER["float64_augmented_qr (reference)"]


@pytest.fixture(scope="module")
def paper() -> Result:
    return run(bases=tuple(PAPER["float64"]))


@pytest.fixture(scope="module")
def small() -> Result:
    return run(
        Settings(
            length=SMALL["L"],
            lengths=(256,),
            frequencies=SMALL["num_freqs"],
            target_index=0,
            gamma=SMALL["gamma"],
            ridge=SMALL["ridge"],
        ),
        targets=["mixed"],
        bases=tuple(SMALL["float64"]),
    )


def test_the_default_is_the_published_setting(paper: Result) -> None:
    defaults = Settings()
    assert (defaults.length, defaults.frequencies) == (PAPER["L"], PAPER["num_freqs"])
    for name in SETTINGS:
        assert getattr(defaults, name) == PAPER[name]
    assert defaults.omega == pytest.approx(PAPER["omega"], rel=1e-15)
    assert paper.is_published
    assert set(PUBLISHED) <= set(DEFAULT) <= set(PAPER["float64"])


@pytest.mark.parametrize("name", PAPER["float64"])
def test_every_error_of_the_paper_config(paper: Result, name: str) -> None:
    for target, errors in PAPER["float64"][name].items():
        for key, want in errors.items():
            cell = paper.cell(name, target, 1024 if key == "train" else int(key))
            # Both ways; where the condition is 1e7 eight digits of sixteen are left, and an error
            # that is nothing but the rounding and the ridge (about 1e-11) keeps fewer.
            assert cell.normal == pytest.approx(want, rel=1e-6 if want > 1e-8 else 1e-3)
            assert cell.reference == pytest.approx(want, rel=1e-6 if want > 1e-8 else 1e-3)


def test_the_reference_and_its_conditions(paper: Result) -> None:
    fits = {f.basis.name: f for f in paper.fits}
    for name, want in QR.items():
        cell = paper.cell(name, "mixed", 8192)
        assert cell.reference == pytest.approx(want["mixed_8192"], rel=1e-8)
        assert fits[name].condition == pytest.approx(want["cond_normal_matrix"], rel=1e-6)


def test_without_a_ridge() -> None:
    names = [n for n in QR if n != "jordan_raw_gamma0"]
    found = run(Settings(ridge=0.0, lengths=(8192,)), targets=["mixed"], bases=names)
    assert not found.is_published
    for name in names:
        want = QR[name]["mixed_8192_without_ridge"]
        assert found.cell(name, "mixed", 8192).reference == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("name", SMALL["float64"])
def test_every_error_of_the_small_config(small: Result, name: str) -> None:
    for key, want in SMALL["float64"][name].items():
        cell = small.cell(name, "mixed", 64 if key == "train" else int(key))
        for value in (cell.normal, cell.reference):
            if want < 1e-25:  # gamma 0 fits exactly
                assert value < 1e-25
            else:
                assert value == pytest.approx(want, rel=1e-8)


def test_the_published_figures_are_the_ones_of_the_table() -> None:
    columns = ["phase", "linear", "mixed"]
    assert {n: list(row.values()) for n, row in _published.TABLE.items()} == PHASE_LINEAR_MIXED
    assert all(list(row) == columns for row in _published.TABLE.values())


def test_which_published_digits_are_noise(paper: Result) -> None:
    told = {(c.basis, c.target): c.comparison for c in paper.cells if c.comparison is not None}
    assert len(told) == 27
    well = {"rope", "damped", "rope_alibi", "alibi"}
    for (name, target), found in told.items():
        assert found.is_decided
        if name in well:
            assert found.status is Agreement.AGREES, (name, target)
        assert found.status is not Agreement.UNEXPLAINED
    noise = {
        k: (f.agreeing, f.digits) for k, f in told.items() if f.status is Agreement.FLOAT32_NOISE
    }
    assert {k: v for k, v in noise.items() if k[1] == "mixed"} == {
        ("direct_sum", "mixed"): (2, 4),
        ("jordan_stabilized", "mixed"): (2, 4),
        ("jordan_raw", "mixed"): (2, 4),
        ("jordan_scaled_c0.1", "mixed"): (2, 4),
        ("jordan_scaled_c1", "mixed"): (4, 5),
    }
    assert noise["jordan_scaled_c0.1", "phase"] == (0, 2)
    assert Counter(target for _, target in noise) == {"mixed": 5, "linear": 4, "phase": 2}


def test_float32_is_sure_only_where_the_condition_is_small(paper: Result) -> None:
    for cell in paper.cells:
        if (cell.target, cell.length) != ("mixed", 8192) or cell.basis.endswith("gamma0"):
            continue
        off = max(abs(v / cell.reference - 1) for v in cell.float32)
        if cell.basis in ("rope", "damped", "rope_alibi", "alibi"):
            assert off < 1e-5
        else:
            assert off > 1e-5


@pytest.mark.parametrize("name", PAPER["float32"])
def test_another_float32_run_is_within_reach(paper: Result, name: str) -> None:
    """A run whose functions are float32, too: off by no more than the bound and the rounding of the
    angles, and where the condition is small hardly at all."""
    for target, errors in PAPER["float32"][name].items():
        for key, said in errors.items():
            cell = paper.cell(name, target, 1024 if key == "train" else int(key))
            angles = 2.0**-24 * cell.length * paper.settings.omega
            moved = abs(math.sqrt(said) - math.sqrt(cell.reference))
            assert moved <= cell.bound + angles
            if name in ("rope", "damped", "rope_alibi", "alibi"):
                assert said == pytest.approx(cell.reference, rel=1e-4, abs=1e-8)


def test_the_order_that_float64_turns_round(paper: Result) -> None:
    said = [n for n in paper.notes if "opposite" in n]
    assert any(
        n.startswith("mixed: in float64 jordan_scaled_c0.1 has a smaller error than jordan_raw")
        for n in said
    )
    assert not any("linear" in n for n in said)


def test_more_lags_are_summed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Settings(length=50, lengths=(60, 333), frequencies=3, target_index=1)
    whole = run(wanted, bases=["jordan_raw", "direct_sum"])
    monkeypatch.setattr(kernel, "_ROWS", 17)
    for a, b in zip(
        whole.cells, run(wanted, bases=["jordan_raw", "direct_sum"]).cells, strict=True
    ):
        assert (a.basis, a.target, a.length) == (b.basis, b.target, b.length)
        assert b.reference == pytest.approx(a.reference, rel=1e-10)
        assert b.bound == pytest.approx(a.bound, rel=1e-6)


def test_curves_are_the_fits(small: Result) -> None:
    lags = np.arange(256.0)
    truth, fits = kernel.curves(small, "mixed", lags)
    for name, values in fits.items():
        error = float(np.mean((values - truth) ** 2))
        assert error == pytest.approx(small.cell(name, "mixed", 256).reference, rel=1e-9, abs=1e-28)


def test_a_wave_that_never_moves_is_not_fitted_twice() -> None:
    """theta 1 makes all frequencies one, so columns repeat; the least-norm fit is still one."""
    found = run(
        Settings(length=40, lengths=(), theta=1.0, ridge=0.0), targets=["phase"], bases=["rope"]
    )
    assert found.cells[0].reference < 1e-25
    assert "singular" in found.notes[0]


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(5, 20),
    columns=st.integers(1, 4),
    ridge=st.floats(1e-3, 1.0),
    seed=st.integers(0, 2**32 - 1),
)
def test_both_ways_minimise(rows: int, columns: int, ridge: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(rows, columns)), rng.normal(size=(rows, 1))
    best = reference(x, y, ridge)
    assert np.allclose(normal(x, y, ridge), best, rtol=1e-6, atol=1e-9)
    # The gradient vanishes at the minimum of a convex function, and nowhere else.
    slope = x.T @ (x @ best - y) + ridge * best
    assert np.abs(slope).max() < 1e-9 * (1 + np.abs(y).max()) * (1 + np.abs(x).max()) ** 2 * rows
    gram = x.T @ x + ridge * np.eye(columns)
    assert condition(x, ridge) == pytest.approx(np.linalg.cond(gram), rel=1e-6)


@pytest.mark.parametrize(
    ("published", "normal_", "reference_", "bound", "status", "digits"),
    [
        (8.791, 8.7905, 8.79052, 1e-6, Agreement.AGREES, (4, 4)),
        (1.975, 2.0366, 2.0366, 0.1, Agreement.FLOAT32_NOISE, (4, 2)),
        (1.975, 2.0366, 2.0366, 1e-3, Agreement.UNEXPLAINED, (4, 2)),
        (1.975, 2.0366, 2.0376, 1.0, Agreement.UNDECIDED, (4, 2)),
        (1.975, math.nan, 2.0376, 1.0, Agreement.UNDECIDED, (4, 2)),
        (0.0, 0.0, 1e-12, 0.0, Agreement.AGREES, (0, 0)),
        (0.0, 0.002, 0.002, 0.0, Agreement.UNEXPLAINED, (0, 0)),
    ],
)
def test_judgements(
    published: float,
    normal_: float,
    reference_: float,
    bound: float,
    status: Agreement,
    digits: tuple[int, int],
) -> None:
    found = compare(published, decimals=3, normal=normal_, reference=reference_, bound=bound)
    assert (found.status, (found.digits, found.agreeing)) == (status, digits)


def test_bases_by_name() -> None:
    assert basis("jordan_scaled_c0.5", gamma=9.0, length=100).gamma == 0.005
    assert basis("jordan_raw_gamma0", gamma=9.0, length=100).gamma == 0
    for wrong in (
        "rpoe",
        "rope_gamma0",
        "jordan_scaled_c",
        "jordan_scaled_c-1",
        "jordan_scaled_c1e9999",
    ):
        with pytest.raises(UsageError, match="basis"):
            basis(wrong, gamma=1.0, length=10)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"length": 1}, "the fit takes 2 to 65536 lags, not 1"),
        ({"lengths": (0,)}, "errors are taken over 1 to 4194304 lags, not 0"),
        ({"lengths": (10**9,)}, "errors are taken over 1 to 4194304 lags, not 1000000000"),
        ({"frequencies": 0}, "a basis has 1 to 256 frequencies, not 0"),
        ({"head_dim": 0}, "head_dim is 2 to 65536, not 0"),
        ({"target_index": 16}, "target index 16 names no frequency; there are 16"),
        ({"theta": 0.5}, "theta is 0.5, expected a number from 1 on"),
        ({"gamma": -1.0}, "gamma is -1.0, expected a number from 0 on"),
        ({"ridge": math.nan}, "ridge is nan, expected a number from 0 on"),
    ],
)
def test_settings_out_of_range(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        run(Settings(**changes))
    assert said in str(caught.value)
