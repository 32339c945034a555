"""What the user states about a learned encoding on the command line, and what is said of slips."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.cli.app import run
from tests.make_layout_fixtures import FOLDER

GRID = str(FOLDER / "ape_grid.safetensors")
TREE = str(FOLDER / "ape_tree.pt")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["show", *arguments, "-f", "json"]) == 0
    (subject,) = json.loads(capsys.readouterr().out)["subjects"]
    (encoding,) = subject["encodings"]
    found: dict[str, Any] = encoding
    return found


def test_defaults_are_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, GRID)
    assert found["kind"] == "ape-sequence"
    assert {"ape-layout", "ape-skew"} <= set(found["assumed"])


def test_key_and_value(capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, GRID, "--encoding", "grid=8x8", "--encoding", "test-grid=12x12")
    assert found["kind"] == "ape-grid"
    assert found["positions"]["trained"] == [8, 8]
    assert found["positions"]["used"] == [12, 12]


def test_options_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, GRID, "--ape-skew", "tril")
    assert found["settings"]["ape-skew"] == "tril"
    assert "ape-skew" not in found["assumed"]
    found = shown(capsys, TREE, "--ape-tree-layout", "per-head-sos")
    assert found["settings"]["dead_matrices"] == []


def test_audit_takes_them_too(capsys: pytest.CaptureFixture[str]) -> None:
    dead = []
    for layout in ("head-shared", "per-head-sos"):
        run(["audit", TREE, "--ape-tree-layout", layout, "-f", "json"])
        (subject,) = json.loads(capsys.readouterr().out)["subjects"]
        found = [f for f in subject["findings"] if f["name"] == "dead-parameters"]
        dead.append(any(f["evidence"]["dead_matrices"] for f in found))
    assert dead == [True, False]


def test_an_option_that_nothing_reads_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, GRID, "--encoding", "theta=10", "--encoding", "grid=8x8")
    assert "ape-grid has no option theta: nothing changes by it" in [
        n["message"] for n in found["notes"]
    ]


def test_heads_have_to_be_those_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, GRID, "--encoding", "heads=4")["heads"] == 4
    assert run(["show", GRID, "--encoding", "heads=7"]) == 2
    assert "expected matrices of 7 heads as stated, and not 4" in " ".join(
        capsys.readouterr().out.split()
    )


def test_an_encoding_counts_as_audited() -> None:
    assert run(["show", GRID]) == 0
    assert run(["audit", GRID, "--exit-zero"]) == 0


@pytest.mark.parametrize("command", ["show", "audit"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--encoding", "grid"], "grid is not KEY=VALUE, such as grid=14x14"),
        (["--encoding", "gird=8x8"], "gird is no option of an encoding"),
        (["--encoding", "grid=8x8x8x8"], "grid is 8x8x8x8, expected"),
        (["--ape-skew", "upper"], "ape-skew is upper, expected full or tril"),
        (["--ape-tree-layout", "flat"], "ape-tree-layout is flat, expected head-shared or"),
    ],
)
def test_slips(
    command: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = TREE if "--ape-tree-layout" in arguments else GRID
    assert run([command, target, *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_broken_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    from tests.encodings.make import write

    values = np.ones((2, 4, 4), np.float32)
    values[0, 1, 2] = np.nan
    write(tmp_path / "a.safetensors", {"positional_encoder._primitives": values})
    assert run(["audit", str(tmp_path / "a.safetensors")]) == 2
    assert "nan at [0, 1, 2], expected finite numbers" in capsys.readouterr().out


def test_an_option_where_there_is_no_encoding_is_said_to_do_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = {
        "model_type": "llama", "hidden_size": 64, "num_attention_heads": 1, "num_hidden_layers": 1,
        "rope_theta": 1e4, "max_position_embeddings": 64,
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    for given in (["--encoding", "grid=14x14"], ["--ape-skew", "tril"]):
        assert run(["show", str(path), *given, "-f", "json"]) == 0
        (subject,) = json.loads(capsys.readouterr().out)["subjects"]
        assert [n["kind"] for n in subject["notes"]] == ["option_without_effect"]
    assert run(["show", str(path), "-f", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["subjects"][0]["notes"] == []
    for command in (["audit", str(path)], ["diff", str(path), str(path)]):
        for form in ("console", "markdown"):
            assert run([*command, "--encoding", "grid=14x14", "-f", form]) == 0
            text = " ".join(capsys.readouterr().out.split())
            assert "no learned encoding in this target: grid changes nothing" in text
