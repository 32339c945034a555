"""Every kind of encoding from the command line: shown, audited, perturbed, written, compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ropeaudit.cli.app import run
from ropeaudit.encodings.interface import load, modules
from tests.encodings import every_kind as kinds

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


def closed(schema: Any) -> Any:
    """The schema without room for keys that it does not describe."""
    if isinstance(schema, dict):
        found = {k: closed(v) for k, v in schema.items()}
        return {"additionalProperties": False, **found} if "properties" in found else found
    return [closed(v) for v in schema] if isinstance(schema, list) else schema


def document(capsys: pytest.CaptureFixture[str], code: int, name: str, *arguments: str) -> Any:
    """What a command prints as JSON, held against the schema ``name``."""
    assert run([*arguments, "-f", "json"]) == code
    found = json.loads(capsys.readouterr().out)
    schema = json.loads((SCHEMAS / f"{name}-1.json").read_text())
    Draft202012Validator(closed(schema)).validate(found)
    return found


def test_every_kind_has_a_case() -> None:
    known = {kind for module in modules() for kind in load(module).KINDS}
    assert {kind for kind, _, _ in kinds.CASES.values()} == known


@pytest.mark.parametrize("name", kinds.CASES)
def test_shown_and_audited(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target, stated = kinds.target(name, tmp_path), kinds.arguments(name)
    shown = document(capsys, 0, "schedules", "show", target, *stated)
    (subject,) = shown["subjects"]
    assert {e["kind"] for e in subject["encodings"]} == {kinds.CASES[name][0]}
    assert subject["encodings"][0]["spectrum"]["units"]
    assert run(["show", target, *stated]) == 0
    assert subject["encodings"][0]["name"] in capsys.readouterr().out
    code = run(["audit", target, *stated])
    assert code in (0, 1)
    page = capsys.readouterr().out
    assert ("fail" in page) is (code == 1)


@pytest.mark.parametrize("name", kinds.CASES)
def test_perturbed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target, stated = kinds.target(name, tmp_path), kinds.arguments(name)
    recipe = kinds.recipe(name)
    made = document(capsys, 0, "variant", "perturb", target, "--apply", recipe, *stated)
    assert made["recipe"]["text"] == recipe.replace("1e-3", "0.001")
    assert made["schedules"] == []
    for encoding in made["encodings"]:
        assert encoding["changed"] is True
        (measure,) = encoding["measures"]
        assert 1e-4 < measure["max_abs_dlog"] < 1e-2
        assert measure["channel"] is not None
        assert measure["max_cluster"] >= 1
    assert run(["perturb", target, "--apply", recipe, *stated]) == 0
    page = capsys.readouterr().out
    assert "largest displacement at " in page
    assert run(["audit", target, "--apply", recipe, *stated, "-f", "json"]) in (0, 1)
    (judged,) = json.loads(capsys.readouterr().out)["subjects"]
    assert judged["notes"][-1]["message"] == f"judged as the variant {made['recipe']['text']}"
    assert judged["encodings"][0]["provenance"][-1]["field"] == "recipe"
    several = document(
        capsys, 0, "variant", "perturb", target, "--apply", recipe, "--apply", "identity", *stated
    )
    assert [e["changed"] for e in several["variants"][1]["encodings"]] == [False] * len(
        made["encodings"]
    )


@pytest.mark.parametrize("name", kinds.CASES)
def test_compared_with_itself(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, stated = kinds.target(name, tmp_path), kinds.arguments(name)
    found = document(capsys, 0, "diff", "diff", target, target, *stated)
    assert found["verdict"] == "same"
    assert found["encodings"]
    assert not found["unpaired_encodings"]
    for pair in found["encodings"]:
        assert (pair["verdict"], pair["max_abs_dlog"], pair["lost"]) == ("same", 0.0, [])
    assert run(["diff", target, target, *stated]) == 0
    assert "SAME" in capsys.readouterr().out
    assert run(["diff", target, target, *stated, "-f", "markdown"]) == 0
    assert "diff: same" in capsys.readouterr().out


@pytest.mark.parametrize("name", [n for n in kinds.CASES if n not in kinds.UNSTORED])
def test_written_and_compared(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The variant that was written differs from its source by what was printed."""
    target, stated = kinds.target(name, tmp_path), kinds.arguments(name)
    recipe = kinds.recipe(name)
    for suffix in ("safetensors", "json"):
        file = str(tmp_path / f"variant.{suffix}")
        made = document(
            capsys, 0, "variant", "perturb", target, "--apply", recipe, "--to", file, *stated
        )
        assert made["written"][0]["path"] == file
        both = stated if name != "ape-tree" else [*stated, "--encoding", "ape-layout=tree"]
        found = document(capsys, 1, "diff", "diff", target, file, *both)
        assert found["verdict"] == "different"
        assert len(found["encodings"]) == len(made["encodings"])
        for pair, encoding in zip(found["encodings"], made["encodings"], strict=True):
            (measure,) = encoding["measures"]
            quantity = next(q for q in pair["quantities"] if q["quantity"] == measure["quantity"])
            assert quantity["max_abs_dlog"] == pytest.approx(measure["max_abs_dlog"], rel=0.01)
            worst = quantity["worst"]
            assert (worst["layer"], worst["head"]) == (measure["layer"], measure["head"])
            others = [q for q in pair["quantities"] if q is not quantity]
            assert all(q["differing"] == 0 for q in others)
    assert run(["diff", target, file, *both]) == 1
    assert "changed: " in capsys.readouterr().out
    assert run(["diff", target, file, *both, "-f", "markdown"]) == 1
    assert "changed**: " in capsys.readouterr().out
    # What was written, read again, is what was written.
    again = [str(tmp_path / "variant.safetensors"), file]
    assert run(["diff", *again, *both]) == 0


