"""Plans unfold grids in the order in which they are written, and a typo is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.perturb.plan import load


def plan(folder: Path, text: str) -> list[str]:
    path = folder / "plan.yaml"
    path.write_text(text)
    return [recipe.text for recipe in load(str(path))]


def test_grids_and_seeds_unfold_in_order(tmp_path: Path) -> None:
    text = """
variants:
  - int8:sym
  - recipe: int:bits=4,mode=sym
  - recipe: "noise:eps={eps},seed={seed}"
    grid: {eps: [1e-4, 1.0e-3], seed: [0, 1]}
  - recipe: "cluster:at={at},codim=2,gap={gap},to=gm"
    grid:
      gap: [1, 3]
      at: high
  - recipe: "noise:eps=0.5,seed={seed}+{then}"
    grid: {then: [log8, "cast:bf16"]}
    seeds: 2
"""
    assert plan(tmp_path, text) == [
        "int8:sym",
        "int4:sym",
        "noise:eps=0.0001,seed=0",
        "noise:eps=0.0001,seed=1",
        "noise:eps=0.001,seed=0",
        "noise:eps=0.001,seed=1",
        "cluster:at=high,codim=2,gap=1,to=gm",
        "cluster:at=high,codim=2,gap=3,to=gm",
        "noise:eps=0.5,seed=0+log8",
        "noise:eps=0.5,seed=1+log8",
        "noise:eps=0.5,seed=0+cast:bf16",
        "noise:eps=0.5,seed=1+cast:bf16",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a mapping with the key variants"),
        ("- int8:sym", "not a mapping with the key variants"),
        ("variant: [int8:sym]", "line 1: unknown key variant; did you mean variants"),
        ("variants: int8:sym", "variants is no list"),
        ("variants: []", "variants is no list"),
        ("variants: &a [int8:sym]\nb: *a", "plan.yaml, line 1: anchors and aliases are not read"),
        (
            "variants: [int8:sym]\n---\nvariants: [log4]",
            "line 2: a second document begins; write one",
        ),
        ("variants:\n  - [int8:sym]", "variant 1 is neither a recipe nor a mapping"),
        ("variants:\n  - int9:sym", "variant 1: recipe int9:sym: no perturbation int9"),
        ("variants:\n  - grid: {a: [1]}", "recipe is missing"),
        ("variants:\n  - recipe: int8:sym\n    gird: {a: [1]}", "line 3: unknown key gird"),
        ("variants:\n  - recipe: int8:sim", "line 2: recipe int8:sim: mode is sim"),
        (
            "variants:\n  - recipe: 'noise:eps={esp},seed=1'\n    grid: {eps: [1]}",
            "line 2: {esp} has no values; did you mean eps",
        ),
        ("variants:\n  - recipe: 'noise:eps={eps},seed=1'", "give its values under grid"),
        (
            "variants:\n  - recipe: int8:sym\n    grid: {eps: [1]}",
            "line 2: nothing in the recipe takes eps",
        ),
        ("variants:\n  - recipe: 'log:bits={b}'\n    grid: [1]", "line 3: grid is no mapping"),
        ("variants:\n  - recipe: 'log:bits={b}'\n    grid: {b: []}", "line 3: b has no list"),
        ("variants:\n  - recipe: 'log:bits={b}'\n    grid: {b: [[1]]}", "line 3: b has no list"),
        (
            "variants:\n  - recipe: 'noise:eps=1,seed={seed}'\n    seeds: 0",
            "line 3: seeds is 0, expected how many",
        ),
        (
            "variants:\n  - recipe: 'noise:eps=1,seed={seed}'\n    seeds: 2\n    grid: {seed: [1]}",
            "say the same",
        ),
        ("variants:\n  - int8:sym\n  - 'int:bits=8,mode=sym'", "int8:sym stands twice"),
        ("variants:\n  - recipe: a\n    recipe: b", "line 3: the key recipe stands twice"),
        ("variants: [", "line"),
        (
            "variants:\n  - recipe: 'noise:eps={e},seed={seed}'\n    seeds: 9999\n"
            "    grid: {e: [0.1, 0.2]}",
            "more than 10,000 variants",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        plan(tmp_path, text)
    assert said in str(caught.value)
    assert "plan.yaml" in str(caught.value)


def test_a_plan_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(UsageError, match="cannot read the plan"):
            load(str(path))
    (tmp_path / "plan.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        load(str(tmp_path / "plan.yaml"))
    (tmp_path / "plan.yaml").write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(UsageError, match="larger than"):
        load(str(tmp_path / "plan.yaml"))
