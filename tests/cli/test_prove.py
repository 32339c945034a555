"""``prove`` from the outside: exit codes, certificates that check, plain words for bad input."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.cli.app import run
from tests.cli.test_process import process

LLAMA = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
    "rope_theta": 1000000.0,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
NO_ROPE = {"model_type": "bert", "hidden_size": 512, "num_attention_heads": 8}
Out = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def config(name: str = "config.json", **changes: object) -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(json.dumps(LLAMA | changes, indent=2))
    return name


def bare(values: list[Any], name: str = "table.json") -> str:
    Path(name).write_text(json.dumps(values))
    return name


def certificate(out: Out, *targets: str) -> dict[str, Any]:
    run(["prove", *targets, "-f", "json"])
    found: dict[str, Any] = json.loads(out.readouterr().out)
    return found


def test_a_healthy_config_is_proved(capsys: Out) -> None:
    assert run(["prove", config()]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(" PROVED  config.json  hf-config · llama\n")
    assert "θ_k = 1000000^(-k/32) for k = 0–31" in out
    assert "32 channels that turn have different closed forms" in out
    assert err == ""


def test_a_certificate_checks_with_and_without_its_target(
    capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["prove", config(rope_scaling=YARN), "-f", "json", "-o", "json=c.json"]) == 0
    assert capsys.readouterr().out == Path("c.json").read_text()
    assert run(["prove", "--check", "c.json"]) == 0
    assert capsys.readouterr().out.startswith(" VERIFIED  c.json\n")
    assert run(["prove", "--check", "c.json", "config.json"]) == 0
    capsys.readouterr()
    data = io.TextIOWrapper(io.BytesIO(Path("c.json").read_bytes()))
    monkeypatch.setattr(sys, "stdin", data)
    assert run(["prove", "--check", "-", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["result"], found["counts"]["undecided"]) == ("verified", 0)
    assert found["counts"]["proved"] >= 5


def test_a_certificate_of_a_folder_checks_on_another_machine(capsys: Out) -> None:
    config("one/model/config.json")
    config("two/model/config.json")
    assert run(["prove", "one/model", "-o", "json=c.json"]) == 0
    shutil.rmtree("one")
    assert run(["prove", "--check", "c.json", "two/model"]) == 0
    config("two/model/config.json", num_hidden_layers=5)
    capsys.readouterr()
    assert run(["prove", "--check", "c.json", "two/model"]) == 1
    out = capsys.readouterr().out
    assert out.startswith(" REFUSED  c.json\n")
    assert "config.json has sha256" in out
    assert run(["prove", "--check", "c.json", "two/nothing"]) == 2
    Path("two/model/adapter_config.json").write_text("{}")
    config("two/model/config.json")
    assert run(["prove", "--check", "c.json", "two/model"]) == 0


def test_of_several_targets_the_one_of_that_name_is_compared(capsys: Out) -> None:
    config("a/config.json")
    config("b/config.json", rope_theta=10000.0)
    assert run(["prove", "a", "b", "-o", "json=c.json"]) == 0
    assert run(["prove", "--check", "c.json", "a", "b"]) == 0
    shutil.copy("a/config.json", "b/config.json")
    assert run(["prove", "--check", "c.json", "a"]) == 0
    assert run(["prove", "--check", "c.json", "a", "b"]) == 1
    config("c/params.json")
    capsys.readouterr()
    assert run(["prove", "--check", "c.json", "c"]) == 1
    assert "takes part in c and not in the certificate" in capsys.readouterr().out


def test_exit_codes_by_rank(capsys: Out) -> None:
    good, same = config(), config("same.json", rope_theta=1)
    table = bare([1.0, 0.5, 0.25])
    Path("bert.json").write_text(json.dumps(NO_ROPE))
    assert run(["prove", good]) == 0
    assert run(["prove", same]) == 1
    assert run(["prove", table]) == 3
    assert run(["prove", "bert.json"]) == 3
    assert run(["prove", good, table]) == 3
    assert run(["prove", table, same, good]) == 1
    capsys.readouterr()
    assert run(["prove", "nowhere.json", same, table, good, "bert.json"]) == 2
    out = capsys.readouterr().out
    for word in ("UNREADABLE", "REFUTED", "UNDECIDED", "PROVED", "NOTHING TO PROVE"):
        assert f" {word} " in out
    for form in ("console", "json", "markdown"):
        assert run(["prove", same, "-f", form]) == 1, form


def test_what_is_required_decides(capsys: Out) -> None:
    scaled = config(rope_scaling=YARN)
    assert run(["prove", scaled, "--require", "form"]) == 0
    assert run(["prove", scaled, "--require", "form,geometric"]) == 1
    assert run(["prove", scaled, "--require", "form", "--require", "distinct:bf16"]) == 0
    table = bare([1.0, 0.5, 0.25])
    assert run(["prove", table, "--require", "distinct:float32"]) == 0
    assert run(["prove", table, "--require", "relations"]) == 3
    capsys.readouterr()
    assert run(["prove", scaled, "--require", "geometrc"]) == 2
    assert "no claim geometrc; known: form, " in (err := capsys.readouterr().err)
    assert "did you mean geometric?" in err
    assert run(["prove", scaled, "--require", " , "]) == 2
    assert "names no claim" in capsys.readouterr().err


def test_the_tolerance_decides_form(capsys: Out) -> None:
    assert run(["prove", config(), "--ulp", "8"]) == 0
    assert run(["prove", config(), "--ulp", "0"]) == 1
    assert "(tolerance 0)" in capsys.readouterr().out
    for wrong in ("-1", "many", "1e3", "", "9" * 30):
        assert run(["prove", config(), f"--ulp={wrong}"]) == 2
        assert "expected a whole number of steps" in capsys.readouterr().err


def test_candidates_only_when_asked_for(capsys: Out) -> None:
    table = bare([0.75, 0.5, 0.25])
    names = {c["claim"] for c in certificate(capsys, table)["claims"]}
    assert "candidates" not in names
    assert "recovery" in names
    assert run(["prove", table, "--candidates", "-o", "json=c.json"]) == 3
    last = json.loads(Path("c.json").read_text())["claims"][-1]
    assert (last["claim"], last["status"]) == ("candidates", "undecided")
    assert run(["prove", "--check", "c.json"]) == 0
    assert run(["prove", table, "--require", "candidates"]) == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rope_theta": 0}, "expected a positive finite number"),
        ({"rope_theta": -5.0}, "expected a positive finite number"),
        ({"rope_theta": float("nan")}, "expected a finite number"),
        ({"head_dim": 63}, "expected an even width"),
        ({"rope_theta": 1, "rope_scaling": YARN}, "yarn needs a base other than 1"),
    ],
)
def test_bad_configs_are_unreadable_in_one_sentence(
    capsys: Out, changes: dict[str, Any], words: str
) -> None:
    assert run(["prove", config(**changes)]) == 2
    out = capsys.readouterr().out
    assert words in out
    assert "proved" not in out
    assert run(["prove", "config.json", "-f", "json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["claims"] == []
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 0.0, 0.0], [1.0, 0.5, 0.5], [0.1, 1.0, 0.5], [1.0, "nan"], [1.0, "inf"],
        [1.0, -0.5], [1.0],
    ],
)  # fmt: skip
def test_odd_tables_are_never_proved_and_their_certificates_check(
    capsys: Out, values: list[Any]
) -> None:
    found = certificate(capsys, bare(values))
    status = {c["claim"]: c["status"] for c in found["claims"]}
    for claim in ("form", "distinct", "relations", "geometric", "aliasing"):
        assert status[claim] == "undecided"
    if len({v for v in values if isinstance(v, float)}) < len(values):
        assert status["distinct:float32"] != "proved"
    Path("c.json").write_text(json.dumps(found))
    assert run(["prove", "--check", "c.json"]) == 0


def test_an_empty_table_and_no_target_say_so(capsys: Out) -> None:
    assert run(["prove", bare([])]) == 2
    assert "holds no numbers" in capsys.readouterr().out
    assert run(["prove"]) == 2
    assert "no target given" in capsys.readouterr().err


def test_broken_certificates(capsys: Out) -> None:
    whole = json.dumps(certificate(capsys, config()))
    for text in (whole[:-40], whole[: len(whole) // 2], "", "{}", "[]", "null"):
        Path("c.json").write_text(text)
        assert run(["prove", "--check", "c.json"]) == 2, text[-60:]
        assert capsys.readouterr().out.startswith(" UNREADABLE  c.json\n")
    Path("c.json").write_text(whole.replace("certificate/1", "certificate/2"))
    assert run(["prove", "--check", "c.json"]) == 2
    Path("c.json").write_text(whole.replace('"proved"', '"refuted"', 1))
    assert run(["prove", "--check", "c.json"]) == 1
    capsys.readouterr()
    Path("c.json").write_bytes(b"\xff\xfe{}")
    assert run(["prove", "--check", "c.json"]) == 2
    assert "is not UTF-8 text (byte 0); no certificate" in capsys.readouterr().err
    assert run(["prove", "--check", "nowhere.json"]) == 2
    assert "does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    [
        ["--require", "form"], ["--candidates"], ["--override", "x=1"], ["--context", "9"],
        ["--ulp", "8"], ["--ulp", "0"], ["--ulp", ""],
    ],
)  # fmt: skip
def test_options_that_would_do_nothing_are_refused(capsys: Out, option: list[str]) -> None:
    assert run(["prove", config(), "-o", "json=c.json"]) == 0
    capsys.readouterr()
    assert run(["prove", "--check", "c.json", *option]) == 2
    assert f"{option[0]} has no meaning beside --check" in capsys.readouterr().err


def test_reports_are_refused_in_formats_of_findings(capsys: Out) -> None:
    assert run(["prove", config(), "-f", "github"]) == 2
    assert run(["prove", "config.json", "-o", "github=x.txt"]) == 2
    assert run(["prove", "--check", "c.json", "-o", "json=c.json"]) == 2
    assert "console, json or markdown" in capsys.readouterr().err


def test_overrides_and_lengths_reach_the_claims(capsys: Out) -> None:
    dynamic = config(rope_scaling={"rope_type": "dynamic", "factor": 2.0})
    run(["prove", dynamic, "--context", "8192", "--override", "rope_theta=5e5", "-f", "json"])
    found = json.loads(capsys.readouterr().out)
    forms = [s["form"] for s in found["schedules"]]
    assert all(f["parameters"]["rope_theta"] == "500000" for f in forms)
    assert all("rope_theta" not in f["sources"] for f in forms)
    assert 8192 in [f["parameters"]["length"] for f in forms]


def test_two_runs_give_the_same_bytes(capsys: Out) -> None:
    assert certificate(capsys, config()) == certificate(capsys, "config.json")


def test_proving_one_config_needs_neither_sympy_nor_numpy() -> None:
    code = (
        "import sys; from ropeaudit.cli.app import run; code = run(sys.argv[1:]); "
        "print(code, sorted({'numpy', 'yaml', 'sympy', 'torch', 'transformers', 'safetensors', "
        "'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    for scaling in ({}, {"rope_scaling": YARN | {"truncate": False}}):
        done = process("-c", code, "prove", config(**scaling))
        assert done.stderr == "0 []\n", done.stdout
