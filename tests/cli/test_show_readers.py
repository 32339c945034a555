"""``ropeaudit show --reader``: engines beside the reference, in words and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ropeaudit.cli.app import run
from ropeaudit.readers.engines.known import REFERENCE, names
from ropeaudit.resolve import resolve
from tests.engine_vectors import vectors
from tests.gguf_headers import small
from tests.schedules import plain

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "schedules-1.json"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def case(name: str) -> str:
    found = vectors()["cases"][name]
    Path(found["file"]).write_text(json.dumps(found["config"]))
    return str(found["file"])


def shown(capsys: Capture, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert run(["show", *arguments, "-f", "json"]) == code
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
    subject: dict[str, Any] = document["subjects"][0]
    return subject


def test_without_readers_nothing_is_added(capsys: Capture) -> None:
    subject = shown(capsys, case("linear_new"))
    assert "readers" not in subject
    assert [s["reader"] for s in subject["schedules"]] == [None]


def test_json_of_two_engines(capsys: Capture) -> None:
    subject = shown(capsys, case("linear_new"), "--reader", "transformers-4.57,transformers")
    assert list(subject["readers"]) == ["transformers-4.57", REFERENCE]
    old = subject["readers"]["transformers-4.57"]
    assert (old["status"], old["reason"], old["how"]) == ("ok", None, "ran")
    assert old["ignored"] == ["/rope_parameters"]
    distance = old["against_reference"]
    assert distance["max_abs_dlog"] == pytest.approx(1.3863, abs=1e-3)
    assert distance["max_phase_drift"] == pytest.approx(3.14159, abs=1e-3)
    assert distance["words"] == ["linear scaling by 4 lost"]
    assert subject["readers"][REFERENCE]["against_reference"]["same"]
    # The reference's own schedules are not listed a second time.
    assert [(s["name"], s["reader"]) for s in subject["schedules"]] == [
        ("text", REFERENCE),
        ("text", "transformers-4.57"),
    ]


def test_all_names_every_release(capsys: Capture) -> None:
    subject = shown(capsys, case("llama3_old"), "--reader", "all")
    assert tuple(subject["readers"]) == names()
    for reader in subject["readers"].values():
        assert (reader["reason"] is None) == (reader["status"] == "ok")


def test_the_page_says_what_each_engine_does(capsys: Capture) -> None:
    assert run(["show", case("plain_new"), "--reader", "transformers-4.57", "--reader", "hf"]) == 0
    page = capsys.readouterr().out
    rows = {line.split()[0]: line for line in page.splitlines() if "transformers-" in line}
    assert "differs: base 10000 instead of 500000" in rows["transformers-4.57"]
    assert "π" in rows["transformers-4.57"]
    assert "same (the reference)" in rows[REFERENCE]
    assert "does not read /rope_parameters" in page


def test_a_narrow_page_has_the_words_below(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["show", case("plain_new"), "--reader", "transformers-4.57"]) == 0
    page = capsys.readouterr().out
    assert "\n      differs: base 10000 instead of 500000" in page
    assert "verdict" not in page


def test_verbose_prints_the_engines_tables_and_notes(capsys: Capture) -> None:
    assert run(["show", case("plain_new"), "--reader", "transformers-4.57", "-v"]) == 0
    assert "transformers-4.57 text inv_freq" in capsys.readouterr().out


def test_a_refusal_has_its_reason_and_stops_no_other(capsys: Capture) -> None:
    subject = shown(capsys, case("phi3_su_old"), "--reader", "transformers,transformers-4.57")
    reference, old = subject["readers"].values()
    assert reference["status"] == "refuses"
    assert "top level" in reference["reason"]
    assert reference["against_reference"] is None
    assert old["status"] == "ok"
    # The reference does not build what is shown first, so it does not bear its name.
    assert {s["reader"] for s in subject["schedules"]} == {None, "transformers-4.57"}


def test_what_the_reference_cannot_read_others_may(capsys: Capture) -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 512,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "max_position_embeddings": 4096,
        "rope_theta": 1e5,
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e5},
    }
    Path("config.json").write_text(json.dumps(config))
    asked = "transformers,transformers-4.57"
    subject = shown(capsys, "config.json", "--reader", asked, code=2)
    assert subject["error"]["kind"] == "invalid_value"
    reference, old = subject["readers"].values()
    assert reference["status"] == "refuses"
    assert "factor" in reference["reason"]
    assert (old["status"], old["against_reference"]) == ("ok", None)
    assert [s["rope_theta"] for s in subject["schedules"]] == [1e5]


def test_the_setting_is_read_and_the_option_goes_before_it(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = case("plain_old")
    Path("pyproject.toml").write_text('[tool.ropeaudit]\nreader = ["tgi"]\n')
    assert list(shown(capsys, target)["readers"]) == ["tgi-2026.01"]
    assert list(shown(capsys, target, "--reader", "vllm")["readers"]) == ["vllm-0.33"]
    assert "readers" not in shown(capsys, target, "--no-config")
    monkeypatch.setenv("ROPEAUDIT_READER", "hf,vllm")
    assert list(shown(capsys, target)["readers"]) == [REFERENCE, "vllm-0.33"]
    monkeypatch.setenv("ROPEAUDIT_READER", "vlm")
    assert run(["show", target]) == 2
    assert "no reader vlm" in capsys.readouterr().err


def test_an_unknown_reader_is_told_before_any_target_is_read(capsys: Capture) -> None:
    assert run(["show", "nowhere.json", "--reader", "trasnformers"]) == 2
    said = capsys.readouterr().err
    assert "did you mean transformers" in said
    assert "nowhere" not in said


def test_a_version_that_is_not_known_is_said(capsys: Capture) -> None:
    assert run(["show", case("plain_old"), "--reader", "transformers-5.99"]) == 0
    page = capsys.readouterr().out
    assert "outside of the versions whose rules are known" in page
    assert REFERENCE in page


def test_params_json_has_readers_of_its_own(capsys: Capture) -> None:
    subject = shown(capsys, case("params_yarn"), "--reader", "transformers")
    assert subject["format"] == "params-json"
    assert subject["readers"][REFERENCE]["status"] == "refuses"
    assert {s["reader"] for s in subject["schedules"]} == {None}


def test_a_gguf_file_is_what_llama_cpp_runs(capsys: Capture) -> None:
    Path("model.gguf").write_bytes(small())
    subject = shown(capsys, "model.gguf", "--reader", "all")
    covered = {n for n, r in subject["readers"].items() if r["status"] == "ok"}
    assert covered == {n for n in names() if n.startswith("llama.cpp")}


def test_a_bare_table_is_built_by_no_engine(capsys: Capture) -> None:
    Path("table.json").write_text(json.dumps(list(plain().inv_freq)))
    subject = shown(capsys, "table.json", "--reader", "all")
    assert {r["status"] for r in subject["readers"].values()} == {"not_covered"}


def test_lengths_and_overrides_reach_the_engines(capsys: Capture) -> None:
    target = case("dynamic_old")
    subject = shown(capsys, target, "--reader", "transformers-4.57", "--context", "16384")
    assert [s["name"] for s in subject["schedules"]] == ["text/@16384"] * 2
    subject = shown(capsys, target, "--reader", "transformers-4.57", "--override", "rope_theta=1e6")
    assert {s["rope_theta"] for s in subject["schedules"]} == {1e6}


def test_from_python() -> None:
    view = resolve(case("plain_new"), readers=("transformers-4.57",)).views[0]
    assert view.distance is not None
    assert view.distance.words == ("base 10000 instead of 500000",)


def test_one_reason_of_several_releases_is_told_once(capsys: Capture) -> None:
    Path("config.json").write_text(json.dumps({"model_type": "nobody", "rope_theta": 1e4}))
    run(["show", "config.json", "--reader", "mlx-lm-0.32,mlx-lm-0.28,ctranslate2"])
    page = capsys.readouterr().out
    assert page.count("it has no model file for nobody") == 1
    lines = page.splitlines()
    first = next(k for k, line in enumerate(lines) if "no model file" in line)
    assert lines[first].split()[0] == "mlx-lm-0.32"
    assert lines[first + 1].strip() == "mlx-lm-0.28"
    assert lines[first + 2].split()[0] == "ctranslate2+tf5.20"
