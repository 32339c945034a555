"""What holds for every engine's reader, whatever the config: words instead of tracebacks."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.document import Document, escape, parse
from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Reading
from ropeaudit.readers.engines.interface import Built, Engine, NotCovered, Refuses, Release, Request
from ropeaudit.readers.engines.known import releases
from ropeaudit.readers.transformers import read
from tests.engine_vectors import vectors
from tests.oracles.engines.any_configs import config_of, families

ALL = [pytest.param(engine, release, id=release.name) for engine, release in releases()]
FEW = settings(max_examples=12)

junk = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 1, 2, 64, 1 << 40, 0.0, -0.5, 1e30, 1e-30, "", "yarn", "auto", "x"])
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["rope_type", "type", "factor", "a"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def sound(draw: st.DrawFn) -> dict[str, Any]:
    """A config with a body that every engine takes and a drawn spelling."""
    family = draw(st.sampled_from(sorted(families())))
    return config_of(family, draw(st.randoms(use_true_random=False)))


@st.composite
def broken(draw: st.DrawFn) -> dict[str, Any]:
    """A config some of whose values are anything, or that lacks some."""
    config = draw(sound())
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(config))
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        if draw(st.integers(0, 3)) == 0:
            del holder[key]
        else:
            holder[key] = draw(junk)
        if not config:
            break
    return config


def _places(node: Any) -> Iterator[tuple[dict[str, Any], str]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield node, key
            yield from _places(value)


anything = st.dictionaries(
    st.sampled_from(
        ["model_type", "architectures", "hidden_size", "num_attention_heads", "rope_theta",
         "rope_scaling", "rope_parameters", "head_dim", "text_config", "num_hidden_layers",
         "max_position_embeddings", "layer_types", "auto_map", "n_layers", "dim", "é", "a/b~c"]
    ),
    junk | st.sampled_from(["llama", "gemma3_text", "phi3", ["LlamaForCausalLM"]]),
    max_size=8,
)  # fmt: skip


def asked(config: dict[str, Any], file: str = "config.json") -> Request:
    document = parse(json.dumps(config), file)
    try:
        reading = Reading(target=file, format="hf-config", document=document)
        reference = read(reading, ()) if file == "config.json" else None
    except InvalidValue:
        reference = None
    return Request(document=document, reference=reference)


def told(engine: Engine, release: Release, request: Request) -> Built | str:
    """What is built, or the clause that says why nothing is; any other exception is a fault."""
    try:
        return engine.build(request, release)
    except (Refuses, NotCovered, InvalidValue) as error:
        return str(error)


def is_clause(reason: str) -> bool:
    """One clause: a line that ends without a full stop and has no second sentence in it."""
    outside = reason.split('"')[::2]  # what is quoted comes from the file
    return (
        bool(reason.strip())
        and "\n" not in reason
        and not reason.endswith((".", ":", ";", ","))
        and not any(". " in part for part in outside)
    )


def check(release: Release, request: Request, found: Built | str) -> None:
    if isinstance(found, str):
        assert is_clause(found), found
        return
    names = [s.name for s in found.schedules]
    assert len(names) == len(set(names)), names
    for s in found.schedules:
        assert s.reader == release.name
        assert s.inv_freq
        assert all(math.isfinite(f) for f in s.inv_freq), s.name
        assert math.isfinite(s.attention_scaling)
        assert math.isfinite(s.softmax_scale)
        assert s.pairing in ("half", "interleaved")
        if s.is_text:  # of an odd width the last channel has no partner of its own
            assert len(s.inv_freq) == (s.rotary_dim + 1) // 2
    assert len(set(found.ignored)) == len(found.ignored)
    for pointer in found.ignored:
        assert stated(request.document, pointer), pointer


def stated(document: Document, pointer: str) -> bool:
    """Whether the file has this value."""
    node: Any = document.data
    for step in pointer.split("/")[1:]:
        keys = {escape(k): k for k in node} if isinstance(node, dict) else {}
        if step not in keys:
            return False
        node = node[keys[step]]
    return True


@pytest.mark.parametrize(("engine", "release"), ALL)
@FEW
@given(sound())
def test_a_sound_config_is_a_table_or_a_clause(
    engine: Engine, release: Release, config: dict[str, Any]
) -> None:
    request = asked(config)
    check(release, request, told(engine, release, request))


@pytest.mark.parametrize(("engine", "release"), ALL)
@settings(max_examples=25)
@given(broken())
def test_broken_values_are_a_table_or_a_clause(
    engine: Engine, release: Release, config: dict[str, Any]
) -> None:
    request = asked(config)
    check(release, request, told(engine, release, request))


@pytest.mark.parametrize(("engine", "release"), ALL)
@FEW
@given(anything, st.sampled_from(["config.json", "params.json"]))
def test_any_object_is_a_table_or_a_clause(
    engine: Engine, release: Release, config: dict[str, Any], file: str
) -> None:
    request = asked(config, file)
    check(release, request, told(engine, release, request))


@pytest.mark.slow
@settings(max_examples=1500)
@given(sound() | broken() | anything)
def test_many_more_configs_are_tables_or_clauses(config: dict[str, Any]) -> None:
    request = asked(config)
    for engine, release in releases():
        check(release, request, told(engine, release, request))


@FEW
@given(sound())
def test_the_same_config_gives_the_same_answers_in_any_order(config: dict[str, Any]) -> None:
    """Engines share a scratch space; what one leaves there must not change another."""
    together, everyone = asked(config), list(releases())
    first = {r.name: told(e, r, together) for e, r in everyone}
    random.Random(1).shuffle(everyone)
    again = asked(config)
    assert {r.name: told(e, r, again) for e, r in everyone} == first
    assert {r.name: told(e, r, asked(config)) for e, r in everyone} == first
    assert together.document.data == json.loads(json.dumps(config))


@FEW
@given(sound(), st.sampled_from(["/rope_theta", "/rope_scaling/factor", "/head_dim"]), st.data())
def test_an_override_is_read_as_if_it_stood_in_the_file(
    config: dict[str, Any], pointer: str, data: st.DataObject
) -> None:
    value = data.draw(st.sampled_from([32, 64.0, 20000.0, 3]))
    value = int(value) if pointer == "/head_dim" else value
    changed = asked(config).document.with_overrides({pointer: value})
    written = json.loads(json.dumps(changed.data))
    for engine, release in releases():
        over = told(engine, release, _request(changed))
        assert _numbers(over) == _numbers(told(engine, release, asked(written))), release.name


def _request(document: Document) -> Request:
    try:
        reading = Reading(target="config.json", format="hf-config", document=document)
        reference = read(reading, ())
    except InvalidValue:
        reference = None
    return Request(document=document, reference=reference)


def _numbers(found: Built | str) -> Any:
    """All but where values came from."""
    if isinstance(found, str):
        return "nothing"
    return [(s.name, s.inv_freq, s.attention_scaling, s.layers) for s in found.schedules]


def test_every_refusal_of_the_measured_cases_is_one_clause() -> None:
    for case in vectors()["cases"].values():
        request = asked(case["config"], case["file"])
        for engine, release in releases():
            check(release, request, told(engine, release, request))


def test_what_is_not_covered_has_a_reason() -> None:
    for config in ({}, {"model_type": "nobody"}, {"architectures": ["NobodyForCausalLM"]}):
        request = asked(config)
        for engine, release in releases():
            found = told(engine, release, request)
            assert isinstance(found, str)
            assert is_clause(found), (release.name, found)
