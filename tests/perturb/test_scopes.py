"""What a recipe reaches: layer types, layers, components; and what a variant holds."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings

import ropeaudit
from ropeaudit.errors import SourceError, UsageError
from ropeaudit.facts import Origin
from ropeaudit.perturb.measure import measures
from ropeaudit.perturb.variant import Variant, make
from ropeaudit.records import replace
from ropeaudit.resolve import resolve
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import f32s
from tests.perturb.recipes import EVERY, texts
from tests.schedules import plain, raw

ZOO = Path(__file__).parents[2] / "fixtures" / "zoo"


def zoo(name: str) -> tuple[Schedule, ...]:
    return resolve(str(ZOO / name / "config.json"), offline=True).schedules


GEMMA = zoo("google__gemma-3-1b-it")
"""Full attention in layers 5, 11, 17, 23 of 26, sliding attention in the others."""


def changed(variant: Variant) -> list[str]:
    return [s.name for _, s in variant.changed()]


def test_all_text_schedules_by_default() -> None:
    variant = make(GEMMA, "int8:sym")
    assert changed(variant) == ["text/full_attention", "text/sliding_attention"]
    with_tower = zoo("Qwen__Qwen3.5-27B")
    variant = make(with_tower, "int8:sym")
    assert changed(variant) == ["text"]
    tower = next(s for s in with_tower if s.name == "vision")
    assert tower in variant.schedules
    assert changed(make(with_tower, "int8:sym@vision")) == ["vision"]
    assert [m.schedule for m in measures(make(with_tower, "int8:sym@vision"))] == ["vision", "text"]


def test_one_layer_type() -> None:
    variant = make(GEMMA, "int8:affine@sliding_attention")
    assert changed(variant) == ["text/sliding_attention"]
    assert {m.schedule: m.max_cluster for m in measures(variant)} == {
        "text/full_attention": 1,
        "text/sliding_attention": 42,
    }
    with pytest.raises(UsageError, match="did you mean sliding_attention"):
        make(GEMMA, "int8:sym@sliding_atention")
    with pytest.raises(UsageError, match="known: full_attention, sliding_attention, text"):
        make(GEMMA, "int8:sym@x")


def test_layers_cut_a_schedule_in_two() -> None:
    variant = make([plain(layers=tuple(range(12)))], "int8:sym@layers=3-7")
    outside, inside = variant.schedules
    assert (outside.name, outside.layers) == ("text", (0, 1, 2, 8, 9, 10, 11))
    assert (inside.name, inside.layers) == ("text/layers_3-7", (3, 4, 5, 6, 7))
    assert outside.inv_freq == plain().inv_freq
    assert inside.inv_freq == make([plain()], "int8:sym").schedules[0].inv_freq
    assert variant.base[0] is variant.base[1]


def test_layers_across_layer_types() -> None:
    variant = make(GEMMA, "int8:sym@layers=4-6")
    assert changed(variant) == [
        "text/full_attention.layer_5",
        "text/sliding_attention.layers_4_6",
    ]
    served = sorted(n for s in variant.schedules for n in s.layers or ())
    assert served == list(range(26))
    assert changed(make(GEMMA, "int8:sym@full_attention@layers=0-25")) == ["text/full_attention"]


def test_layers_of_another_type() -> None:
    with pytest.raises(UsageError, match="no schedule it applies to serves these layers"):
        make(GEMMA, "int8:sym@full_attention@layers=6-8")


def test_layers_cut_again() -> None:
    variant = make([plain(layers=tuple(range(8)))], "log8@layers=2-5+int4:sym@layers=4-7")
    names = [s.name for s in variant.schedules]
    assert len(set(names)) == len(names)
    by_layers = {s.layers: s for s in variant.schedules}
    assert set(by_layers) == {(0, 1), (2, 3), (4, 5), (6, 7)}
    assert by_layers[(0, 1)].inv_freq == plain().inv_freq
    assert by_layers[(4, 5)].inv_freq == make([plain()], "log8+int4:sym").schedules[0].inv_freq
    assert by_layers[(6, 7)].inv_freq == make([plain()], "int4:sym").schedules[0].inv_freq


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ("log8@layers=8", "the last layer that turns is 7"),
        ("log8@layers=5-9", "the last layer that turns is 7"),
        ("log8@head=0", "one table of frequencies for all heads"),
    ],
)
def test_scopes_that_reach_nothing(recipe: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make([plain(layers=tuple(range(8)))], recipe)


def test_unknown_layers_cannot_be_cut() -> None:
    with pytest.raises(UsageError, match="layers of schedule text/stored are not known"):
        make([raw([1.0, 0.5])], "log8@layers=0")


def test_nothing_to_perturb() -> None:
    with pytest.raises(UsageError, match="no text schedule"):
        make([plain(component="vision")], "log8")


@pytest.mark.parametrize("recipe", EVERY)
def test_the_same_recipe_gives_the_same_bits(recipe: str) -> None:
    a = make(GEMMA, recipe)
    b = make(GEMMA, a.recipe.text)
    assert a == b
    assert a.found == b.found


@given(texts)
@settings(max_examples=60)
def test_any_recipe_reproduces_or_is_refused(text: str) -> None:
    base = [plain(1e5, 256, trained=8192, layers=tuple(range(8)))]
    try:
        variant = make(base, text)
    except UsageError as error:
        assert str(error).isprintable()
        return
    again = make(base, variant.recipe.text)
    assert again == variant
    assert again.found == variant.found
    assert all(math.isfinite(v) for s in variant.schedules for v in s.inv_freq)
    assert all(s.inv_freq == tuple(f32s(s.inv_freq)) for s in variant.schedules)


@pytest.mark.parametrize("recipe", [r for r in EVERY if r != "identity"])
def test_composition_starts_from_the_first_table(recipe: str) -> None:
    """For steps that work on the table itself, a+b is b on the float32 result of a."""
    base = plain(1e5, 64, trained=8192, layers=(0, 1))
    first = make([base], "noise:eps=0.05,seed=3")
    both = make([base], f"noise:eps=0.05,seed=3+{recipe}")
    if both.recipe.steps[-1].module.RESCALES:
        assert both.schedules[0].inv_freq != make([base], recipe).schedules[0].inv_freq
    else:
        assert both.schedules[0].inv_freq == make(first.schedules, recipe).schedules[0].inv_freq


def test_what_a_variant_keeps() -> None:
    base = GEMMA[0]
    made = make(GEMMA, "int8:sym").schedules[0]
    for name in ("context", "pairing", "attention_scaling", "softmax_scale", "layers", "axes"):
        assert getattr(made, name) == getattr(base, name)
    assert (made.law, made.inputs) == (None, None)
    fact = made.fact("recipe")
    assert fact is not None
    assert (fact.value, fact.origin) == ("int8:sym", Origin.DERIVED)


def test_identity_gives_the_base_itself() -> None:
    variant = make(GEMMA, "identity")
    assert all(a is b for a, b in zip(variant.base, variant.schedules, strict=True))
    assert variant.changed() == ()
    narrow = replace(raw([1.0, 0.5]), dtype="bfloat16")
    assert make([narrow], "identity").schedules[0] is narrow


def test_wider_tables_become_float32() -> None:
    wide = replace(raw([1.0, 0.1]), dtype="float64")
    made = make([wide], "swap:at=0,gap=1").schedules[0]
    assert made.dtype == "float32"
    assert made.inv_freq[0] != 0.1
    assert made.inv_freq[0] == pytest.approx(0.1, rel=1e-7)


def test_from_python(tmp_path: Path) -> None:
    variant = ropeaudit.perturb(ZOO / "google__gemma-3-1b-it", "int8:sym")
    assert isinstance(variant, ropeaudit.Variant)
    assert variant == ropeaudit.perturb(ropeaudit.read(ZOO / "google__gemma-3-1b-it"), "int8:sym")
    assert ropeaudit.perturb(plain(), "log8").schedules[0].inv_freq != plain().inv_freq
    with pytest.raises(SourceError):
        ropeaudit.perturb(tmp_path / "nowhere", "log8")
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
    (tmp_path / "config.json").write_text(json.dumps(config))
    overridden = ropeaudit.perturb(tmp_path, "log8", overrides="rope_theta=1e6", offline=True)
    assert overridden.base[0].rope_theta == 1e6
