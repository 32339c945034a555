"""``perturb`` and ``audit --apply`` from the outside: streams, exit codes, mistakes in words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.cli.app import run

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(LLAMA, indent=2))
    Path("bert.json").write_text('{"model_type": "bert", "hidden_size": 64}')
    Path("sweep.yaml").write_text(
        'variants:\n  - int8:sym\n  - recipe: "noise:eps=1e-3,seed={seed}"\n    seeds: 2\n'
    )


def document(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert run([*arguments, "-f", "json"]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_a_variant_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "perturb", "config.json", "--apply", "int:bits=8,mode=sym")
    assert found["schema"] == "ropeaudit/variant/1"
    assert found["recipe"]["text"] == "int8:sym"
    assert found["recipe"]["steps"] == [
        {
            "text": "int8:sym",
            "head": "int8",
            "parameters": {"bits": 8, "mode": "sym"},
            "scope": None,
            "found": [],
        }
    ]
    assert [s["name"] for s in found["schedules"]] == ["text"]
    assert found["max_cluster"] == 12
    assert found["written"] == []
    assert found["measures"][0]["max_abs_dlog"] == "inf"
    assert found["measures"][0]["largest_dlog"] == "-inf"
    assert found["schedules"][0]["inv_freq"].count(0.0) == found["measures"][0]["zeroed"] == 12


def test_the_same_bytes_twice(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["perturb", "config.json", "--apply", "noise:eps=1e-2,seed=3+int4:sym@layers=1-2"]
    first = document(capsys, *arguments)
    again = document(capsys, "perturb", "config.json", "--apply", first["recipe"]["text"])
    assert again == first
    command = [sys.executable, "-m", "ropeaudit", *arguments, "-f", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == first


def test_several_variants_stand_in_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "perturb", "config.json", "--plan", "sweep.yaml", "--apply", "log8")
    assert [v["recipe"]["text"] for v in found["variants"]] == [
        "log8",
        "int8:sym",
        "noise:eps=0.001,seed=0",
        "noise:eps=0.001,seed=1",
    ]
    assert set(found) == {"schema", "tool", "target", "variants"}
    assert run(["perturb", "config.json", "--plan", "sweep.yaml"]) == 0
    out = capsys.readouterr().out
    assert "3 variants" in out
    assert out.count("noise:eps=0.001") == 2


def test_pages_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["perturb", "config.json", "--apply", "shift:at=8,gap=2,dir=up"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "shift:at=8,gap=2,dir=up" in out
    assert "channel 8 moved on by +0.001 in log" in out
    assert "text before" in out
    assert "text after" in out
    assert run(["perturb", "config.json", "--apply", "swap:at=0,gap=1", "-v"]) == 0
    out = capsys.readouterr().out
    assert "channel" in out
    assert "drift" in out
    assert run(["perturb", "config.json", "--apply", "identity"]) == 0
    assert "no table is changed" in capsys.readouterr().out


def test_reports_as_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["perturb", "config.json", "--apply", "log4", "-o", "json=out.json"]) == 0
    assert json.loads(Path("out.json").read_text())["recipe"]["text"] == "log4"
    assert capsys.readouterr().out.startswith("config.json")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["config.json"], 2, "no recipe given"),
        (["--apply", "log8"], 2, "no target given"),
        (["config.json", "--apply", "int9:sym"], 2, "did you mean int"),
        (["config.json", "--apply", "swap:at=0,gap=99"], 2, "no channel 99"),
        (["config.json", "--apply", "log8@layers=9"], 2, "the last layer that turns is 3"),
        (["config.json", "--apply", "log8@sliding"], 2, "no schedule of layer type sliding"),
        (["config.json", "--apply", "longrope:none.json"], 2, "cannot read the factor file"),
        (["config.json", "--plan", "none.yaml"], 2, "cannot read the plan"),
        (["config.json", "--apply", "log8", "-f", "github"], 2, "variants come as console or json"),
        (["nowhere.json", "--apply", "log8"], 2, "nowhere.json"),
        (["bert.json", "--apply", "log8"], 3, "nothing to perturb in bert.json"),
        (
            ["config.json", "--apply", "log8", "--apply", "log4", "--to", "x.json"],
            2,
            "--to writes one variant",
        ),
        (["config.json", "--apply", "log8", "--to", "x.xyz"], 2, "no output that is known"),
    ],
)
def test_mistakes(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["perturb", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_a_variant_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["perturb", "config.json", "--apply", "int8:sym", "--to", "table.json"]
    found = document(capsys, *arguments)
    (written,) = found["written"]
    assert written["path"].endswith("table.json")
    assert json.loads(Path("table.json").read_text())["recipe"]["text"] == "int8:sym"
    assert run(arguments) == 2
    assert "--force" in capsys.readouterr().err
    assert run([*arguments, "--force"]) == 0
    assert "table.json" in capsys.readouterr().out


def test_audit_judges_a_variant(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "audit", "config.json", "--apply", "int8:sym", code=1)
    (subject,) = found["subjects"]
    assert subject["target"] == "config.json"
    assert [s["name"] for s in subject["schedules"]] == ["text", "text/stored"]
    assert {"kind": "variant", "message": "judged as the variant int8:sym, beside its own config"}
    assert subject["notes"][-1]["kind"] == "variant"
    rules = {f["rule"] for f in subject["findings"] if f["severity"] == "error"}
    assert rules == {"RA101", "RA104", "RA401"}
    assert run(["audit", "config.json", "--apply", "identity"]) == 0


def test_audit_judges_every_target_as_every_variant(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.json").write_text(json.dumps(LLAMA | {"rope_theta": 5e5}))
    found = document(
        capsys, "audit", "config.json", "other.json", "bert.json", "nowhere.json",
        "--plan", "sweep.yaml", code=2,
    )  # fmt: skip
    assert len(found["subjects"]) == 12
    verdicts = [s["verdict"] for s in found["subjects"]]
    assert verdicts[:6] == ["fail", "fail", "fail", "fail", "warn", "fail"]
    assert verdicts[6:] == ["unknown"] * 6


def test_a_recipe_that_does_not_fit_one_target_is_its_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("wide.json").write_text(json.dumps(LLAMA | {"head_dim": 128}))
    found = document(
        capsys, "audit", "config.json", "wide.json", "--apply", "zero:from=40,to=41", code=2
    )
    first, second = found["subjects"]
    assert "no channel 41" in first["error"]["message"]
    assert second["error"] is None
    assert second["verdict"] == "fail"
    assert run(["audit", "config.json", "--apply", "nonsense"]) == 2
    assert "no perturbation nonsense" in capsys.readouterr().err


def test_nothing_dear_is_loaded() -> None:
    code = (
        "import sys\nfrom ropeaudit.cli.app import run\n"
        "run(['perturb', 'config.json', '--apply', 'int8:sym+noise:eps=1e-3,seed=1'])\n"
        "print([m for m in ('numpy', 'yaml', 'sympy', 'mpmath', 'torch', 'transformers', "
        "'fractions') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
