"""A format that does not exist: what is named instead fits the command, and works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ropeaudit.cli.app import run

Capture = pytest.CaptureFixture[str]

COMMANDS = {
    "audit": ["x"],
    "show": ["x"],
    "diff": ["x", "y"],
    "convert": ["x", "--to", "ape"],
    "normalise": ["x"],
    "perturb": ["x", "--apply", "int8:sym"],
    "ppl": ["x"],
    "probe": ["kernel", "--basis", "none"],
    "prove": ["x"],
    "rules": [],
    "explain": ["RA101"],
}
OWN = {"normalise": {"diff"}, "ppl": {"csv", "markdown"}, "probe": {"csv", "markdown"}}
OWN |= {"prove": {"markdown"}, "diff": {"markdown"}, "audit": {"markdown", "github"}}
REFUSED = re.compile("no report format|is for findings|cannot show schedules")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")


def refusal(capsys: Capture, command: str, *more: str) -> str:
    run([command, *COMMANDS[command], *more])
    said = capsys.readouterr().err
    return said if REFUSED.search(said) else ""


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_formats_that_are_named_are_those_of_the_command(command: str, capsys: Capture) -> None:
    for given in (["-f", "yaml"], ["-o", "yaml=out.yaml"]):
        said = refusal(capsys, command, *given)
        known = set(re.findall(r"[\w-]+", said.partition("known: ")[2]))
        assert known == {"console", "json", "json-v1"} | OWN.get(command, set())
    every = {"console", "json", "json-v1", "github", "markdown", "csv", "diff"}
    works = {name for name in every if not refusal(capsys, command, "-f", name)}
    assert works == known
