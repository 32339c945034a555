"""Words for values that do not fit: JSON's spelling, short, with the next step."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.errors import MAX_QUOTED, quoted, shown, unexpected

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON)
def test_values_are_shown_as_json_in_one_short_printable_line(value: object) -> None:
    text = shown(value)
    assert text.isprintable()
    assert len(text) <= 2 * MAX_QUOTED
    if text.isascii() and not text.endswith("…") and "\\" not in text and "bits" not in text:
        again = json.loads(text)
        assert again == value or json.dumps(again) == json.dumps(value)


@pytest.mark.parametrize("value", [10**400, {1, 2}, b"x", float], ids=repr)
def test_what_json_cannot_hold_is_quoted(value: object) -> None:
    assert shown(value) == quoted(value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("1e6", 'rope_theta is the string "1e6", expected a number; write it without quotes'),
        ("big", 'rope_theta is the string "big", expected a number; correct it'),
        ("nan", 'rope_theta is the string "nan", expected a number; correct it'),
        (None, "rope_theta is null, expected a number; give it a value, or remove the key"),
        (True, "rope_theta is true, expected a number; correct it"),
        (math.nan, "rope_theta is NaN, expected a number; correct it"),
        (-math.inf, "rope_theta is -Infinity, expected a number; correct it"),
        ([1, "a"], 'rope_theta is [1, "a"], expected a number; correct it'),
    ],
)
def test_an_unexpected_value_says_what_it_is_and_what_to_do(value: object, said: str) -> None:
    error = unexpected("rope_theta", value, "a number", where="/rope_theta")
    assert str(error) == said
    assert error.where == "/rope_theta"
