"""Pages of variants and comparisons of learned encodings: short unasked, complete with -v."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ropeaudit.diff.compare import compare
from ropeaudit.diff.interface import Comparison
from ropeaudit.perturb.beside import apply
from ropeaudit.perturb.variant import make
from ropeaudit.records import replace
from ropeaudit.report import _diff
from ropeaudit.report._terminal import View
from ropeaudit.report._variants import Made, render
from ropeaudit.schedule.subject import Subject
from tests.checks.encodings import by_hand
from tests.report.canned import HOSTILE
from tests.report.golden import same_as_golden

VIEWS = {"plain": View(), "verbose": View(verbose=True), "ascii": View(unicode=False, width=60)}


def vit(layers: int = 1, heads: int = 2) -> Subject:
    sizes = np.linspace(1.0, 0.25, layers * heads * 3).reshape(layers, heads, 3, 1)
    w = sizes * np.array([0.5, 0.25])
    encoding = replace(
        by_hand.mixed(w[0], (14, 14)),
        layers=tuple(range(layers)),
        parameters={"freqs": np.moveaxis(w, -1, 0)},
    )
    return Subject(
        target="vit", format="safetensors", encodings=(encoding, by_hand.alibi(length=512))
    )


def variants(view: View, *recipes: str, subject: Subject | None = None) -> str:
    given = subject or vit()
    made = [Made(make((), r, given.encodings)) for r in recipes]
    return render("console", given, made, view, several=len(recipes) > 1)


def compared(recipe: str, subject: Subject | None = None) -> Comparison:
    given = subject or vit()
    return compare(given, apply(given, recipe))


@pytest.mark.parametrize("view", VIEWS)
def test_variants(view: str) -> None:
    recipe = "cluster:at=0,codim=2,gap=1,to=first"
    same_as_golden(f"variant-encodings-{view}.txt", variants(VIEWS[view], recipe))


def test_several_variants() -> None:
    page = variants(View(), "int4:sym", "zero:from=0,to=1", "linear:factor=2@slope")
    same_as_golden("variants-encodings.txt", page)


@pytest.mark.parametrize("view", VIEWS)
def test_comparisons(view: str) -> None:
    found = compared("linear:factor=1.125")
    same_as_golden(f"diff-encodings-{view}.txt", _diff.render("console", found, VIEWS[view]))


def test_markdown() -> None:
    page = _diff.render("markdown", compared("linear:factor=1.125"), View())
    same_as_golden("diff-encodings.md", page)
    assert "\n\n\n" not in page


def test_many_heads_are_not_listed_unasked() -> None:
    many = vit(12, 12)
    given = replace(many, encodings=many.encodings[:1])
    page = variants(View(), "cluster:at=0,codim=2,gap=1", subject=given)
    assert page.count("\n") < 12
    assert "and 143 more lists" in " ".join(page.split())
    found = compared("linear:factor=2", given)
    page = _diff.render("console", found, View())
    assert page.count("\n") < 24
    assert "136 more heads (-v lists them)" in page
    assert _diff.render("markdown", found, View()).count("\n") < 24
    assert _diff.render("console", found, View(verbose=True)).count("\n") > 400
    document: Any = json.loads(_diff.render("json", found, View()))
    assert len(document["encodings"][0]["quantities"][0]["heads"]) == 144


def test_foreign_names_are_escaped() -> None:
    given = Subject(target="x", format="torch", encodings=(replace(by_hand.alibi(), name=HOSTILE),))
    pages = [variants(view, "int8:sym", subject=given) for view in VIEWS.values()]
    found = compared("int8:sym", given)
    pages += [_diff.render("console", found, view) for view in VIEWS.values()]
    lone = compare(given, Subject(target="y", format="torch", encodings=vit().encodings))
    pages.append(_diff.render("console", lone, View()))
    for page in pages:
        assert "\x1b" not in page
        assert "\x07" not in page
    markdown = _diff.render("markdown", found, View())
    assert "<script" not in markdown
    assert "\x1b" not in markdown
