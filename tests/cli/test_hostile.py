"""What surrounds a run can fail too: paths, reports, streams, processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ropeaudit.cli.app import run
from ropeaudit.facts import Reading
from ropeaudit.sources import opening

CONFIG = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
}
TOOL = [sys.executable, "-m", "ropeaudit"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "model.json").write_text(json.dumps(CONFIG))
    return tmp_path


@pytest.mark.parametrize(
    ("target", "report"),
    [
        ("config.json", "config.json"),
        ("model.json", "./model.json"),
        (".", "config.json"),
        ("model.json", "link.json"),
        ("model.json", "config.json"),
    ],
)
def test_a_report_never_overwrites_a_model(
    folder: Path, capsys: pytest.CaptureFixture[str], target: str, report: str
) -> None:
    (folder / "link.json").symlink_to("model.json")
    before = (folder / report).read_bytes()
    assert run(["audit", target, "-o", f"json={report}"]) == 2
    assert "would overwrite what is audited" in capsys.readouterr().err
    assert (folder / report).read_bytes() == before


def test_two_reports_through_a_link_are_one_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b.json").symlink_to("a.json")
    assert run(["audit", "model.json", "-o", "json=a.json", "-o", "markdown=b.json"]) == 2
    assert "twice" in capsys.readouterr().err
    assert not (folder / "a.json").exists()


@pytest.mark.parametrize("command", ["audit", "show"])
def test_a_fault_of_ours_stops_no_other_target(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    whole = opening.open_target

    def breaks(target: str, **options: bool) -> Reading:
        if target == "config.json":
            raise ZeroDivisionError("\x1b[31m")
        return whole(target, **options)

    monkeypatch.setattr(opening, "open_target", breaks)
    assert run([command, "config.json", "model.json", "-f", "json"]) == 2
    subjects = json.loads(capsys.readouterr().out)["subjects"]
    assert subjects[0]["error"]["kind"] == "internal"
    assert "ZeroDivisionError: \\x1b[31m" in subjects[0]["error"]["message"]
    assert subjects[1]["schedules"]


def test_show_overwrites_no_model_either(folder: Path) -> None:
    assert run(["show", "model.json", "-o", "json=model.json"]) == 2
    assert json.loads((folder / "model.json").read_text()) == CONFIG


@pytest.mark.parametrize("name", ["a" * 5000, "a" * 300, "a\0b", "model.json/x"])
def test_an_impossible_path_stops_no_other_target(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert run(["audit", name, "model.json", "-f", "json"]) == 2
    subjects = json.loads(capsys.readouterr().out)["subjects"]
    assert [s["verdict"] for s in subjects] == ["unknown", "pass"]
    assert subjects[0]["error"]["kind"] == "unreadable"


def shell(folder: Path, redirection: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirection}', "bash", *TOOL, "audit", "model.json", "-f", "json"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("redirection", "said"),
    [
        (">/dev/full", "cannot write to standard output: No space left on device"),
        (">&-", "standard output is closed"),
    ],
)
def test_output_that_goes_nowhere_is_said_in_one_line(
    folder: Path, redirection: str, said: str
) -> None:
    done = shell(folder, redirection)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_closed_standard_input_is_an_unreadable_target(folder: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", '"$@" <&-', "bash", *TOOL, "audit", "-", "-f", "json"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    error = json.loads(done.stdout)["subjects"][0]["error"]
    assert error["kind"] == "unreadable"
    assert "standard input is closed" in error["message"]


def many(folder: Path, count: int) -> Path:
    place = folder / "many"
    place.mkdir()
    text = json.dumps(CONFIG)
    for number in range(count):
        (place / f"{number:04}.json").write_text(text)
    return place


KILLER = """
import json, os, pathlib, sys
from importlib import import_module
audit = import_module("ropeaudit.audit")
whole = audit._one
def one(target, options, rules):
    if target.endswith("0070.json"):
        os.kill(os.getpid(), 9)
    return whole(target, options, rules)
audit._one = one
targets = sorted(map(str, pathlib.Path(sys.argv[1]).iterdir()))
report = audit.audit_targets(targets, audit.Options(jobs=2))
print(json.dumps([s.subject.error.message if s.subject.error else "" for s in report.subjects]))
"""


def test_a_target_that_kills_its_process_is_the_only_one_lost(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(many(folder, 100))],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    messages = json.loads(done.stdout)
    assert len(messages) == 100
    assert [k for k, m in enumerate(messages) if m] == [70]
    assert "was killed" in messages[70]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found by /proc")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core audits without workers")
def test_workers_end_with_a_parent_that_was_killed(folder: Path) -> None:
    place = many(folder, 3000)
    process = subprocess.Popen(
        [*TOOL, "audit", str(place), "-f", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 20
    while not children.read_text().split() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert children.read_text().split()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)  # ends only when nobody holds the pipes any more
