"""Precedence of settings, and errors for what is not known."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ropeaudit.config import MAX_FILE_BYTES, Settings, load
from ropeaudit.errors import ConfigError


def _file(folder: Path, text: str, name: str = "pyproject.toml") -> Path:
    (folder / name).write_text(text)
    return folder


def test_defaults() -> None:
    assert load({}, env={}) == Settings()


def test_precedence_and_origins(tmp_path: Path) -> None:
    folder = _file(
        tmp_path,
        '[tool.ropeaudit]\nfail-on = "info"\ncolor = "never"\noffline = true\ncontext = [9, 8]\n',
    )
    found = load(
        {"fail_on": "error", "color": None, "rules": []},
        env={"ROPEAUDIT_FAIL_ON": "warning", "ROPEAUDIT_COLOR": "always", "ROPEAUDIT_DEBUG": "1"},
        folder=folder,
    )
    assert (found.fail_on, found.color, found.offline) == ("error", "always", True)
    assert found.context == (8, 9)
    assert found.origin("fail_on") == "command line"
    assert found.origin("color") == "ROPEAUDIT_COLOR"
    assert found.origin("offline") == str(folder / "pyproject.toml")
    assert found.origin("rules") == "default"
    assert "fail_on = error  (command line)" in found.lines()
    assert "context = 8, 9" in "\n".join(found.lines())


def test_nearest_file_wins_and_packs_are_named_from_it(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    _file(tmp_path, '[tool.ropeaudit]\nrules = ["core", "ci/mine.yaml"]\n')
    _file(inner.parent, '[project]\nname = "ropeaudit-user"\n')  # no table: looked past
    assert load({}, env={}, folder=inner).rules == ("core", str(tmp_path / "ci/mine.yaml"))
    _file(inner, 'rules = "strict"\n', "ropeaudit.toml")
    assert load({}, env={}, folder=inner).rules == ("strict",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('fail_onn = "error"', "unknown setting fail_onn; did you mean fail_on"),
        ('fail-onn = "error"', "did you mean fail-on"),
        ('fail_on = "fatal"', "is fatal, expected error, warning or info"),
        ("offline = 3", "expected true or false"),
        ("rules = 3", "expected a list of names"),
        ("rules = []", "at least one name"),
        ("context = 1.5", "whole numbers"),
        ("context = 0", "lengths from 1"),
        ("context = true", "whole numbers"),
        ("format = 1", "expected a word"),
        ("fail-on = 'error'\nfail_on = 'error'", "stands twice"),
        ("x = ", "not valid TOML"),
        ("x = " + "[" * 100_000, "nested too deep"),
        ("context = 99999999999999999999", "lengths from 1 to 1000000000000"),
    ],
)
def test_wrong_files_say_what_and_where(tmp_path: Path, text: str, message: str) -> None:
    folder = _file(tmp_path, text, "ropeaudit.toml")
    with pytest.raises(ConfigError, match=message) as caught:
        load({}, env={}, folder=folder)
    assert "ropeaudit.toml" in str(caught.value)


@pytest.mark.parametrize("kind", ["folder", "pipe", "large"])
def test_settings_that_cannot_be_read_are_not_passed_over(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "ropeaudit.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(ConfigError, match="is no settings file"):
        load({}, env={}, folder=tmp_path)


def test_wrong_table(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a table"):
        load({}, env={}, folder=_file(tmp_path, "[tool]\nropeaudit = 3\n"))


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"ROPEAUDIT_FAILON": "error"}, "ROPEAUDIT_FAILON is no setting.*mean ROPEAUDIT_FAIL_ON"),
        ({"ROPEAUDIT_OFFLINE": "maybe"}, "ROPEAUDIT_OFFLINE is maybe"),
        ({"ROPEAUDIT_CONTEXT": "8k"}, "whole numbers"),
    ],
)
def test_wrong_variables(env: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load({}, env=env)


def test_context_lists() -> None:
    assert load({"context": ["8192,4096", "16384"]}, env={}).context == (4096, 8192, 16384)
    assert load({}, env={"ROPEAUDIT_CONTEXT": "8192, 4096"}).context == (4096, 8192)
    for digits in ("9" * 5000, "1000000000000000"):
        with pytest.raises(ConfigError, match="--context is .*lengths from 1 to"):
            load({"context": [digits]}, env={})


def test_readers_are_lists_with_or_without_commas(tmp_path: Path) -> None:
    assert load({"reader": ["vllm, tgi", "all"]}, env={}).reader == ("vllm", "tgi", "all")
    assert load({}, env={"ROPEAUDIT_READER": "vllm,tgi"}).reader == ("vllm", "tgi")
    folder = _file(tmp_path, '[tool.ropeaudit]\nreader = ["vllm", "llama.cpp"]\n')
    assert load({}, env={}, folder=folder).reader == ("vllm", "llama.cpp")


@pytest.mark.parametrize(
    "text",
    [
        "[tool.ropeaudit]\noffline = true",
        "[ tool . ropeaudit ]\noffline = true",
        '[tool."ropeaudit"]\noffline = true',
        "[tool]\nropeaudit = {offline = true}",
        "tool = {ropeaudit = {offline = true}}",
        "tool.ropeaudit.offline = true",
    ],
)
def test_every_spelling_of_the_table_is_seen(tmp_path: Path, text: str) -> None:
    assert load({}, env={}, folder=_file(tmp_path, text)).offline
