"""``normalise`` from the outside: the diff, what it writes, what it says, and how it ends."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ropeaudit.cli.app import run
from tests.cli.configs import LLAMA3
from tests.report.test_schemas import _closed, _schema

NEW = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 128,
    "intermediate_size": 128,
    "rms_norm_eps": 1e-05,
    "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    Path("model/config.json").write_text(json.dumps(LLAMA3, indent=2) + "\n")
    Path("new.json").write_text(json.dumps(NEW, indent=1))
    Path("bert.json").write_text('{"model_type": "bert", "hidden_size": 64}')


def document(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> Any:
    assert run(["normalise", *arguments, "-f", "json"]) == code
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(out)
    Draft202012Validator(_closed(_schema("normalise-1.json"))).validate(found)
    return found


def patched(text: str, diff: str) -> str:
    """``text`` with a unified diff applied, as patch does it."""
    lines, out, at = text.splitlines(keepends=True), [], 0
    for hunk in re.split(r"^(?=@@ )", diff, flags=re.M)[1:]:
        head, *body = hunk.splitlines(keepends=True)
        match = re.match(r"@@ -(\d+)", head)
        assert match
        start = int(match[1]) - 1
        out += lines[at:start]
        at, kept = start, False
        for line in body:
            if line.startswith("\\"):
                if kept:
                    out[-1] = out[-1].removesuffix("\n")
                continue
            kept = line[0] in " +"
            if line[0] in " -":
                assert lines[at].removesuffix("\n") == line[1:].removesuffix("\n")
                at += 1
            if kept:
                out.append(line[1:])
    return "".join(out + lines[at:])


def test_the_change_is_shown_and_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("new.json").read_text()
    assert run(["normalise", "new.json"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("--- new.json\n+++ new.json\n@@ ")
    assert '\n+ "rope_theta": 500000.0,\n' in out
    assert "new.json  1 change proposed; --write writes\n  agree    9 → 16 of 16" in out
    assert "gained: transformers-4.57, transformers-4.46" in out
    assert Path("new.json").read_text() == before


def test_the_diff_is_a_patch_that_leads_to_what_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for target in ("new.json", "model/config.json"):
        before = Path(target).read_text()
        assert run(["normalise", target, "-f", "diff"]) == 1
        out, err = capsys.readouterr()
        assert err == ""
        assert run(["normalise", target, "--write", "-f", "diff"]) == 0
        assert capsys.readouterr().out == out
        assert Path(target).read_text() == patched(before, out)
        assert run(["normalise", target, "-f", "diff"]) == 0
        assert capsys.readouterr() == ("", "")


def test_a_written_file_is_normal_and_says_who_is_still_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["normalise", "model", "--write"]) == 0
    assert "model/config.json  2 changes, written" in capsys.readouterr().out
    assert run(["normalise", "model"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("model/config.json  normal already\n")
    assert "ctranslate2+tf5.20" in out
    assert "llama3 scaling by 8 lost" in out


def test_json_says_all(capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = document(capsys, 1, "model")["files"]
    assert (one["status"], one["file"], one["written"]) == ("changed", "model/config.json", False)
    assert [c["pointer"] for c in one["changes"]] == [
        "/rope_scaling/rope_theta",
        "/rope_parameters",
    ]
    assert one["changes"][0]["before"] is None
    assert one["changes"][0]["after"] == "500000.0"
    assert one["agreeing"]["after"] >= one["agreeing"]["before"]
    assert one["engines"]["transformers-5.24"]["after"]["agrees"]
    wrong = one["engines"]["ctranslate2+tf5.20"]
    assert not wrong["after"]["agrees"]
    assert wrong["why"]
    assert one["diff"].startswith("--- model/config.json\n")
    (two,) = document(capsys, 0, "model", "--write")["files"]
    assert two["written"]
    (three,) = document(capsys, 0, "model")["files"]
    assert (three["status"], three["changes"], three["diff"]) == ("normal", [], None)


def test_several_targets_and_their_order_of_codes(capsys: pytest.CaptureFixture[str]) -> None:
    statuses = [f["status"] for f in document(capsys, 1, "model", "new.json", "bert.json")["files"]]
    assert statuses == ["changed", "changed", "nothing"]
    found = document(capsys, 2, "new.json", "gone.json", "--write")
    assert [f["status"] for f in found["files"]] == ["changed", "error"]
    assert [f["written"] for f in found["files"]] == [True, False]
    assert document(capsys, 3, "new.json", "bert.json")["files"][1]["reason"]
    assert document(capsys, 3, "bert.json")["files"][0]["status"] == "nothing"


def test_what_cannot_be_written_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("link.json").symlink_to("new.json")
    (one,) = document(capsys, 2, "link.json", "--write")["files"]
    assert "symbolic link" in one["error"]["message"]
    assert one["written"] is False
    assert run(["normalise", "link.json", "--write", "-f", "diff"]) == 2
    assert "link.json: error: link.json is a symbolic link" in capsys.readouterr().err


def test_standard_input_is_shown_and_never_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Input:
        buffer = io.BytesIO(json.dumps(NEW).encode())

    monkeypatch.setattr(sys, "stdin", Input)
    (one,) = document(capsys, 1, "-")["files"]
    assert one["file"] is None
    assert json.loads(patched(json.dumps(NEW), one["diff"]))["rope_theta"] == 500000.0
    Input.buffer = io.BytesIO(json.dumps(NEW).encode())
    (one,) = document(capsys, 2, "-", "--write")["files"]
    assert "no file that can be written" in one["error"]["message"]


def test_an_adapter_does_not_change_its_base(capsys: pytest.CaptureFixture[str]) -> None:
    Path("lora").mkdir()
    base = str(Path("model").resolve())
    Path("lora/adapter_config.json").write_text(json.dumps({"base_model_name_or_path": base}))
    before = Path("model/config.json").read_text()
    (one,) = document(capsys, 2, "lora", "--write")["files"]
    assert one["file"] is None
    assert one["error"]["kind"] == "usage"
    assert Path("model/config.json").read_text() == before


def test_verbose_gives_reasons_and_odd_names_cannot_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("a\x1b[31m.json").write_text(Path("new.json").read_text())
    assert run(["normalise", "a\x1b[31m.json", "-v"]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "/rope_theta  (absent) → 500000.0" in out
    assert "key by key" in out


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["normalise"]) == 2
    assert run(["normalise", "model", "-f", "github"]) == 2
    assert "proposals come as console, diff or json" in capsys.readouterr().err
    assert run(["normalise", "hf:no/such", "--offline", "-f", "diff"]) == 2
    assert run(["normalise", "model", "-o", "diff=model.diff", "-f", "json"]) == 1
    assert Path("model.diff").read_text().startswith("--- model/config.json\n")
