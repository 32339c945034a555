"""RA717: branches that commute."""

from __future__ import annotations

import pytest

from ropeaudit.checks.encodings import commuting_branches as check
from ropeaudit.findings import Status
from tests.checks.encodings import by_hand as make


def test_one_basis_commutes_and_two_do_not() -> None:
    same = make.generator([0.7, 0.2], 1), make.generator([0.3, 0.9], 1)
    found = make.only(check, make.ape(*same, branches=2))
    assert found.evidence["branches"] == [["branch 0", "branch 1"]]
    apart = make.generator([0.7, 0.2], 1), make.generator([0.3, 0.9], 2)
    assert make.only(check, make.ape(*apart, branches=2)).status is Status.PASS


def test_a_branch_that_does_nothing_commutes_with_all() -> None:
    three = (
        make.generator([0.7, 0.2], 1),
        make.generator([0.0, 0.0], 2),
        make.generator([0.4, 0.5], 3),
    )
    found = make.only(check, make.ape(*three, branches=3))
    assert found.evidence["branches"] == [["branch 0", "branch 1"], ["branch 1", "branch 2"]]
    assert found.evidence["commutator"] == pytest.approx(0.0, abs=1e-6)


def test_others_have_no_branches() -> None:
    assert make.only(check, make.mixed([(1.0, 0.5)])).status is Status.SKIP
