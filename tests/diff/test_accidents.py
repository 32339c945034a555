"""Conversions that real tools got wrong are named in words; right ones stay unsaid.

``fixtures/accidents/pairs.json`` holds, per public report, the source and what was made of it, and
which kinds of loss a comparison has to name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ropeaudit
from ropeaudit.diff.likeness import Likeness
from tests.diff.sides import side

PAIRS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures/accidents/pairs.json").read_text()
)


@pytest.mark.parametrize("accident", PAIRS, ids=lambda a: f"{a['id']}-{a['family']}")
def test_accident_is_named(accident: dict[str, Any], tmp_path: Path) -> None:
    expect = accident["expect"]
    a, b = (side(accident[s], tmp_path / s) for s in "ab")
    found = ropeaudit.diff(a, b)
    assert found.a.error is found.b.error is None
    kinds = {lost.name for pair in found.pairs for lost in pair.lost}
    assert found.verdict == expect["verdict"], (kinds, found.undecided)
    assert set(expect["lost"]) <= kinds
    if not expect["lost"]:
        assert kinds == set()
    assert found.exit_code == (1 if found.verdict is Likeness.DIFFERENT else 0)
    if "severity" in expect:
        assert found.severity is ropeaudit.Severity.parse(expect["severity"])
    for pair in found.pairs:
        for lost in pair.lost:
            assert lost.text.startswith(f"{lost.name}: ")
            assert lost.text.isprintable()


WITH_FACTS = [p for p in PAIRS if "facts" in p]


@pytest.mark.parametrize("accident", WITH_FACTS, ids=lambda a: a["id"])
def test_numbers_of_both_sides(accident: dict[str, Any], tmp_path: Path) -> None:
    facts = accident["facts"]
    a, b = (side(accident[s], tmp_path / s) for s in "ab")
    pair = ropeaudit.diff(a, b).pairs[0]
    for name, schedule in (("a_last", pair.a), ("b_last", pair.b)):
        if name in facts:
            assert schedule.inv_freq[-1] == pytest.approx(facts[name], rel=2e-6)
    if "attention" in facts:
        assert pair.attention_scaling == pytest.approx(facts["attention"], rel=1e-6)
    if "softmax" in facts:
        assert pair.softmax_scale == pytest.approx(facts["softmax"], rel=1e-6)


def test_every_report_about_two_files_is_there() -> None:
    """Facts of the reports that have a source and a conversion, by their ids."""
    reported = {
        "B011", "B012", "B014", "B022", "B024", "B028", "B030", "B031", "B033", "B034", "B052",
        "B065", "B078", "B102", "B157", "B159", "B162",
    }  # fmt: skip
    assert reported <= {p["id"] for p in PAIRS}
