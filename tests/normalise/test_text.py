"""Changing values inside a JSON text: what is asked for changes, and not one byte more."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.document import escape, parse
from ropeaudit.normalise._bytes import decoded, encoded
from ropeaudit.normalise._text import Leaf, alike, leaf_of, rewrite

PRETTY = """{
  "model_type": "llama",
  "rope_theta": 1e6,
  "note": "caf\\u00e9 \\/ {\\"rope_theta\\": 1}",
  "rope_scaling": {
    "type": "linear",
    "factor":   4.0
  },
  "eos": [1, 2]
}
"""


def test_what_says_the_same_keeps_its_spelling() -> None:
    same = {"/rope_theta": Leaf(1000000.0), "/eos": Leaf([1.0, 2]), "/gone": None}
    assert rewrite(PRETTY, same) == PRETTY
    assert '"rope_theta": 500000.0,' in rewrite(PRETTY, {"/rope_theta": Leaf(500000.0)})


def test_a_key_takes_the_place_of_its_other_spelling() -> None:
    settings = {"/rope_scaling/rope_type": Leaf("linear"), "/rope_scaling/type": None}
    wanted = PRETTY.replace('"type": "linear"', '"rope_type": "linear"')
    assert rewrite(PRETTY, settings) == wanted


def test_a_new_dict_stands_beside_the_old_one_and_looks_like_it() -> None:
    document = parse(PRETTY, "config.json")
    span = document._span("/rope_theta")
    assert span is not None
    base = leaf_of(PRETTY, *span, 1e6)
    settings = {
        "/rope_scaling/factor": Leaf(4.0),
        "/rope_scaling/rope_theta": base,
        "/rope_parameters/rope_type": Leaf("linear"),
        "/rope_parameters/rope_theta": base,
    }
    assert rewrite(PRETTY, settings) == PRETTY.replace(
        """    "factor":   4.0
  },
""",
        """    "factor":   4.0,
    "rope_theta": 1e6
  },
  "rope_parameters": {
    "rope_type": "linear",
    "rope_theta": 1e6
  },
""",
    )


def test_sorted_keys_stay_sorted() -> None:
    text = '{\n "a": 1,\n "m": 2,\n "z": 3\n}'
    assert rewrite(text, {"/n": Leaf(True)}) == '{\n "a": 1,\n "m": 2,\n "n": true,\n "z": 3\n}'
    assert rewrite(text, {"/zz": Leaf(0)}) == '{\n "a": 1,\n "m": 2,\n "z": 3,\n "zz": 0\n}'


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a":1,"b":{}}', '{"a":1,"b":{"c":[1,2]}}'),
        ('{"a": 1, "b": {}}', '{"a": 1, "b": {"c": [1, 2]}}'),
        (
            '{\r\n\t"a" : 1,\r\n\t"b" : {}\r\n}\r\n',
            '{\r\n\t"a" : 1,\r\n\t"b" : {\r\n\t\t"c" : [\r\n\t\t\t1,\r\n\t\t\t2\r\n\t\t]'
            "\r\n\t}\r\n}\r\n",
        ),
        (
            '{\n  "a": {"x": [1]}, "b": null\n}',
            '{\n  "a": {"x": [1]}, "b": {"c": [1, 2]}\n}',
        ),
    ],
)
def test_new_text_is_laid_out_as_the_file_is(text: str, wanted: str) -> None:
    assert rewrite(text, {"/b/c": Leaf([1, 2])}) == wanted


def test_lines_of_a_copied_list_move_with_it() -> None:
    text = '{\n  "a": {\n    "long": [\n      1.0,\n      2\n    ]\n  },\n  "b": 1\n}\n'
    span = parse(text, "c")._span("/a/long")
    assert span is not None
    made = rewrite(text, {"/c/d/long": leaf_of(text, *span, [1.0, 2])})
    copied = '"d": {\n      "long": [\n        1.0,\n        2\n      ]\n    }'
    assert copied in made
    assert text[:-4] in made


def test_true_is_no_one() -> None:
    assert alike(1, 1.0)
    assert alike({"a": [1, None]}, {"a": [1.0, None]})
    assert not alike(1, True)
    assert alike([float("nan")], [float("nan")])
    assert not alike({"a": 1}, {"b": 1})
    assert rewrite('{"truncate": 1}', {"/truncate": Leaf(True)}) == '{"truncate": true}'


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
) | st.text(max_size=6)
keys = st.text(max_size=5) | st.sampled_from(["type", "rope_type", "rope_theta", "a/b", "~"])
objects = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
SPACES = st.sampled_from(["", " ", "\n", "\r\n  ", "\t", "\n\n "])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """An object in a layout that no writer would choose."""

    def said(value: Any) -> str:
        gap = draw(SPACES)
        if isinstance(value, dict):
            inner = ",".join(
                f"{gap}{json.dumps(k, ensure_ascii=draw(st.booleans()))}{draw(SPACES)}:{said(v)}"
                for k, v in value.items()
            )
            return f"{gap}{{{inner}{draw(SPACES)}}}"
        if isinstance(value, list):
            return f"{gap}[{','.join(said(v) for v in value)}{draw(SPACES)}]"
        return f"{gap}{json.dumps(value)}{draw(SPACES)}"

    return said(draw(st.dictionaries(keys, objects, min_size=1, max_size=5)))


@given(texts(), keys, scalars)
def test_a_setting_does_what_it_says_and_is_undone_without_a_trace(
    text: str, key: str, value: Any
) -> None:
    before = json.loads(text)
    pointer = f"/{escape(key)}"
    after = rewrite(text, {pointer: Leaf(value)})
    assert json.loads(after) == before | {key: value}
    assert rewrite(after, {pointer: Leaf(value)}) == after
    gone = rewrite(after, {pointer: None})
    assert json.loads(gone) == {k: v for k, v in before.items() if k != key}
    if key not in before:
        assert gone == text


@given(texts(), keys, keys, scalars)
def test_dicts_are_made_on_the_way(text: str, outer: str, inner: str, value: Any) -> None:
    held = json.loads(text).get(outer)
    made = rewrite(text, {f"/{escape(outer)}/{escape(inner)}": Leaf(value)})
    kept = held if isinstance(held, dict) else {}
    assert json.loads(made)[outer] == kept | {inner: value}


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-16-le", "utf-32"],
)
def test_bytes_come_back_in_their_encoding(encoding: str) -> None:
    content = '{"a": "é\U0001f600"}'.encode(encoding)
    text = decoded(content)
    assert text == '{"a": "é\U0001f600"}'
    assert encoded(text, content) == content
    assert decoded(b'{"a": "\xff"}') is None
