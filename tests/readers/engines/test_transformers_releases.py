"""transformers 4.57 and 4.46 over all model types they share with the reference, as measured.

The models were built by the releases (tests/oracles/engines/transformers_4x.py): thirty spellings
for each type, with the tables at first, within the original length, at the declared length and
beyond it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Reading
from ropeaudit.readers.engines import transformers
from ropeaudit.readers.engines.interface import NotCovered, Refuses, Request
from ropeaudit.readers.transformers import read
from tests.engine_vectors import vectors
from tests.oracles.engines.transformers_configs import grid
from tests.transformers_4x import covered, disagreement

PATH = Path(__file__).parents[3] / "fixtures" / "readers" / "transformers_4x.json"

ODD = {
    # Divided positions instead of frequencies: the same angles, and another buffer.
    ("4.46", "olmo", "linear by type"),
    # The factor is applied to the cosines and is no attribute of the module.
    ("4.46", "phi3", "longrope"),
}


@cache
def measured() -> Any:
    return json.loads(PATH.read_text(encoding="utf-8"))


CASES = [(release, t) for release in ("4.57", "4.46") for t in measured()[release]]


@pytest.mark.parametrize(("release", "model_type"), CASES)
def test_every_spelling_is_read_as_the_release_does(release: str, model_type: str) -> None:
    rows = measured()[release][model_type]
    assert len(rows) >= 30
    for name, config in grid(model_type):
        if (release, model_type, name) not in ODD:
            said = disagreement(release, config, rows[name])
            assert said is None, f"{name}: {said}"


@pytest.mark.parametrize("release", ["4.57", "4.46"])
def test_every_covered_type_was_measured(release: str) -> None:
    assert set(covered(release)) == set(measured()[release])


def build(version: str, **config: Any) -> Any:
    config = {"hidden_size": 512, "num_attention_heads": 4, "num_hidden_layers": 2, **config}
    document = Document("config.json", config)
    reference = read(Reading(target="t", format="hf-config", document=document))
    release = next(r for r in transformers.RELEASES if r.name == f"transformers-{version}")
    return transformers.build(Request(document=document, reference=reference), release)


@pytest.mark.parametrize("version", ["5.24", "5.20", "4.57", "4.46"])
def test_a_type_that_no_release_knows(version: str) -> None:
    with pytest.raises(Refuses, match="does not know the model type"):
        build(version, model_type="nobody", rope_theta=1e4)


@pytest.mark.parametrize("version", ["5.24", "5.20", "4.57", "4.46"])
def test_code_that_the_model_brings_is_not_run(version: str) -> None:
    with pytest.raises(NotCovered, match="code that the model brings"):
        build(version, model_type="nobody", rope_theta=1e4, auto_map={"AutoModel": "m.Model"})


def test_types_are_known_from_a_release_on() -> None:
    text = {"model_type": "ministral3", "max_position_embeddings": 4096}
    assert build("5.20", **text).schedules
    with pytest.raises(Refuses):
        build("4.57", **text)
    assert build("4.57", model_type="qwen3").schedules
    with pytest.raises(Refuses):
        build("4.46", model_type="qwen3")


@pytest.mark.parametrize("version", ["5.24", "5.20", "4.57", "4.46"])
def test_no_rotation_is_not_covered(version: str) -> None:
    with pytest.raises(NotCovered):
        build(version, model_type="bert")


def test_parts_are_read_in_their_place() -> None:
    text = {"model_type": "gemma3_text", "rope_theta": 2e6, "num_hidden_layers": 6}
    text |= {"hidden_size": 512, "num_attention_heads": 4, "head_dim": 128}
    text |= {"rope_scaling": {"rope_type": "linear", "factor": 8.0}}
    built = build("4.57", model_type="gemma3", text_config=text)
    named = {s.name: s for s in built.schedules}
    full, sliding = named["text/full_attention"], named["text/sliding_attention"]
    assert (full.rope_type, full.rope_theta) == ("linear", 2e6)
    assert (sliding.rope_type, sliding.rope_theta) == ("default", 1e4)
    assert {s.reader for s in built.schedules} == {"transformers-4.57"}


def test_a_model_that_stops_at_its_first_call_is_told() -> None:
    built = build("4.57", model_type="llama", partial_rotary_factor=0.5)
    assert [n.kind for n in built.notes] == ["crashes"]
    assert built.schedules[0].rotary_dim == 64


@pytest.mark.parametrize("version", ["5.24", "5.20", "4.57", "4.46"])
def test_a_type_that_is_no_name(version: str) -> None:
    document = Document("config.json", {"model_type": ["llama"], "rope_theta": 1e4})
    release = next(r for r in transformers.RELEASES if r.name == f"transformers-{version}")
    with pytest.raises((Refuses, InvalidValue), match="model.type"):
        transformers.build(Request(document=document, reference=None), release)


def test_what_is_ignored_is_named() -> None:
    scaling = {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5}
    new = {"rope_type": "default", "rope_theta": 5e5}
    built = build("4.57", model_type="llama", rope_scaling=scaling, rope_parameters=new)
    assert built.ignored == ("/rope_scaling/rope_theta", "/rope_parameters")
    built = build("5.24", model_type="llama", rope_theta=1e4, rope_parameters=new)
    assert built.ignored == ("/rope_theta",)


def test_what_would_change_nothing_is_not_named() -> None:
    for name in ("both_agree", "llama3_both", "rec_llama3", "rec_yarn", "phi3_longrope_old"):
        config = vectors()["cases"][name]["config"]
        for version in ("5.24", "4.57"):
            assert build(version, **config).ignored == (), name


def test_a_model_that_cannot_be_built_is_refused() -> None:
    lists = {"short_factor": [1.0] * 16, "long_factor": [2.0] * 16, "rope_type": "longrope"}
    config = {"model_type": "deepseek_v3", "qk_rope_head_dim": 32, "rope_scaling": lists}
    config |= {"original_max_position_embeddings": 2048, "max_position_embeddings": 8192}
    assert build("5.24", **config).schedules
    with pytest.raises(Refuses, match="factor"):
        build("5.20", **config)
    with pytest.raises(Refuses, match="head_dim"):
        build("5.24", model_type="ministral")
    assert build("5.24", model_type="ministral", head_dim=64).schedules
