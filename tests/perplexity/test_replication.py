"""docs/replication.md says what was measured, and what was measured is what others measured."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from ropeaudit.perplexity import sweep
from ropeaudit.perturb.recipe import parse
from ropeaudit.perturb.variant import make
from ropeaudit.schedule.geometry import max_cluster
from tests.perplexity.replication import FOLDER, cells, perplexity
from tests.perplexity.replication_page import PAGE, clusters, page, tables
from tests.perplexity.scores import measured
from tests.schedules import plain

PLANS = sorted(path.stem for path in FOLDER.glob("*.yaml"))

BY_HAND = {
    "int8:sym": 4.46,
    "int8:sym+jitter:eps=1e-07": 4.34,
    "int4:sym": 18.4,
    "log8": 0.999,
    "log4": 1.057,
    "noise:eps=0.0001,seed=0": 1.0000,
    "noise:eps=0.001,seed=0": 0.9999,
    "noise:eps=0.01,seed=0": 1.0007,
    "noise:eps=0.03,seed=0": 1.0003,
    "noise:eps=0.1,seed=0": 1.011,
    "cluster:at=0,codim=2,gap=1,to=gm": 1.020,
    "cluster:at=0,codim=2,gap=2,to=gm": 1.113,
    "cluster:at=0,codim=2,gap=3,to=gm": 1.297,
    "cluster:at=0,codim=2,gap=4,to=gm": 1.510,
    "cluster:at=0,codim=2,gap=5,to=gm": 1.762,
    "apart:at=0,gap=1": 1.022,
    "apart:at=0,gap=3": 1.520,
    "apart:at=0,gap=5": 6.82,
    "swap:at=0,gap=1": 1.039,
    "swap:at=0,gap=3": 1.253,
    "cluster:at=4,codim=2,gap=1,to=gm": 1.004,
    "cluster:at=4,codim=2,gap=2,to=gm": 1.012,
    "cluster:at=4,codim=2,gap=4,to=gm": 1.056,
    "cluster:at=4,codim=2,gap=6,to=gm": 1.086,
    "cluster:at=16,codim=2,gap=4,to=gm": 1.004,
    "cluster:at=16,codim=2,gap=6,to=gm": 1.010,
    "cluster:at=24,codim=2,gap=4,to=gm": 1.004,
    "cluster:at=24,codim=2,gap=6,to=gm": 1.009,
}
"""Two windows of 2048 tokens from token 10,000 on, by a loop that shares no code with this one."""


def test_the_page_has_the_tables_of_the_figures() -> None:
    text = PAGE.read_text("utf-8")
    assert text == page(), "make it anew: python -m tests.perplexity.replication_page"
    assert text.count("<!-- table:") == len(tables())


@pytest.mark.parametrize("name", PLANS)
def test_figures_belong_to_their_plan(name: str) -> None:
    plan = sweep.load(str(FOLDER / f"{name}.yaml"))
    found = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    wanted = [r.text for r in plan.recipes]
    assert [c["recipe"] for c in found["cells"]] == [None, *wanted]
    (length,) = plan.settings.contexts
    for cell in found["cells"]:
        assert (cell["context"], cell["targets"]) == (length, length - 1)
        assert cell["windows"] == list(range(plan.settings.windows or 0)) == sorted(cell["windows"])
        buckets = math.fsum(x for _, x in cell["buckets"])
        assert buckets == pytest.approx(math.fsum(cell["nll"]), rel=1e-6)
    assert found["about"]["offset"] == plan.settings.offset
    assert found["about"]["dtype"] == plan.settings.dtype
    assert found["about"]["bos"] == plan.settings.bos


def test_two_windows_agree_with_an_independent_loop() -> None:
    base, *others = cells("smollm2-2048")
    assert perplexity(base) == pytest.approx(12.94, rel=1e-3)
    found = {c.recipe: c.inflation for c in others}
    known = {parse(recipe).text: x for recipe, x in BY_HAND.items()}
    assert known.keys() <= found.keys()
    assert {r: found[r] for r in known} == {r: pytest.approx(x, rel=0.01) for r, x in known.items()}


def test_windows_of_512_agree_with_an_independent_loop() -> None:
    base = cells("smollm2-512")[0]
    assert [s.nll for s in base.scores] == pytest.approx(
        [s.nll for s in measured()["base"][: len(base.scores)]], rel=1e-6
    )


def test_the_published_counts() -> None:
    """38 of 64 on Mistral-7B-v0.3 and Qwen2.5-7B, 42 of 128 on Gemma 3's sliding layers."""
    (made,) = make([plain(1e6, 128)], "int8:sym").schedules
    assert max_cluster(made) == 38
    assert clusters("gemma3-512", "int8:affine").split(", ")[0] == "42"


def test_nothing_is_large() -> None:
    assert sum(p.stat().st_size for p in Path(FOLDER).iterdir()) < 60_000
