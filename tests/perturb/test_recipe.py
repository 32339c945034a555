"""Recipes are read exactly or refused in one sentence, and written in one way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import UsageError
from ropeaudit.perturb.interface import heads, modules
from ropeaudit.perturb.recipe import parse
from ropeaudit.records import record_fields
from tests.perturb.recipes import EVERY, texts


@given(texts)
@settings(max_examples=80)
def test_the_canonical_text_reads_back_as_itself(text: str) -> None:
    recipe = parse(text)
    assert parse(recipe.text) == recipe
    assert parse(recipe.text).text == recipe.text


@given(st.text(max_size=40) | texts.flatmap(lambda t: st.text(max_size=3).map(t.__add__)))
@settings(max_examples=80)
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    try:
        recipe = parse(text)
    except UsageError as error:
        assert str(error)
        assert str(error).isprintable()
    else:
        assert parse(recipe.text) == recipe


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("int:bits=8,mode=sym", "int8:sym"),
        ("int:mode=affine,bits=4", "int4:affine"),
        ("int8:mode=sym", "int8:sym"),
        ("int:bits=6,mode=sym", "int:bits=6,mode=sym"),
        ("log:bits=8", "log8"),
        ("log:bits=3", "log:bits=3"),
        ("base:1e6", "base:1000000"),
        ("noise:seed=07,eps=1.0e-07", "noise:eps=1e-7,seed=7"),
        ("noise:eps=1e+2,seed=0", "noise:eps=100,seed=0"),
        ("jitter:eps=1e-7", "jitter:eps=1e-7"),
        ("cluster:at=0,codim=2,gap=3", "cluster:at=0,codim=2,gap=3,to=gm"),
        ("cluster:at=mid,codim=2,dlog=.5,to=1e-2", "cluster:at=mid,codim=2,dlog=0.5,to=0.01"),
        ("apart:gap=3,at=0,match=log", "apart:at=0,gap=3"),
        ("apart:gap=3,at=0,match=phase", "apart:at=0,gap=3,match=phase"),
        ("zero:to=5,from=3", "zero:from=3,to=5"),
        ("yarn:factor=4,original=4096,beta_fast=32", "yarn:factor=4,original=4096,beta_fast=32"),
        (
            "llama3:factor=8,original_max_position_embeddings=8192,low_freq_factor=1",
            "llama3:factor=8,original=8192",
        ),
        ("int8:sym @layers=7,3-5,4", "int8:sym@layers=3-5,7"),
        ("int8:sym@layers=1@full_attention", "int8:sym@full_attention@layers=1"),
        (" int8:sym+jitter:eps=1e-7 ", "int8:sym+jitter:eps=1e-7"),
        ("longrope:a b/c=d,e.json", "longrope:a b/c=d,e.json"),
        ("longrope:x@y.json@head=3", "longrope:x@y.json@head=3"),
    ],
)
def test_one_spelling_of_each(text: str, canonical: str) -> None:
    assert parse(text).text == canonical
    assert parse(canonical).text == canonical


def test_plus_separates_only_before_a_letter() -> None:
    recipe = parse("jitter:eps=1e+2+int8:sym")
    assert [s.head for s in recipe.steps] == ["jitter", "int8"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("int9:sym", "did you mean int"),
        ("xyzzy", "known: apart, base"),
        ("int8", "mode is missing"),
        ("int8:", "nothing follows the colon"),
        ("int8:symm", "mode is symm, expected sym or affine"),
        ("int:bits=1,mode=sym", "from 2 to 16"),
        ("int:bits=17,mode=sym", "from 2 to 16"),
        ("int:bits=8.0,mode=sym", "whole number"),
        ("int:bits=٤,mode=sym", "whole number"),
        ("log:bits=99", "from 2 to 16"),
        ("noise:eps=1e-3", "seed is missing"),
        ("noise:seed=1", "eps is missing"),
        ("noise:eps=nan,seed=0", "finite number"),
        ("noise:eps=inf,seed=0", "finite number"),
        ("noise:eps=-1,seed=0", "at least 0"),
        ("noise:eps=1_0,seed=0", "finite number"),
        ("noise:eps=1,seed=-1", "whole number"),
        ("noise:eps=1,seed=1,seed=2", "stands twice"),
        ("noise:epsilon=1,seed=1", "did you mean eps"),
        ("noise:1,seed=1", "is not key=value"),
        ("cluster:at=0,codim=1,gap=1", "codim is 1, expected a whole number from 2"),
        ("cluster:at=0,codim=2", "gap is missing"),
        ("cluster:at=0,codim=2,gap=1,dlog=1", "both given"),
        ("cluster:at=top,codim=2,gap=1", "high, mid, low"),
        ("cluster:at=0,codim=2,gap=1,to=-1", "at least 0"),
        ("apart:at=0,gap=0", "whole number from 1"),
        ("shift:at=0,gap=1", "dir is missing"),
        ("shift:at=0,gap=1,dir=left", "up or down"),
        ("zero:from=4,to=3", "beyond"),
        ("zero:frm=4,to=3", "did you mean from"),
        ("base:0", "above 0"),
        ("linear:factor=0", "above 0"),
        ("yarn:factor=4", "original is missing"),
        ("yarn:factor=4,original=8,truncate=maybe", "true or false"),
        ("llama3:factor=8,original=8,low=4,high=1", "above high"),
        ("cast:fp4", "bf16"),
        ("cast", "to is missing"),
        ("log8:bits=4", "no key"),
        ("identity:x", "not key=value"),
        ("int8:sym@layers=7-3", "expected ranges"),
        ("int8:sym@layers=", "expected ranges"),
        ("int8:sym@head=x", "expected a number"),
        ("int8:sym@a@b", "twice"),
        ("int8:sym@", "@ is no scope; write @layer_type"),
        ("int8:sym@layer=2", "@layer=2 is no scope"),
        ("int8@full:sym", "is no scope"),
        ("int8:sym + log8", "no space after it"),
        ("identity+ log8", "no space after it"),
        ("int8:sym++log8", "directly between two steps"),
        ("int8:sym+", "directly between two steps"),
        ("+int8:sym", "directly between two steps"),
        ("+", "directly between two steps"),
        ("noise:eps=1,seed=1,", "a comma separates nothing"),
        ("noise:eps=1,,seed=1", "a comma separates nothing"),
        ("INT8:sym", "did you mean int8"),
        ("+".join(["log8"] * 33), "33 steps"),
        ("x" * 5000, "5000 characters"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse(text)


def test_a_recipe_is_text() -> None:
    with pytest.raises(UsageError, match="int8:sym"):
        parse(8)  # type: ignore[arg-type]
    recipe = parse("log8")
    assert parse(recipe) is recipe


def test_every_module_keeps_to_the_interface() -> None:
    for module in modules():
        assert module.HEADS, module
        fields = record_fields(module.Params)
        for head in module.HEADS:
            assert set(fields) == set(head.keys) | set(head.fixed), head.name
            assert head.bare is None or head.bare in head.keys
            assert head.usage.startswith(head.name)
        assert isinstance(module.RESCALES, bool)


def test_the_list_for_other_tests_uses_every_head() -> None:
    used = {s.head for text in EVERY for s in parse(text).steps} | {"longrope", "int", "log"}
    assert used == set(heads())
    assert len({parse(text).text for text in EVERY}) == len(EVERY)


GUIDE = (Path(__file__).parents[2] / "docs" / "perturb.md").read_text(encoding="utf-8")


def test_the_guide_names_every_head_and_key() -> None:
    for head, _ in heads().values():
        assert f"`{head.name}" in GUIDE, head.name
        for name in head.keys:
            assert name == head.bare or name.rstrip("_") in GUIDE, (head.name, name)


def test_examples_of_the_guide_can_be_read() -> None:
    examples = re.findall(r"--apply ([^\s`]+)", GUIDE) + re.findall(r"Example: `([^`]+)`", GUIDE)
    examples = [e for e in examples if e != "RECIPE" and not e.startswith("ropeaudit")]
    assert len(examples) >= 6
    for text in examples:
        assert parse(text).steps
