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
from tests.gguf_files import write

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "report-1.json"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def case(name: str) -> str:
    Path("config.json").write_text(json.dumps(vectors()["cases"][name]["config"]))
    return "config.json"


def llama_gguf() -> None:
    keys = {
        "context_length": 8192, "embedding_length": 4096, "block_count": 2,
        "attention.head_count": 32, "rope.freq_base": 500000.0, "rope.dimension_count": 128,
    }  # fmt: skip
    write(Path("model.gguf"), "llama", keys)


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
    [
        ("vllm", 0),
        ("mlx-lm", 1),
        ("vllm,llama.cpp", 0),
        ("vllm,tgi", 1),
        ("all", 0),
        ("all,tgi", 1),
    ],
)
def test_exit_codes(reader: str, code: int, capsys: Capture) -> None:
    subject = judged(capsys, case("plain_new"), "--reader", reader, code=code)
    wanted = names() if "all" in reader else None
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
    said = capsys.readouterr().err
    assert "did you mean vllm" in said
    assert "mine.yaml: override of RA406, parameter readers: no reader vlm" in said


def test_a_name_that_is_no_engine_is_told_with_its_place(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = case("plain_old")
    Path("pyproject.toml").write_text('[tool.ropeaudit]\nreader = ["vlm"]\n')
    for command in ("audit", "show"):
        assert run([command, target]) == 2
        said = capsys.readouterr().err
        assert f"the setting reader of {Path.cwd() / 'pyproject.toml'}: no reader vlm" in said
        assert run([command, target, "--reader", "vllm"]) == 0
        assert run([command, target, "--no-config"]) == 0
        capsys.readouterr()
    monkeypatch.setenv("ROPEAUDIT_READER", "vllm,tgj")
    assert run(["audit", target]) == 2
    assert "the setting reader of ROPEAUDIT_READER: no reader tgj" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("override: {reader-disagreement: {with: {reader: [vllm]}}}",
         "mine.yaml: override of RA406: unknown parameter reader; did you mean readers"),
        ("override: {RA406: {with: {error_phase: much}}}",
         "mine.yaml: override of RA406, parameter error_phase is much, expected a number"),
        ("rules: [{id: X1, check: reader-disagreement, with: {reader: [vllm]}}]",
         "rule X1 of pack mine: unknown parameter reader"),
        ("rules: [{id: X1, check: reader-disagreement, with: {readers: [vlm]}}]",
         "rule X1 of pack mine, parameter readers: no reader vlm"),
    ],
)  # fmt: skip
def test_a_fault_in_a_pack_is_told_with_the_pack(rule: str, said: str, capsys: Capture) -> None:
    Path("mine.yaml").write_text(f"name: mine\nversion: 1\nextends: [core]\n{rule}\n")
    Path("yours.yaml").write_text("name: yours\nversion: 1\nextends: [mine.yaml]\n")
    for pack in ("mine.yaml", "yours.yaml"):
        assert run(["audit", case("plain_old"), "--rules", pack]) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert said in told
        assert "pack core" not in told


def test_a_version_that_is_not_known_is_read_by_the_nearest(capsys: Capture) -> None:
    subject = judged(capsys, case("plain_old"), "--reader", "vllm-0.99", code=0)
    (note,) = [n for n in subject["readers"]["vllm-0.33"]["notes"] if n["kind"] == "nearest_reader"]
    assert "0.99" in note["message"]


@pytest.mark.parametrize("format", ["console", "markdown", "github"])
def test_the_nearest_rules_are_named_once_in_a_run(format: str, capsys: Capture) -> None:
    target = case("plain_old")
    for name in ("a", "b"):
        Path(f"{name}.json").write_text(Path(target).read_text())
    for readers, times in (("vllm-0.20,tgi-1.4", 1), ("vllm,tgi", 0)):
        assert run(["audit", "a.json", "b.json", "--reader", readers, "-f", format]) in (0, 1)
        page = " ".join(capsys.readouterr().out.split())
        for wanted, used in (("vllm 0.20", "vllm-0.33"), ("tgi 1.4", "tgi-2026.01")):
            assert page.count(f"{wanted} is outside of the versions whose rules") == times
            assert (f"read by the nearest, {used}" in page) is bool(times)


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


@pytest.mark.parametrize("context", ["", "1024", "4096", "4097", "8192", "131072", "2048,131072"])
def test_a_list_that_is_chosen_by_length_is_no_error(context: str, capsys: Capture) -> None:
    """At a length these engines take the list that the reference takes for such a sequence."""
    at = ["--context", context] if context else []
    for name in ("phi3_longrope_old", "phi3_longrope_new"):
        subject = judged(capsys, case(name), "--reader", "vllm,llama.cpp,sglang", *at, code=0)
        found = [f for f in subject["findings"] if f["rule"] == "RA406"]
        assert not [f for f in found if "list where" in f["message"]]


def test_an_engine_with_one_list_for_all_lengths_errs_where_the_other_is_asked_for(
    capsys: Capture,
) -> None:
    for context, code in (("1024", 1), ("131072", 0), ("1024,131072", 1)):
        at = ["--reader", "mlx-lm", "--context", context]
        judged(capsys, case("phi3_longrope_old"), *at, code=code)


def test_dynamic_scaling_counts_at_the_lengths_asked_for(capsys: Capture) -> None:
    """Within the declared length vLLM and llama.cpp, which drop it, build the same table."""
    for context, code in (("1024", 0), ("4096", 0), ("32768", 1)):
        at = ["--reader", "vllm,llama.cpp", "--context", context]
        judged(capsys, case("dynamic_old"), *at, code=code)


def test_a_gguf_file_is_its_own_reference_for_llama_cpp(capsys: Capture) -> None:
    llama_gguf()
    for reader in ("llama.cpp", "llama.cpp+tf4.57", "all", "all,llama.cpp"):
        subject = judged(capsys, "model.gguf", "--reader", reader, code=0)
        assert subject["verdict"] in ("pass", "warn")
        reasons = [s["reason"] for s in subject["skipped"] if s["rule"] == "RA406"]
        assert any("runs this file as it is" in r for r in reasons)
    Path("ropeaudit.toml").write_text('reader = ["llama.cpp"]\n')
    assert run(["audit", "model.gguf", "-q"]) == 0


def test_another_engine_is_not_known_of_a_gguf_file(capsys: Capture) -> None:
    llama_gguf()
    subject = judged(capsys, "model.gguf", "--reader", "llama.cpp,vllm", code=3)
    (found,) = [f for f in subject["findings"] if f["rule"] == "RA406"]
    assert found["status"] == "unknown"
    assert "vllm-0.33 cannot be judged: it is not known what this engine" in found["message"]
    assert "normalise" not in found["fix"]
    assert "GGUF" in found["fix"]


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
