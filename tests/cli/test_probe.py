"""``probe`` from the outside: every format, its schema, files, pictures and mistakes in words."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ropeaudit.cli.app import run
from ropeaudit.report._probe import COLUMNS
from tests.report.test_schemas import _closed, _schema

SMALL = ("--length", "64", "--lengths", "128,256", "--frequencies", "1", "--target-index", "0",
         "--gamma", "0.01", "--ridge", "0")  # fmt: skip


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(["probe", *arguments]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return out


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "-f", "json"))


def test_the_published_table_beside_ours(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "kernel")
    assert re.search(r"  rope +0\.04172 +0\.2912 +1\.790 +8\.791 +8\.791 +agrees\n", out)
    noise = r"8\.834 +8\.819 +2 of 4 digits hold, the rest is float32 noise\n"
    assert re.search(rf"  direct_sum +.* +{noise}", out)
    assert "arXiv 2605.04217v2, table 3, T = 8192" in out
    assert re.search(r"  jordan_raw +65 +10\.8M\n", out)


def test_json_follows_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    check = Draft202012Validator(_closed(_schema("probe-1.json")))
    whole = document(capsys, "kernel")
    check.validate(whole)
    assert whole["published"]["length"] == 8192
    assert len(whole["cells"]) == 10 * 3 * 4
    small = document(capsys, "kernel", *SMALL, "--target", "mixed", "--basis", "jordan_raw")
    check.validate(small)
    assert small["published"] is None
    assert [c["length"] for c in small["cells"]] == [64, 128, 256]
    assert small["cells"][-1]["reference"] == pytest.approx(1.43172, rel=1e-5)


def test_csv_and_markdown_and_files(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "kernel", *SMALL, "--target", "d/L", "-f", "csv", "-o", "markdown=a.md",
               "-o", "json=a.json")  # fmt: skip
    rows = list(csv.reader(io.StringIO(out)))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 1 + 10 * 3
    assert all(len(r) == len(COLUMNS) for r in rows)
    # Another spelling of a shipped target is that target.
    assert {r[1] for r in rows[1:]} == {"linear"}
    page = Path("a.md").read_text()
    assert "| `rope` |" in page
    assert "Target `d/L`." in page
    assert json.loads(Path("a.json").read_text())["targets"][0]["name"] == "linear"


def test_targets_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "kernel", *SMALL, "--target", "exp(-d/L)*sin(omega*d)", "--target",
                     "phase")  # fmt: skip
    assert [t["name"] for t in found["targets"]] == ["exp(-d/L)*sin(omega*d)", "phase"]
    errors = {(c["basis"], c["target"], c["length"]): c["reference"] for c in found["cells"]}
    assert errors["rope", "phase", 256] < 1e-25


def test_precision_picks_what_the_tables_show(capsys: pytest.CaptureFixture[str]) -> None:
    wide = said(capsys, "kernel", "--target", "mixed", "--basis", "jordan_raw")
    single = said(capsys, "kernel", "--target", "mixed", "--basis", "jordan_raw", "--precision",
                  "float32")  # fmt: skip
    assert "float64, QR" in wide
    assert "2.037" in wide
    assert "float32, normal equations" in single
    assert wide.splitlines()[6] != single.splitlines()[6]


def test_verbose_shows_every_run(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "kernel", *SMALL, "-v", "--target", "mixed")
    assert "1, cos(w d), sin(w d), d/L, exp(-g d), (tau/L) exp(-g d)" in out
    assert re.search(r"basis +target +float64 +forward +backward +cholesky\n", out)


def test_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    code = run(["probe", "kernel", *SMALL, "--target", "$d/0.$".replace("$", ""), "--plot", "p"])
    assert code == 2  # no finite target, no picture
    assert not Path("p").exists()
    capsys.readouterr()
    arguments = [*SMALL, "--target", "d**2/L**2", "--basis", "rope", "--basis", "alibi"]
    assert run(["probe", "kernel", *arguments, "--plot", "p"]) == 0
    names = sorted(p.name for p in Path("p").iterdir())
    assert names == ["kernel-0-d-2-l-2.png", "kernel-0-d-2-l-2.svg"]
    assert capsys.readouterr().err.count("ropeaudit: drew ") == 2
    drawn = Path("p", names[1]).read_text()
    assert "Kernel probe: d**2/L**2" in drawn
    assert "rope (" in drawn
    assert "target" in drawn


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no probe given; name one, as in: probe kernel"),
        (("kernal",), "no probe is called kernal; did you mean kernel?"),
        (("kernel", "--target", "lg(d)"), "no function is called lg; did you mean log?"),
        (("kernel", "--target", "log(d)"), "no finite number at d = 0"),
        (("kernel", "--basis", "rpoe"), "no basis is called rpoe; did you mean rope?"),
        (("kernel", "--length", "many"), "--length is many, expected a whole number"),
        (("kernel", "--lengths", "64,x"), "--lengths is x, expected a whole number"),
        (("kernel", "--gamma", "x"), "--gamma is x, expected a number"),
        (("kernel", "--gamma", "nan"), "gamma is nan, expected a number from 0 on"),
        (("kernel", "--precision", "fp8"), "--precision is fp8, expected float64 or float32"),
        (("kernel", "-f", "github"), "format github is for findings"),
        (("kernel", "-o", "github=x"), "format github is for findings"),
    ],
)
def test_mistakes_in_words(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    assert run(["probe", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
