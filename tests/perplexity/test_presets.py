"""Shipped sweeps: each says what it reproduces, and can be carried out on the models it is for."""

from __future__ import annotations

import pytest

from ropeaudit.perplexity import corpora
from ropeaudit.perplexity.loading import of_model
from ropeaudit.perplexity.records import Cell
from ropeaudit.perplexity.run import Request, run
from ropeaudit.perplexity.statistics import fits
from ropeaudit.perplexity.sweep import preset, presets
from ropeaudit.perturb.variant import make
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from tests.perplexity import folder, tiny
from tests.schedules import plain

GEMMA3 = [
    plain(1e4, 256, layer_type="sliding_attention"),
    plain(1e6, 256, layer_type="full_attention"),
]
TABLES = {
    "Llama-2": [plain(1e4, 128)],
    "Llama-3": [plain(5e5, 128)],
    "Mistral-v0.3, Qwen2.5": [plain(1e6, 128)],
    "SmolLM2": [plain(1e5, 64)],
    "Gemma 3": GEMMA3,
}


@pytest.mark.parametrize("name", presets())
def test_a_preset_says_what_it_is_for(name: str) -> None:
    sweep = preset(name)
    assert sweep.name == name
    assert len(sweep.reproduces) > 60
    assert set(sweep.corpora) <= set(corpora.names())


@pytest.mark.parametrize("model", TABLES)
@pytest.mark.parametrize("name", sorted(set(presets()) - {"hybrid"}))
def test_a_preset_fits_every_common_table(name: str, model: str) -> None:
    for recipe in preset(name).recipes:
        made = make(TABLES[model], recipe)
        moved = {s.name for _, s in made.changed()}
        assert moved or recipe.steps[0].head == "base"


def test_hybrid_changes_each_kind_of_layer_alone() -> None:
    def kinds(schedules: list[Schedule], text: str) -> set[str | None]:
        return {s.layer_type for _, s in make(schedules, text).changed()}

    texts = [r.text for r in preset("hybrid").recipes]
    assert kinds(GEMMA3, "int8:affine") == {"sliding_attention", "full_attention"}
    for kind in ("sliding_attention", "full_attention"):
        for recipe in ("int8:sym", "int8:affine", "int4:sym", "int4:affine"):
            assert f"{recipe}@{kind}" in texts
            assert kinds(GEMMA3, f"{recipe}@{kind}") == {kind}


def _cells(name: str) -> tuple[Cell, ...]:
    sweep = preset(name)
    model = of_model(tiny.llama(head_dim=64), folder.tokenizer(), digest="p")
    settings = replace(sweep.settings, contexts=(16,), windows=6)
    found = run(
        Request(model=model, corpus=folder.corpus(200), settings=settings, recipes=sweep.recipes)
    )
    assert not found.failures
    return found.cells


def test_controls_hold_every_merge_against_its_controls() -> None:
    found = fits.controls(_cells("controls"))
    kinds = {"apart, matched in log", "apart, matched in phase", "shift up", "shift down", "swap"}
    assert {c.kind for c in found} == kinds | {"jitter"}
    for control in found:
        low, high = sorted(control.displacement)
        if control.kind not in ("jitter", "apart, matched in phase"):
            assert low == pytest.approx(high, rel=0.05)
    by_kind = {k: [c for c in found if c.kind == k] for k in kinds}
    assert {k: len(v) for k, v in by_kind.items()} == dict.fromkeys(kinds, 4)


def test_power_law_and_position_have_what_their_fits_need() -> None:
    (law,) = fits.power_law(_cells("power-law"))
    assert len(law.points) == 5
    distances = [x for x, _ in law.points]
    assert distances == pytest.approx([distances[0] * g for g in (1, 3, 5, 7, 9)], rel=1e-3)
    found = fits.position(_cells("position"))
    assert {(p.high.split(",")[0], p.low.split(",")[0]) for p in found} >= {
        ("cluster:at=high", "cluster:at=low")
    }
