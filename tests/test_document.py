"""The JSON document: strict values, exact places, no surprises from hostile text."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.document import Document, escape, parse
from ropeaudit.errors import InvalidValue, SourceError, TruncatedFile

TEXT = '{\n "a": 1,\n "b": {"c": [1, 2e6,\n {"x": "}]"}], "t~/e": true},\n "z": 5E5}'


@pytest.mark.parametrize(
    ("pointer", "line", "spelling"),
    [
        ("/a", 2, "1"),
        ("/b/c/1", 3, "2e6"),
        ("/b/c/2/x", 4, '"}]"'),
        ("/b/t~0~1e", 4, "true"),
        ("/z", 5, "5E5"),
        ("/missing", None, None),
        ("/a/deeper", None, None),
    ],
)
def test_places_and_spellings(pointer: str, line: int | None, spelling: str | None) -> None:
    document = parse(TEXT, "config.json")
    assert document.location(pointer).line == line
    assert document.spelling(pointer) == spelling


scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8)
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=5), v, max_size=4)
)


@settings(max_examples=150)
@given(st.dictionaries(st.text(max_size=6), values, max_size=5), st.sampled_from([None, 1, "\t"]))
def test_every_value_is_found_where_it_stands(data: dict[str, Any], indent: Any) -> None:
    document = parse(json.dumps(data, indent=indent), "f")

    def walk(value: Any, pointer: str) -> None:
        spelling = document.spelling(pointer)
        assert spelling is not None
        assert json.loads(spelling) == value
        children = dict(enumerate(value)) if isinstance(value, list) else value
        for key, child in children.items() if isinstance(children, dict) else ():
            walk(child, f"{pointer}/{escape(str(key))}")

    walk(data, "")


@settings(max_examples=300)
@given(st.text(alphabet='{}[]",:0123456789eE.-+ntruefalsNI \n\\u\ufeff', max_size=60))
def test_any_text_parses_or_is_refused_in_one_sentence(text: str) -> None:
    try:
        document = parse(text, "f")
    except SourceError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(document.data, dict)
        document.location("/a/0/b")


def test_duplicate_key_is_refused() -> None:
    with pytest.raises(InvalidValue, match="'?rope_theta'? appears twice"):
        parse('{"rope_theta": 1, "rope_theta": 2}', "f")


def test_huge_integer_is_refused_quickly() -> None:
    with pytest.raises(InvalidValue, match="5000 digits"):
        parse('{"a": ' + "9" * 5000 + "}", "f")


def test_truncated_text_is_called_truncated() -> None:
    with pytest.raises(TruncatedFile):
        parse('{"a": [1, 2', "f")
    with pytest.raises(TruncatedFile, match="empty"):
        parse("  ", "f")


def test_ten_megabytes_of_nesting() -> None:
    with pytest.raises(SourceError):
        parse('{"a":' + "[" * 10_000_000, "f")


def test_non_finite_numbers_outside_positions_do_no_harm() -> None:
    # Official Mamba hybrids carry time_step_limit: [0.0, Infinity].
    assert parse('{"time_step_limit": [0.0, Infinity]}', "f").data["time_step_limit"][0] == 0.0


def test_overrides_keep_the_original_untouched() -> None:
    document = parse('{"text_config": {"rope_theta": 1}}', "f")
    changed = document.with_overrides({"/text_config/rope_theta": 5, "/new/key": 7})
    assert changed.data == {"text_config": {"rope_theta": 5}, "new": {"key": 7}}
    assert document.data == {"text_config": {"rope_theta": 1}}
    assert changed.location("/text_config/rope_theta").line is None
    assert isinstance(changed, Document)


def test_places_of_many_keys_are_found_in_linear_time() -> None:
    count = 20_000
    document = parse("{\n" + ",\n".join(f'"rope_{i}": {i}' for i in range(count)) + "}", "f")
    start = time.perf_counter()
    lines = [document.location(f"/rope_{i}").line for i in range(count)]
    assert time.perf_counter() - start < 2
    assert lines == list(range(2, count + 2))
