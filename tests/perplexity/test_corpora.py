"""Texts: by name, from files and folders, and what is refused with one sentence."""

from __future__ import annotations

import hashlib
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.errors import LfsPointer, MissingDependency, SourceError, UsageError
from ropeaudit.perplexity import corpora
from ropeaudit.perplexity.corpora import _place, files, interface, pydoc_topics
from ropeaudit.perplexity.corpora._place import PRESETS, Place, parse


def test_every_kind_conforms_and_no_name_is_given_twice() -> None:
    kinds = interface.kinds()
    assert len(kinds) >= 3
    assert sum(len(kind.NAMES) for kind in kinds) == len(corpora.names())
    for kind in kinds:
        assert not kind.claims("no such text")
        for name, about in kind.NAMES.items():
            assert "\n" not in name + about
            assert len(about) > 20


def test_the_default_text_is_the_language_reference_by_name_of_topic() -> None:
    from pydoc_data.topics import topics

    found = corpora.load("pydoc_topics", offline=True)
    assert found.text == "\n\n".join(topics[name] for name in sorted(topics))
    assert found.sha256 == hashlib.sha256(found.text.encode()).hexdigest()
    assert found.name == "pydoc_topics"
    assert sys.version.split()[0] in found.source


def test_what_is_held_out_is_the_last_tenth_of_the_bytes() -> None:
    whole = corpora.load("pydoc_topics").text
    held = corpora.load("pydoc_topics:held-out")
    assert whole.endswith(held.text)
    assert abs(len(held.text.encode()) - len(whole.encode()) // 10) <= 3
    assert held.name == "pydoc_topics:held-out"


@given(st.text())
def test_the_last_tenth_begins_with_a_whole_character(text: str) -> None:
    held = pydoc_topics.last_tenth(text)
    assert text.endswith(held)
    assert 0 <= len(text.encode()) // 10 - len(held.encode()) <= 3


def test_a_python_without_its_reference_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(SourceError, match="no pydoc_data.topics.*--corpus"):
        corpora.load("pydoc_topics")


def test_a_file_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    data = "naïve\r\ntext \n".encode()
    path.write_bytes(data)
    found = corpora.load(str(path))
    assert found.text.encode() == data
    assert found.sha256 == hashlib.sha256(data).hexdigest()
    assert found.name == str(path)
    path.write_bytes(b"\xef\xbb\xbf" + data)
    assert corpora.load(f"file://{path}").text.encode() == data


def test_a_folder_is_its_text_files_by_path(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.md", "a/b.RST", "a.txt", "c.bin", ".hidden.txt", ".git/x.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\xff\0" if name == "c.bin" else name.encode())
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    found = corpora.load(str(tmp_path))
    assert found.text == "a/b.RST\n\na/z.md\n\na.txt\n\nb.txt"
    assert found.source == f"{tmp_path}: 4 files, 1 of other kinds left out"


def test_a_name_goes_before_a_file_and_a_path_reaches_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pydoc_topics").write_text("mine")
    assert len(corpora.load("pydoc_topics").text) > 1000
    assert corpora.load("./pydoc_topics").text == "mine"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"good \xe4 text", r"a\.txt is not UTF-8 at byte 5 \(0xe4\); convert it"),
        (b"\xef\xbb\xbfcut \xe2\x82", r"a\.txt is not UTF-8 at byte 7 \(0xe2\)"),
        (b"PK\x03\x04\0\0", r"a\.txt is not text: there is a zero at byte 4"),
        ("wide".encode("utf-16"), r"a\.txt is UTF-16, expected UTF-8"),
        (b"", r"a\.txt holds no text"),
        (b" \n\t\n", r"a\.txt holds no text"),
    ],
)
def test_what_is_no_text_is_named_with_file_and_byte(
    tmp_path: Path, data: bytes, said: str
) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    for where in (tmp_path / "a.txt", tmp_path):
        if where == tmp_path and not data.strip():
            continue
        with pytest.raises(SourceError, match=said) as caught:
            corpora.load(str(where))
        assert "\n" not in str(caught.value)


def test_a_pointer_is_not_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    with pytest.raises(LfsPointer, match="git lfs pull"):
        corpora.load(str(path))


def test_a_folder_without_text_says_what_it_looked_for(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"\0")
    with pytest.raises(UsageError, match=r"holds no file of text; expected \.adoc"):
        corpora.load(str(tmp_path))


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="is a named pipe"):
        corpora.load(str(tmp_path / "pipe"))


def test_a_broken_link_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "gone")
    with pytest.raises(SourceError, match="does not exist"):
        corpora.load(str(tmp_path / "a.txt"))


def test_too_much_text_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST", 1 << 20)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"x" * 600_000)
    assert corpora.load(str(tmp_path / "a.txt")).text
    with pytest.raises(UsageError, match=r"larger than 1 MiB with .*b\.txt; take a part"):
        corpora.load(str(tmp_path))


def test_a_slip_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="did you mean wikitext-2?"):
        corpora.load("wikitext2")
    with pytest.raises(UsageError, match=r"known: c4, pg19.*a data set is hf:org/name"):
        corpora.load("org/name")
    with pytest.raises(UsageError, match=r"no text a\\x1bb"):
        corpora.load("a\x1bb")


def test_presets_are_pinned_to_whole_commits() -> None:
    for place in PRESETS.values():
        assert place.revision is not None
        assert len(place.revision) == 40
        assert int(place.revision, 16)
        assert place.files
        assert place.split
        assert place.column == "text"


@pytest.mark.parametrize(
    ("spelled", "place"),
    [
        ("hf:a/b", Place(repo="a/b")),
        ("hf:a/b@v1", Place(repo="a/b", revision="v1")),
        ("hf:a/b:c:d:e", Place(repo="a/b", config="c", split="d", column="e")),
        ("hf:a/b@v1::train", Place(repo="a/b", revision="v1", split="train")),
        ("hf:./x@y:c", Place(repo="./x@y", local=True, config="c")),
        ("hf:/x/y:::body", Place(repo="/x/y", local=True, column="body")),
    ],
)
def test_data_sets_are_spelled_in_parts(spelled: str, place: Place) -> None:
    assert parse(spelled) == place


@pytest.mark.parametrize(
    "wrong", ["hf:", "hf:a", "hf:a/b@", "hf:a/b/c", "hf:ä/b", "hf:a/b:1:2:3:4"]
)
def test_what_is_no_data_set_is_refused_with_the_form(wrong: str) -> None:
    with pytest.raises(UsageError, match="hf:org/name"):
        corpora.load(wrong)


@pytest.mark.parametrize("name", ["wikitext-2", "hf:a/b", "hf:./folder"])
def test_without_the_extra_the_install_line_is_said(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "ropeaudit.perplexity.corpora.hf_dataset.find_spec",
        lambda package: None if package == "datasets" else find_spec(package),
    )
    with pytest.raises(MissingDependency, match=r"pip install 'ropeaudit\[datasets\]'"):
        corpora.load(name)


def test_no_name_looks_like_a_path_or_a_data_set() -> None:
    for name in corpora.names():
        assert "/" not in name
        assert not name.startswith(_place.PREFIX)
