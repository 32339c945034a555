"""RA714: Jordan blocks without shear."""

from __future__ import annotations

from ropeaudit.checks.encodings import degenerate_block as check
from ropeaudit.findings import Status
from ropeaudit.records import replace
from tests.checks.encodings import by_hand as make
from tests.encodings.jordan_models import read


def test_the_start_of_public_code_is_named() -> None:
    found = make.only(check, make.jordan(eta=(0.0, 0.0)))
    assert found.evidence["as_initialised"] is True
    assert "2 equal planes each; all have eta 0" in found.message


def test_one_flat_block() -> None:
    found = make.only(check, make.jordan(eta=(0.3, 1e-5)))
    assert (found.evidence["blocks"], found.evidence["of"]) == (1, 2)
    assert found.evidence["as_initialised"] is False


def test_the_reach_decides_and_a_bounded_shear_never_gets_there() -> None:
    slow = make.jordan(eta=(1e-5, 1e-5), length=201)
    assert make.only(check, slow).status is Status.PASS
    assert make.only(check, make.jordan(eta=(1e-5,) * 2, length=51)).status is Status.FAIL
    bounded = make.jordan(eta=(1e-5,) * 2, bounded=64.0, length=201)
    assert make.only(check, bounded).status is Status.FAIL  # tau stays below 64
    loose = check.Params(tolerance=1e-4)
    assert make.only(check, bounded, params=loose).status is Status.PASS


def test_others_have_no_blocks() -> None:
    assert make.only(check, make.mixed([(1.0, 0.5)])).status is Status.SKIP
    assert make.only(check, make.alibi()).status is Status.SKIP
    assert make.only(check, make.jordan(length=None)).status is Status.SKIP


def test_any_power_of_jets_makes_a_block() -> None:
    third = read("jordan_jetmix_m4_c100_g000_g000_g050")
    assert make.only(check, third).status is Status.PASS
    none = {k: v * (k != "raw_jet_coefficients") for k, v in third.parameters.items()}
    found = make.only(check, replace(third, parameters=none))
    assert found.evidence["as_initialised"] is True
