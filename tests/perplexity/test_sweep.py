"""Sweeps from YAML: what they mean, and how their mistakes are said."""

from __future__ import annotations

from pathlib import Path

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.perplexity.records import Settings
from ropeaudit.perplexity.sweep import load, preset, presets, ratio, requests
from ropeaudit.records import replace

WHOLE = """\
name: mine
reproduces: a table
models: [a/b, c/d]
corpora: [pydoc_topics, my.txt]
contexts: [64, 128]
windows: 8
settings:
  offset: 100
  scoring: strided
  stride: 32
  bos: true
  precision: 0.5%
  threshold: 1.05
  seed: 3
  dtype: bfloat16
variants:
  - int8:sym
  - {recipe: "noise:eps={eps},seed={seed}", grid: {eps: [1e-4, 1e-3]}, seeds: 2}
"""


def written(folder: Path, text: str) -> str:
    path = folder / "plan.yaml"
    path.write_text(text)
    return str(path)


def test_every_key_is_read(tmp_path: Path) -> None:
    sweep = load(written(tmp_path, WHOLE))
    assert (sweep.name, sweep.reproduces) == ("mine", "a table")
    assert sweep.settings == Settings(
        contexts=(64, 128),
        windows=8,
        offset=100,
        scoring="strided",
        stride=32,
        bos=True,
        precision=0.005,
        threshold=1.05,
        seed=3,
        dtype="bfloat16",
    )
    assert [r.text for r in sweep.recipes] == [
        "int8:sym",
        *(f"noise:eps={e},seed={s}" for e in ("0.0001", "0.001") for s in (0, 1)),
    ]
    made = requests(sweep, offline=True)
    assert [(r.model, r.corpus) for r in made] == [
        (m, c) for m in ("a/b", "c/d") for c in ("pydoc_topics", "my.txt")
    ]
    assert all(r.settings == sweep.settings and r.offline for r in made)


def test_variants_alone_are_a_sweep(tmp_path: Path) -> None:
    sweep = load(written(tmp_path, "variants: [int8:sym]"))
    assert (sweep.name, sweep.models, sweep.settings) == ("plan", (), Settings())
    (request,) = requests(sweep, models=["here"], corpora=["c4"])
    assert (request.model, request.corpus) == ("here", "c4")
    with pytest.raises(UsageError, match="plan names no model; give one"):
        requests(sweep)


def test_windows_may_be_all(tmp_path: Path) -> None:
    assert load(written(tmp_path, "windows: all\nvariants: [log8]")).settings.windows is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("contexts:", "contets:", "line 5: unknown key contets; did you mean contexts"),
        ("[64, 128]", "[64, 1e3]", "line 5: contexts is a list, expected whole numbers only"),
        ("[64, 128]", "{a: 1}", "line 5: contexts is a mapping, expected a list of whole"),
        ("[64, 128]", "[64, 64]", "a context length stands twice"),
        ("[64, 128]", "[0]", "the context length is 0, expected 2"),
        ("windows: 8", "windows: many", "line 6: windows is many, expected a whole number, or all"),
        ("windows: 8", "windows: 0", "windows is 0, expected at least 1"),
        ("[a/b, c/d]", "[a/b, a/b]", "line 3: models is a list, expected each name once"),
        ("[a/b, c/d]", "[]", "line 3: models is a list, expected a list of names"),
        ("scoring: strided", "scoring: strid", "unknown scoring strid; did you mean strided"),
        ("  stride: 32", "  strid: 32", "line 10: unknown key strid; did you mean stride"),
        ("bos: true", "bos: yes", "line 11: bos is yes, expected true or false"),
        ("0.5%", "half", "line 12: precision is half, expected a number such as 0.005"),
        ("0.5%", "500%", "precision is 5, expected more than 0 and less than 1"),
        ("seed: 3", "seed: -3", "line 14: seed is -3, expected a whole number"),
        ("bfloat16", "float61", "unknown dtype float61; did you mean float16"),
        ("int8:sym", "int8:sim", "variant 1: recipe int8:sim"),
        ("name: mine", "name: mine\nname: b", "line 2: the key name stands twice"),
    ],
)
def test_a_mistake_is_said_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert WHOLE.count(old) == 1
    with pytest.raises(UsageError) as caught:
        load(written(tmp_path, WHOLE.replace(old, new)))
    assert said in str(caught.value)
    assert "plan.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_settings_are_a_mapping(tmp_path: Path) -> None:
    path = written(tmp_path, "settings: full\nvariants: [log8]")
    with pytest.raises(UsageError, match="line 1: settings is full, expected a mapping"):
        load(path)


@pytest.mark.parametrize(
    ("text", "value"), [("0.5%", 0.005), ("0.005", 0.005), ("5e-3", 0.005), (".5 %", 0.005)]
)
def test_a_ratio_may_be_a_percentage(text: str, value: float) -> None:
    assert ratio(text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("text", ["", "%", "nan", "-1", "1,5", "0x1", "1e9999%", "½"])
def test_other_text_is_no_ratio(text: str) -> None:
    with pytest.raises(ValueError, match="percentage"):
        ratio(text)


def test_presets_are_found_by_their_files() -> None:
    assert presets() == (
        "base-sweep", "controls", "hybrid", "noise", "position", "power-law", "quick", "twos",
    )  # fmt: skip
    with pytest.raises(UsageError, match="no preset quik; did you mean quick"):
        preset("quik")
    assert replace(preset("quick"), recipes=()).models == ()