@pytest.mark.parametrize("name", sorted(kinds.UNSTORED))
def test_what_no_checkpoint_stores(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, stated = kinds.target(name, tmp_path), kinds.arguments(name)
    command = ["perturb", target, "--apply", kinds.recipe(name), *stated, "--to"]
    assert run([*command, str(tmp_path / "x.safetensors")]) == 2
    assert "no checkpoint stores the" in capsys.readouterr().err
    assert not (tmp_path / "x.safetensors").exists()
    assert run([*command, str(tmp_path / "x.json")]) == 0
    assert "a record: no checkpoint stores these numbers" in " ".join(
        capsys.readouterr().out.split()
    )
    written = json.loads((tmp_path / "x.json").read_text())
    assert written["encodings"][0]["lists"][0]["values"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--apply", "yarn:factor=2,original=64"], "this law builds a table from the base of a"),
        (["--apply", "int8:sym@layers=0"], "has one set for all layers; leave @layers out"),
        (["--apply", "int8:sym@head=9"], "has no head 9, the last one is 1"),
        (["--apply", "int8:sym@damping"], "has no damping that is not 0; name what to change"),
        (["--apply", "int8:sym@nobody"], "no schedule of layer type nobody; known: damping, freq"),
        (["--apply", "int8:sym@slopes"], "no schedule of layer type slopes; did you mean slope?"),
        (["--apply", "cluster:at=0,codim=2,gap=40"], "there is no channel 40"),
        (["--apply", "int8:sym", "--to", "hf=out"], "so hf= cannot hold it; write a FILE.safe"),
        (["--apply", "int8:sym", "--to", "gguf=out.gguf"], "so gguf= cannot hold it"),
        (["--apply", "int8:sym", "--encoding", "ape-skew"], "is not KEY=VALUE"),
    ],
)
def test_slips(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = kinds.target("ape-sequence", tmp_path)
    assert run(["perturb", target, *arguments]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert out == ""


def test_one_head_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = kinds.target("rope-mixed", tmp_path)
    recipe = "zero:from=0,to=1@rope-mixed@layers=1@head=0"
    made = document(capsys, 0, "variant", "perturb", target, "--apply", recipe)
    (encoding,) = made["encodings"]
    (measure,) = encoding["measures"]
    assert (measure["layer"], measure["head"], measure["zeroed"]) == (1, 0, 2)
    zeroed = [(x["layer"], x["head"]) for x in encoding["lists"] if 0.0 in x["values"]]
    assert zeroed == [(1, 0)]


def test_sides_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = kinds.target("rope-mixed", tmp_path)
    both = ["--encoding", "grid=14x14", "--encoding", "b:test-grid=24x24"]
    found = document(capsys, 1, "diff", "diff", target, target, *both)
    (pair,) = found["encodings"]
    assert pair["kinds"] == ["grid in use changed"]
    assert pair["lost"] == ["grid in use changed: 14 x 14 in A, 24 x 24 in B"]
    assert (pair["severity"], pair["max_abs_dlog"]) == ("info", 0.0)
    assert run(["diff", target, target, "--encoding", "c:grid=14x14"]) == 2
    assert "names the side c; write a: or b: in front" in capsys.readouterr().err
