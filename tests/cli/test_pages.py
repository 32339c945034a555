"""Help, the catalogue of rules, and the explanation of one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ropeaudit._version import __version__
from ropeaudit.cli.app import command_names, run
from ropeaudit.report._perplexity import check_format


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def config() -> str:
    fields = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8}
    Path("config.json").write_text(json.dumps(fields))
    return "config.json"


def test_version_help_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"ropeaudit {__version__}\n"
    assert {"audit", "explain", "rules", "show"} <= set(command_names())
    assert run(["--help"]) == 0
    page = capsys.readouterr().out
    for name in command_names():
        assert f"\n  {name}" in page
        assert run([name, "-h"]) == 0
        assert "Examples:" in capsys.readouterr().out
    assert run([]) == 2


def test_rules_and_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "-f", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["packs"][0]["name"] == "core"
    ids = [r["id"] for r in listed["rules"]]
    assert ids == sorted(ids)
    for rule in listed["rules"]:
        lines = Path(rule["source"]["file"]).read_text().splitlines()
        assert rule["id"] in lines[rule["source"]["line"] - 1]
        assert Path(rule["source"]["check"]).is_file()
    assert run(["rules", "--rules", "core", "-v"]) == 0
    assert "RA101" in capsys.readouterr().out
    for name in ("RA101", "ra101", "duplicate-frequency"):
        assert run(["explain", name]) == 0
        assert "What it checks" in capsys.readouterr().out
    assert run(["explain", "RA101", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert next(iter(found["sections"])) == "What it checks"
    assert found["severities"]["core"] == "error"


TARGETS = {
    "convert": ["config.json", "--to", "ape"],
    "diff": ["config.json", "config.json"],
    "explain": ["RA101"],
    "perturb": ["config.json", "--apply", "cast:bf16"],
    "probe": ["kernel", "--length", "32", "--lengths", "64", "--basis", "rope"],
    "rules": [],
}
"""What a command is run with where one config is not it."""


def test_help_promises_only_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    config()
    for command in command_names():
        assert run([command, "--help"]) == 0
        page = " ".join(capsys.readouterr().out.split())
        offered = re.search(r"What goes to standard output: (.*?)\.", page)
        assert offered, command
        for name in re.findall(r"\b(?:console|json|github|markdown|csv|diff)\b", offered[1]):
            if command == "ppl":  # what it would write it first has to measure
                check_format(name)
                continue
            target = TARGETS.get(command, [config()])
            # 1 is a verdict; what a command cannot write is 2.
            assert run([command, *target, "-f", name]) in (0, 1), (command, name)
            capsys.readouterr()
        assert "<" not in page
        # What stands for a number in the name of a tensor is meant as it is.
        assert "{" not in page.replace("{layer}", "")
    assert run(["audit", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: ropeaudit audit [OPTIONS] TARGET...")
    assert run(["diff", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: ropeaudit diff [OPTIONS] A B\n")


def test_an_own_pack_is_explained_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "name: ours\nversion: 1\nrules:\n  - id: OURS1\n    name: alike\n"
        "    check: duplicate-frequency\n    severity: warning\n    with: {max_cluster: 2}\n"
        "    applies_to: [vision, audio]\n    why: Because.\n"
    )
    Path("ours.yaml").write_text(text)
    assert run(["explain", "alike", "--rules", "ours.yaml"]) == 0
    page = capsys.readouterr().out
    assert "  with      max_cluster 2\n  for       vision, audio\n" in page
    Path("ours.yaml").write_text(text.replace("severity", "severty"))
    assert run(["explain", "alike", "--rules", "ours.yaml"]) == 2
    told = capsys.readouterr().err
    assert "ours.yaml: rule OURS1, line 7: unknown key severty; did you mean severity?" in told
