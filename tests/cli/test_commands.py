"""The commands from the outside: streams, exit codes, files, and plain words for every mistake."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from ropeaudit.cli.app import run

LLAMA = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
}
BROKEN = LLAMA | {"rope_scaling": {"type": "linear", "factor": 4.0, "rope_type": "yarn"}}
NO_ROPE = {"model_type": "bert", "hidden_size": 512, "num_attention_heads": 8}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def config(name: str = "config.json", **changes: object) -> str:
    Path(name).write_text(json.dumps(LLAMA | changes, indent=2))
    return name


def broken(name: str = "broken.json") -> str:
    """Linear and yarn at once: whichever an engine takes, the file means two things."""
    Path(name).write_text(json.dumps(BROKEN, indent=2))
    return name


def test_a_healthy_config_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", config()]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(" PASS  config.json  hf-config · llama\n")
    assert "λ 6.28" in out
    assert err == ""


def test_a_broken_config_fails_in_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    name = broken()
    for form in ("console", "json", "json-v1", "github", "markdown"):
        assert run(["audit", name, "-f", form]) == 1, form
    assert run(["audit", name, "--exit-zero"]) == 0
    assert run(["audit", name, "nowhere.json", "--exit-zero"]) == 2
    assert "broken.json" in capsys.readouterr().out


def test_json_stands_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", config(), broken(), "nowhere.json", "--format", "json"]) == 2
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert err == ""
    assert report["schema"] == "ropeaudit/report/1"
    assert [s["target"] for s in report["subjects"]] == [
        "config.json",
        "broken.json",
        "nowhere.json",
    ]
    assert [s["verdict"] for s in report["subjects"]] == ["pass", "fail", "unknown"]
    assert report["subjects"][2]["error"]["message"]
    assert report["exit_code"] == 2
    assert len(report["packs"][0]["sha256"]) == 64


def test_exit_codes_by_rank() -> None:
    Path("bert.json").write_text(json.dumps(NO_ROPE))
    good, bad = config(), broken()
    assert run(["audit", "bert.json"]) == 3
    assert run(["audit", "bert.json", good]) in (0, 3)
    assert run(["audit", bad, "bert.json"]) == 1
    assert run(["audit", bad, "bert.json", "nowhere"]) == 2
    assert run(["show", good]) == 0
    assert run(["show", "bert.json"]) == 3
    assert run(["show", good, "nowhere"]) == 2


def test_show_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", config(), "-f", "json"]) == 0
    (subject,) = json.loads(capsys.readouterr().out)["subjects"]
    (schedule,) = subject["schedules"]
    assert schedule["inv_freq"][:2] == [1.0, 0.74989420]
    assert len(schedule["inv_freq"]) == 32
    assert schedule["rope_theta"] == 10000.0
    places = {f["field"]: f for f in schedule["provenance"]}
    assert places["rope_theta"]["pointer"] == "/rope_theta"


def test_show_verbose_lists_values_and_places(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", config(), "-v"]) == 0
    out = capsys.readouterr().out
    assert "0.7498942" in out
    assert "rope_theta = 10000.0  config.json:7 /rope_theta" in out


def test_override_and_context(capsys: pytest.CaptureFixture[str]) -> None:
    name = config()
    assert run(["show", name, "--override", "rope_theta=1e6", "-f", "json"]) == 0
    schedule = json.loads(capsys.readouterr().out)["subjects"][0]["schedules"][0]
    assert schedule["rope_theta"] == 1e6
    assert {f["provenance"] for f in schedule["provenance"] if f["field"] == "rope_theta"} == {
        "override"
    }
    arguments = ["audit", name, "-f", "json", "--exit-zero", "--context", "512,2048"]
    assert run([*arguments, "--context", "1024"]) == 0
    findings = json.loads(capsys.readouterr().out)["subjects"][0]["findings"]
    (turns,) = [f for f in findings if f["rule"] == "RA301"]
    assert {"512", "1024", "2048", "4096"} <= set(turns["evidence"]["under_rotated"])


def test_fail_on_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    name = config()
    assert run(["audit", name, "--fail-on", "info"]) == 1
    Path("ropeaudit.toml").write_text('fail-on = "info"\n')
    assert run(["audit", name]) == 1
    assert run(["audit", name, "--no-config"]) == 0
    capsys.readouterr()
    assert run(["audit", "--show-settings", "--color", "never"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"fail_on = info  \(.*ropeaudit.toml\)", out)
    assert "color = never  (command line)" in out
    assert "rules = core  (default)" in out


def test_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import io
    import sys

    data = json.dumps(LLAMA).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run(["audit", "-"]) == 0
    assert " PASS  -" in capsys.readouterr().out


def test_quiet_says_nothing_on_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", config(), "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert run(["audit", broken(), "-q"]) == 1
    assert "FAIL" in capsys.readouterr().out


def test_skip_unrecognised(capsys: pytest.CaptureFixture[str]) -> None:
    Path("notes.xyz").write_text("nothing that any reader knows\x00\x01")
    assert run(["audit", "notes.xyz"]) == 2
    assert run(["audit", "notes.xyz", "--skip-unrecognised"]) == 0
    assert "1 target skipped as not recognised" in capsys.readouterr().out
    Path("bert.json").write_text(json.dumps(NO_ROPE))
    Path("stray.json").write_text('{"compilerOptions": {}}')
    assert run(["audit", "bert.json", "stray.json", "--skip-unrecognised", "-v"]) == 0
    out = capsys.readouterr().out
    assert "not recognised: bert.json" in out
    assert "not recognised: stray.json" in out
    assert run(["audit", "bert.json", "stray.json", broken(), "--skip-unrecognised"]) == 1
    short = LLAMA | {"hidden_size": None}
    Path("short.json").write_text(json.dumps(short))
    assert run(["audit", "short.json", "--skip-unrecognised"]) in (2, 3)


def test_files_beside_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["audit", config(), "-o", "json=a.json", "-o", "markdown=b.md", "--output"]
    assert run([*arguments, "console=c.txt"]) == 0
    out = capsys.readouterr().out
    assert json.loads(Path("a.json").read_text())["exit_code"] == 0
    assert Path("b.md").read_text().startswith("## ropeaudit: pass")
    assert Path("c.txt").read_text() == out
    assert sorted(p.name for p in Path().iterdir()) == ["a.json", "b.md", "c.txt", "config.json"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("json", "is not FMT=PATH"),
        ("jsn=x.json", "no report format jsn.*did you mean json"),
        ("json=nowhere/x.json", "folder that does not exist"),
        ("json=.", "is a folder"),
    ],
)
def test_wrong_outputs(spec: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", config(), "-o", spec]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(message, err)
    assert len(err.splitlines()) == 1
    assert [p.name for p in Path().iterdir()] == ["config.json"]


def test_a_report_that_cannot_be_written_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(self: Path, data: bytes) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    name = config()
    Path("old.json").write_text("old")
    assert run(["audit", name, "-o", "json=old.json"]) == 2
    assert "cannot write old.json: No space left" in capsys.readouterr().err
    assert Path("old.json").read_text() == "old"
    assert sorted(p.name for p in Path().iterdir()) == ["config.json", "old.json"]


def test_a_link_and_a_device_stay_what_they_are() -> None:
    Path("real.json").touch(0o644)
    Path("link.json").symlink_to("real.json")
    name = config()
    assert run(["audit", name, "-q", "-o", "json=link.json", "-o", "markdown=/dev/null"]) == 0
    assert Path("link.json").is_symlink()
    assert json.loads(Path("real.json").read_text())["verdict"] == "pass"
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_github_is_chosen_in_a_job_unless_a_format_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("before\n")
    name = broken()
    assert run(["audit", name]) == 1
    assert capsys.readouterr().out.startswith("::error file=broken.json,line=")
    assert Path("summary.md").read_text().startswith("before\n## ropeaudit: fail")
    assert run(["audit", name, "-f", "console"]) == 1
    assert capsys.readouterr().out.startswith(" FAIL")
    assert Path("summary.md").read_text().count("## ropeaudit") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit"], "no target given"),
        (["audti", "x"], "no command audti; did you mean audit"),
        (
            ["audit", "x", "--fail-on", "fatal"],
            "--fail-on is fatal, expected error, warning or",
        ),
        (["audit", "x", "--fial-on", "error"], "No such option"),
        (["audit", "x", "-f", "sarrif"], "no report format sarrif"),
        (["audit", "x", "--rules", "coer"], "no rule pack and no file coer; did you mean core"),
        (["audit", "x", "--context", "8k"], "--context is 8k, expected positions as whole numbers"),
        (["show", "x", "-f", "markdown"], "cannot show schedules"),
        (["rules", "-f", "github"], "rules come as console or json"),
        (["explain"], "Missing argument"),
        (["explain", "RA999"], "no rule RA999"),
        (["explain", "duplicate-freq"], "did you mean duplicate-frequency"),
        (["show", "x", "--color", "sometimes"], "auto, always or never"),
    ],
)
def test_mistakes_are_two_with_a_hint(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(message, err)
    assert "Traceback" not in err


def test_a_crash_is_two_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import ropeaudit.cli._targets as targets

    def crash(names: object) -> list[str]:
        raise ZeroDivisionError("one\x1b[31m over nothing")

    monkeypatch.setattr(targets, "expand", crash)
    assert run(["audit", "x"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert r"ZeroDivisionError: one\x1b[31m over nothing" in err
    monkeypatch.setenv("ROPEAUDIT_DEBUG", "1")
    assert run(["audit", "x"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    import ropeaudit.cli._targets as targets

    def interrupt(names: object) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(targets, "expand", interrupt)
    assert run(["audit", "x"]) == 130
