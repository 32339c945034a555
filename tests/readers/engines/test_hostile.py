"""Real configs with hostile values where engines read: words, never a fault of ours."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.document import parse
from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Reading
from ropeaudit.readers.engines.compare import views
from ropeaudit.readers.engines.known import find
from ropeaudit.readers.transformers import read
from ropeaudit.schedule.views import View
from tests.engine_vectors import vectors

ZOO = Path(__file__).parents[3] / "fixtures" / "zoo"
SLOWEST = 2.0
"""Seconds of processor time for all releases: far above what any takes, far below a hang."""

NESTED: Any = {"text_config": {"text_config": {"text_config": {"text_config": None}}}}
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3, 1.5, -0.0, 1e-320, 1e308, float("inf"), float("-inf"),
    float("nan"), 10**399, -(10**30), 2**63, 2**31, "", "x", "yarn", "longrope", "mrope", "1e6",
    "\x1b[31m\u202e\n", [], [[]], [None], [0], [1.0], [1] * 64, [float("nan")] * 48, ["x"] * 32,
    {}, {"": None}, {"rope_type": None}, {"rope_type": {}}, {"rope_type": []},
    {"rope_type": "yarn"}, {"rope_type": "longrope", "factor": 0},
    {"type": "yarn", "rope_type": "linear", "factor": 2},
    {"rope_type": "yarn", "factor": float("inf")}, {"rope_theta": float("nan")},
    {"full_attention": None}, {"full_attention": {}, "sliding_attention": 7}, NESTED,
    [[[[[[]]]]]], "sliding_attention", ["full_attention"], ["sliding_attention"] * 3,
)  # fmt: skip
TOP = (
    "rope_theta", "rope_scaling", "rope_parameters", "head_dim", "text_config",
    "num_hidden_layers", "num_attention_heads", "hidden_size", "max_position_embeddings",
    "original_max_position_embeddings", "partial_rotary_factor", "rotary_dim", "layer_types",
    "no_rope_layers", "sliding_window_pattern", "architectures", "model_type", "auto_map",
    "qk_rope_head_dim", "rotary_pct", "vision_config", "attn_config", "n_layers", "yarn",
)  # fmt: skip
INNER = (
    "rope_type", "type", "factor", "short_factor", "long_factor", "attention_factor", "beta_fast",
    "beta_slow", "mscale", "mscale_all_dim", "original_max_position_embeddings", "truncate",
    "low_freq_factor", "high_freq_factor", "rope_theta", "partial_rotary_factor", "mrope_section",
    "alpha", "full_attention", "sliding_attention",
)  # fmt: skip


@cache
def sources() -> tuple[str, ...]:
    """Configs of real models and of the measured cases, as JSON text."""
    zoo = (p.read_text(encoding="utf-8") for p in sorted(ZOO.glob("*/config.json")))
    return (*zoo, *(json.dumps(case["config"]) for case in vectors()["cases"].values()))


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every place inside ``node``; long lists are one place."""
    keys: Iterator[Any] = iter(())
    if isinstance(node, dict):
        keys = iter(list(node))
    elif isinstance(node, list) and len(node) < 8:
        keys = iter(range(len(node)))
    for key in keys:
        yield node, key
        yield from places(node[key])


@st.composite
def hostile(draw: st.DrawFn) -> dict[str, Any]:
    """A real config with one to three hostile values."""
    config: dict[str, Any] = json.loads(draw(st.sampled_from(sources())))
    for _ in range(draw(st.integers(1, 3))):
        value = json.loads(json.dumps(draw(st.sampled_from(VALUES))))
        match draw(st.sampled_from(("there", "there", "top", "inner", "wrapped"))):
            case "there":
                found = [p for p in places(config) if p[1] in TOP or p[1] in INNER]
                if found:
                    holder, key = draw(st.sampled_from(found))
                    holder[key] = value
            case "top":
                config[draw(st.sampled_from(TOP))] = value
            case "inner":
                scaling = config.setdefault(
                    draw(st.sampled_from(("rope_scaling", "rope_parameters"))), {}
                )
                if isinstance(scaling, dict):
                    scaling[draw(st.sampled_from(INNER))] = value
            case _:
                kind = draw(st.sampled_from(("gemma3", "llama4", "mistral3", "qwen2_vl", "x")))
                named = config.get("architectures")
                config = {"model_type": kind, "architectures": named, "text_config": config}
    return config


def seen(config: dict[str, Any], lengths: tuple[int, ...], file: str) -> tuple[View, ...]:
    document = parse(json.dumps(config), file)
    try:
        reading = Reading(target=file, format="hf-config", document=document)
        reference = read(reading, lengths) if file == "config.json" else None
    except InvalidValue:
        reference = None
    against = () if reference is None else reference.schedules
    return views(document, find(["all"]), reference=reference, against=against, lengths=lengths)


def check(found: tuple[View, ...]) -> None:
    assert [v.reader for v in found] == [c.release.name for c in find(["all"])]
    for view in found:
        assert (view.reason is None) == (view.status == "ok"), view
        for said in (view.reason or "", *(n.message for n in view.notes)):
            assert said.isprintable(), said
            assert len(said) < 400, said
        assert not any(v != v for s in view.schedules for v in s.inv_freq), view.reader
        if view.distance is not None and not view.distance.same:
            assert view.distance.words, view


lengths = st.sampled_from([(), (), (4096,), (1, 10**9), (8192, 131072)])
files = st.sampled_from(["config.json", "config.json", "config.json", "params.json"])


@settings(max_examples=150)
@given(hostile(), lengths, files)
def test_hostile_values_are_told_in_words(
    config: dict[str, Any], lengths: tuple[int, ...], file: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROPEAUDIT_DEBUG", "1")  # a fault of ours is raised, not told
        start = time.process_time()
        check(seen(config, lengths, file))
        assert time.process_time() - start < SLOWEST


@pytest.mark.slow
@settings(max_examples=5000)
@given(hostile(), lengths, files)
def test_many_more_hostile_values_are_told_in_words(
    config: dict[str, Any], lengths: tuple[int, ...], file: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROPEAUDIT_DEBUG", "1")
        check(seen(config, lengths, file))


@pytest.mark.parametrize("depth", [50, 90, 900])
def test_deep_nesting_ends(depth: int) -> None:
    config: dict[str, Any] = {"model_type": "llama"}
    for _ in range(depth):
        config = {"model_type": "gemma3", "text_config": config}
    try:
        found = seen(json.loads(json.dumps(config)), (), "config.json")
    except InvalidValue as error:
        assert "nested" in str(error)
        return
    check(found)


@pytest.mark.parametrize("value", [{}, {"a": None}, dict.fromkeys((*TOP, *INNER))])
def test_nothing_to_read_is_not_covered_or_refused(value: dict[str, Any]) -> None:
    for file in ("config.json", "params.json"):
        found = seen(value, (), file)
        check(found)
        assert all(v.status != "ok" for v in found)


@pytest.mark.parametrize("file", ["config.json", "params.json"])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_beyond_any_float_are_refused(
    monkeypatch: pytest.MonkeyPatch, file: str, sign: int
) -> None:
    monkeypatch.setenv("ROPEAUDIT_DEBUG", "1")
    sizes = {"hidden_size": 512, "dim": 512, "num_attention_heads": 4, "num_hidden_layers": 2}
    value = sign * 10**350  # the document refuses more digits than 400
    check(seen({"model_type": "llama", **sizes, "rope_theta": value}, (), file))
