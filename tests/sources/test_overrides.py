"""Overrides: what the user writes, and where it lands in the config."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import UsageError
from ropeaudit.facts import Reading
from ropeaudit.resolve import resolve
from ropeaudit.sources.opening import open_target
from ropeaudit.sources.overrides import apply, parse
from tests import gguf_files

PLAIN: dict[str, Any] = {"model_type": "llama", "rope_theta": 1e4}
NESTED: dict[str, Any] = {"model_type": "gemma3", "text_config": {"rope_theta": 1e6, "x": 1}}


def reading(data: dict[str, Any]) -> Reading:
    return open_target("-", stdin=json.dumps(data).encode())


def applied(data: dict[str, Any], *texts: str) -> dict[str, Any]:
    found: dict[str, Any] = apply(reading(data), texts)[0].document.data
    return found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e6", 1e6),
        ("500000", 500000),
        ("-1", -1),
        ("true", True),
        ("null", None),
        ("None", None),
        ("False", False),
        ("yarn", "yarn"),
        ('"8"', "8"),
        ("[1, 2]", [1, 2]),
        ('{"factor": 4}', {"factor": 4}),
        ("a=b", "a=b"),
    ],
)
def test_values(text: str, value: Any) -> None:
    found = applied(PLAIN, f"some_key={text}")["some_key"]
    assert found == value
    assert type(found) is type(value)


def test_plain_and_dotted_keys() -> None:
    assert applied(PLAIN, "rope_theta=1e6")["rope_theta"] == 1e6
    found = applied(PLAIN, "rope_scaling.factor=4", "rope_scaling.rope_type=yarn")
    assert found["rope_scaling"] == {"factor": 4, "rope_type": "yarn"}
    assert PLAIN == {"model_type": "llama", "rope_theta": 1e4}


@pytest.mark.parametrize(
    "path",
    ["text_config", "thinker_config.text_config", "llm_config", "language_config"],
)
def test_position_keys_go_to_the_text_model(path: str) -> None:
    data: Any = {"rope_theta": 1e4}
    for step in reversed(path.split(".")):
        data = {step: data}
    found: Any = applied(data, "rope_theta=5", "rope_scaling.factor=2", "other=1")
    assert found["other"] == 1
    for step in path.split("."):
        found = found[step]
    assert found == {"rope_theta": 5, "rope_scaling": {"factor": 2}}


def test_a_path_from_the_top_is_taken_as_written() -> None:
    assert applied(NESTED, "text_config.rope_theta=5")["text_config"] == {"rope_theta": 5, "x": 1}
    assert applied(NESTED, "vision_config.rope_theta=5")["vision_config"] == {"rope_theta": 5}


def test_a_json_object_merges_parts_and_replaces_scaling() -> None:
    text = '{"text_config": {"rope_theta": 5}, "rope_scaling": {"rope_type": "yarn"}}'
    data = {"text_config": {"x": 1, "rope_scaling": {"factor": 8}}}
    found = applied(data, text)["text_config"]
    assert found == {"x": 1, "rope_theta": 5, "rope_scaling": {"rope_type": "yarn"}}


def test_later_ones_win() -> None:
    assert applied(PLAIN, "rope_theta=1", "rope_theta=2")["rope_theta"] == 2
    found = applied(PLAIN, "rope_scaling.factor=2", 'rope_scaling={"rope_type": "linear"}')
    assert found["rope_scaling"] == {"rope_type": "linear"}
    found = applied(PLAIN, 'rope_scaling={"rope_type": "linear"}', "rope_scaling.factor=2")
    assert found["rope_scaling"] == {"rope_type": "linear", "factor": 2}


def test_what_was_overridden_has_no_line() -> None:
    changed, lengths = apply(reading(PLAIN), ['rope_scaling={"rope_type": "yarn"}'])
    document = changed.document
    assert lengths == ()
    assert "/rope_scaling/rope_type" in document.overridden
    assert document.location("/rope_scaling/rope_type").line is None
    assert document.location("/rope_theta").line == 1


@pytest.mark.parametrize("text", ["max_model_len=32768", '{"max_model_len": 32768.0}'])
def test_the_engine_length_is_no_field(text: str) -> None:
    changed, lengths = apply(reading(PLAIN), [text])
    assert lengths == (32768,)
    assert changed.document.data == PLAIN


def test_without_a_config_nothing_is_changed_and_said() -> None:
    table = open_target("-", stdin=b"[1.0, 0.5]")
    changed, lengths = apply(table, ["rope_theta=1e6", "max_model_len=8"])
    assert [n.kind for n in changed.notes] == ["override_ignored"]
    assert lengths == (8,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rope_theta",
        "=1",
        "rope_theta=",
        "a..b=1",
        ".a=1",
        "{",
        '{"a": 1',
        '{"a": 1, "a": 2}',
        '{"": 1}',
        "a={b}",
        "a=[1",
        'a="b',
        "a=" + "9" * 5000,
        "a=" + "[" * 5000,
        "max_model_len=0",
        "max_model_len=-1",
        "max_model_len=1.5",
        "max_model_len=long",
        "max_model_len=true",
        "max_model_len=1e400",
        "max_model_len=NaN",
        "a\x1b[2J",
    ],
)
def test_what_cannot_be_understood_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="override") as caught:
        parse([text])
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@given(st.text(max_size=40))
@settings(max_examples=300)
def test_any_text_is_settings_or_a_usage_error(text: str) -> None:
    try:
        found = parse([text])
    except UsageError as error:
        assert str(error).isprintable()
    else:
        assert found.settings or found.length or not json.loads(text)


@given(key=st.from_regex(r"\A[a-z~/]{1,5}(\.[a-z~/]{1,5}){0,2}\Z"), value=st.integers(-99, 99))
@settings(max_examples=100)
def test_a_dotted_key_is_found_where_it_says(key: str, value: int) -> None:
    node: Any = applied({}, f"{key}={value}")
    for step in key.split("."):
        node = node[step]
    assert node == value


GGUF_KEYS = {
    "context_length": 4096,
    "embedding_length": 512,
    "attention.head_count": 4,
    "rope.freq_base": 10000.0,
}


@pytest.mark.parametrize(
    "text",
    [
        "rope_theta=5e5",
        "rope.freq_base=5e5",
        "llama.rope.freq_base=5e5",
        'rope_parameters={"rope_theta": 5e5}',
    ],
)
def test_gguf_takes_its_own_keys_and_the_config_words(tmp_path: Path, text: str) -> None:
    path = gguf_files.write(tmp_path / "m.gguf", "llama", GGUF_KEYS)
    (schedule,) = resolve(str(path), overrides=(text,)).schedules
    assert schedule.rope_theta == 5e5
    fact = schedule.fact("rope_theta")
    assert fact is not None
    assert fact.origin == "override"


def test_gguf_scaling_is_overridden_as_an_object(tmp_path: Path) -> None:
    path = gguf_files.write(tmp_path / "m.gguf", "llama", GGUF_KEYS)
    text = 'rope_scaling={"rope_type": "linear", "factor": 4.0}'
    (schedule,) = resolve(str(path), overrides=(text,)).schedules
    assert schedule.rope_type == "linear"
    assert schedule.inv_freq[0] == 0.25


@pytest.mark.parametrize("text", ["rope_scaling.truncate=false", "no_rope_layers=[1]", "x.y=1"])
def test_what_gguf_cannot_hold_is_said(tmp_path: Path, text: str) -> None:
    path = gguf_files.write(tmp_path / "m.gguf", "llama", GGUF_KEYS)
    subject = resolve(str(path), overrides=(text, "rope_theta=5e5"))
    (note,) = [n for n in subject.notes if n.kind == "override_without_effect"]
    assert text.partition("=")[0] in note.message
    assert subject.schedules[0].rope_theta == 5e5
