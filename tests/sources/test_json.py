"""JSON text as files hold it: recognised, decoded, bounded, and said where it ends."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.document import MAX_DEPTH, loads, parse
from ropeaudit.errors import InvalidValue, SourceError, TruncatedFile, quoted, quoted_path
from ropeaudit.sources._json import document_of, opening_bracket, text_of

ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", ['{"a": 1}', " \n[1, 2]", '{\n"é": "\U0001f600"}'])
def test_every_encoding_is_recognised_and_decoded(encoding: str, text: str) -> None:
    data = text.encode(encoding)
    assert opening_bracket(data) == text.strip()[0]
    assert json.loads(text_of(data, "x").removeprefix("\ufeff")) == json.loads(text)


@pytest.mark.parametrize(
    "data",
    [b"", b" ", b"\xef\xbb\xbf", b"\xff\xfe", b"GGUF", b"\x93NUMPY", b"1.0", b'"a"', b"PK\3\4",
     b"{\0\0\0\0\0\0\0{", b"[\0\0\0\0\0\0\0{", b"{\1\0\0\0\0\0\0{"],
)  # fmt: skip
def test_what_begins_no_json(data: bytes) -> None:
    assert opening_bracket(data) is None


def test_errors_name_the_file() -> None:
    for data in (
        b"{",
        b"[1]",
        b'{"a":1,"a":2}',
        b"\xff",
        b'{"a":' + b"1" * 500 + b"}",
        b"[" * 9999,
    ):
        with pytest.raises(SourceError, match=r"^some/file\.json"):
            document_of(data, "some/file.json")


@given(st.sampled_from(['{"a": [true, false, null, "xyz", {"b": "c"}]}']), st.integers(0, 44))
def test_a_cut_document_is_truncated(text: str, size: int) -> None:
    with pytest.raises(TruncatedFile):
        parse(text[:size], "x")


def test_depth_is_bounded_for_those_who_walk() -> None:
    assert loads("[" * MAX_DEPTH + "]" * MAX_DEPTH, "x")
    with pytest.raises(InvalidValue, match=f"deeper than any config \\({MAX_DEPTH} levels"):
        loads("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "x")
    wide = json.dumps([[i] for i in range(10 * MAX_DEPTH)])
    assert len(loads(wide, "x")) == 10 * MAX_DEPTH


def test_overrides_reach_everything_below() -> None:
    document = parse('{"a": {"b": 1}}', "x").with_overrides({"/a": {"b": [1, {"c/d": 2}]}})
    assert document.overridden == {"/a", "/a/b", "/a/b/0", "/a/b/1", "/a/b/1/c~1d"}


def test_foreign_text_is_cut_before_it_is_escaped() -> None:
    assert quoted("\x1b[2J") == "\\x1b[2J"
    assert len(quoted("a" * (50 << 20))) == 80
    assert quoted([1 << 20_000]) == "a list"
    assert quoted_path("/a/b.json") == "/a/b.json"
    assert quoted_path("x" * 1000 + "/name.json").endswith("/name.json")
    assert len(quoted_path("x" * 1000)) == 240
