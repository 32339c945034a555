"""``ropeaudit audit --reader``: exit codes, settings, and a line an engine on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import ropeaudit
from ropeaudit.cli.app import run
from ropeaudit.readers.engines.known import names
from tests.engine_vectors import vectors

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "report-1.json"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def case(name: str) -> str:
    Path("config.json").write_text(json.dumps(vectors()["cases"][name]["config"]))
    return "config.json"


def judged(capsys: Capture, *arguments: str, code: int) -> dict[str, Any]:
    assert run(["audit", *arguments, "-f", "json"]) == code
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
    subject: dict[str, Any] = document["subjects"][0]
    return subject


def test_the_default_names_engines_and_passes(capsys: Capture) -> None:
    subject = judged(capsys, case("plain_new"), code=0)
    assert "readers" not in subject
    assert subject["verdict"] == "warn"
    (found,) = [f for f in subject["findings"] if f["rule"] == "RA406"]
    assert "mlx-lm-0.32" in found["evidence"]["readers"]


def test_a_line_an_engine(capsys: Capture) -> None:
    assert run(["audit", case("plain_new")]) == 0
    page = capsys.readouterr().out
    start = page.index("warning RA406 reader-disagreement: engines that would build another")
    lines = page[start:].split("\n\n")[0].splitlines()[1:]
    assert len(lines) == 5
    assert all(line.endswith("base 10000 instead of 500000") for line in lines)
    assert run(["audit", case("plain_new"), "-v"]) == 0
    assert "build another schedule from this file" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("reader", "code"),
    [("vllm", 0), ("mlx-lm", 1), ("vllm,llama.cpp", 0), ("vllm,tgi", 1), ("all", 1)],
)
def test_exit_codes(reader: str, code: int, capsys: Capture) -> None:
    subject = judged(capsys, case("plain_new"), "--reader", reader, code=code)
    wanted = names() if reader == "all" else None
    assert wanted is None or tuple(subject["readers"]) == wanted
    errors = {f["rule"] for f in subject["findings"] if f["severity"] == "error"}
    assert errors == ({"RA406"} if code else set())


def test_what_is_not_known_of_an_engine_is_no_pass(capsys: Capture) -> None:
    subject = judged(capsys, case("stablelm_new"), "--reader", "tgi", code=3)
    assert subject["verdict"] == "unknown"
    judged(capsys, case("stablelm_new"), "--reader", "tgi", "--allow-unknown", code=0)


def test_a_refusal_is_no_failure(capsys: Capture) -> None:
    subject = judged(capsys, case("llama3_old"), "--reader", "deepspeed", code=0)
    assert subject["readers"]["deepspeed-0.19"]["status"] == "refuses"
    assert [f["severity"] for f in subject["findings"] if f["rule"] == "RA406"] == ["info"]


def test_a_name_that_is_no_engine(capsys: Capture) -> None:
    assert run(["audit", case("plain_old"), "--reader", "vlm"]) == 2
    assert "no reader vlm" in capsys.readouterr().err
    Path("mine.yaml").write_text(
        "name: mine\nversion: 1\nextends: [core]\n"
        "override:\n  reader-disagreement: {with: {readers: [vlm]}}\n"
    )
    assert run(["audit", case("plain_old"), "--rules", "mine.yaml"]) == 2
    assert "did you mean vllm" in capsys.readouterr().err


def test_a_version_that_is_not_known_is_read_by_the_nearest(capsys: Capture) -> None:
    subject = judged(capsys, case("plain_old"), "--reader", "vllm-0.99", code=0)
    (note,) = [n for n in subject["readers"]["vllm-0.33"]["notes"] if n["kind"] == "nearest_reader"]
    assert "0.99" in note["message"]


def test_settings_and_environment(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ropeaudit.toml").write_text('reader = ["mlx-lm"]\n')
    assert run(["audit", case("plain_new"), "-q"]) == 1
    assert run(["audit", "config.json", "-q", "--reader", "vllm"]) == 0
    monkeypatch.setenv("ROPEAUDIT_READER", "tgi,vllm")
    assert run(["audit", "config.json", "-q"]) == 1
    capsys.readouterr()
    assert run(["audit", "config.json", "--show-settings"]) == 0
    assert "reader = tgi, vllm  (ROPEAUDIT_READER)" in capsys.readouterr().out


def test_run_time_lengths_are_said_to_be_unknown_once(capsys: Capture) -> None:
    subject = judged(capsys, case("phi3_longrope_old"), "--reader", "vllm,sglang", code=0)
    assert [n["kind"] for n in subject["notes"]].count("run_time") == 1
    for more in (["--context", "8192"], ["--override", "max_model_len=8192"]):
        subject = judged(
            capsys, case("phi3_longrope_old"), "--reader", "vllm,sglang", *more, code=0
        )
        assert "run_time" not in [n["kind"] for n in subject["notes"]]
        # At this length all three turn by the long list.
        assert {v["against_reference"]["same"] for v in subject["readers"].values()} == {True}
    subject = judged(capsys, case("plain_old"), "--reader", "vllm", code=0)
    assert "run_time" not in [n["kind"] for n in subject["notes"]]


def test_python(tmp_path: Path) -> None:
    target = case("plain_new")
    report = ropeaudit.audit(target, readers="mlx-lm")
    assert report.exit_code == 1
    assert ropeaudit.audit(target, readers=["vllm", "sglang"]).exit_code == 0
    views = ropeaudit.read(target, readers="vllm").views
    assert [v.reader for v in views] == ["vllm-0.33"]


def test_a_variant_has_no_readings(capsys: Capture) -> None:
    """Engines read the config that it was made from, which is not what is judged."""
    subject = judged(capsys, case("plain_new"), "--reader", "tgi", "--apply", "int8:sym", code=1)
    assert "readers" not in subject
    assert {s["reader"] for s in subject["schedules"]} == {None}
    assert "RA406" not in [f["rule"] for f in subject["findings"]]
    assert "RA406" in [s["rule"] for s in subject["skipped"]]
