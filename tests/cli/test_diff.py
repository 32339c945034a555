"""``ropeaudit diff`` from the outside: codes, streams, files, and plain words for every mistake."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.cli.app import run
from tests.cli.configs import LLAMA3
from tests.gguf_files import write as write_gguf


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def config(name: str, **changes: Any) -> str:
    Path(name).write_text(json.dumps(LLAMA3 | changes, indent=1))
    return name


def conversion(name: str = "model.gguf", **changes: Any) -> str:
    """What a converter that forgets the factor tensor makes of it."""
    keys = {
        "context_length": 131072,
        "embedding_length": 4096,
        "block_count": 32,
        "attention.head_count": 32,
        "rope.freq_base": 500000.0,
        "rope.dimension_count": 128,
    }
    write_gguf(Path(name), "llama", keys | changes)
    return name


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    a = config("a.json")
    assert run(["diff", a, config("same.json", vocab_size=7)]) == 0
    assert run(["diff", a, conversion()]) == 1
    assert run(["diff", a, "nowhere.json"]) == 2
    assert run(["diff", a, config("bert.json", model_type="bert")]) == 3
    assert run(["diff", a, "bert.json", "--allow-unknown"]) == 0
    assert run(["diff", a, "model.gguf", "--exit-zero"]) == 0
    assert run(["diff", a, "bert.json", "--exit-zero"]) == 0
    assert run(["diff", a, "nowhere.json", "--exit-zero"]) == 2
    out, err = capsys.readouterr()
    assert out.count(" UNREADABLE\n") == 2
    assert err == ""


def test_the_code_does_not_depend_on_the_format() -> None:
    a, b = config("a.json"), conversion()
    for form in ("console", "json", "json-v1", "markdown"):
        assert run(["diff", a, b, "-f", form]) == 1


def test_the_page_names_what_was_lost(capsys: pytest.CaptureFixture[str]) -> None:
    run(["diff", config("a.json"), conversion()])
    page = capsys.readouterr().out
    assert page.startswith(" DIFFERENT  error\n  A  a.json  hf-config · llama\n")
    assert "factors missing: B has no rope_freqs.weight, which llama3 needs in a GGUF file" in page
    assert "scaling dropped: A has llama3 (factor 8), B has none" in page
    assert "phase drift" in page


def test_what_is_known_of_the_readable_side_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("cut.gguf").write_bytes(Path(conversion()).read_bytes()[:100])
    for pair in ((config("a.json"), "cut.gguf"), ("cut.gguf", "a.json")):
        assert run(["diff", *pair]) == 2
        page = capsys.readouterr().out
        assert "cut.gguf ends" in page
        assert "llama3  500000" in page
        side = "AB"[pair.index("a.json")]
        assert f"  {side} alone\n" in page


def test_json_stands_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", config("a.json"), conversion(), "-f", "json", "--context", "100,9000"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    document = json.loads(out)
    assert document["schema"] == "ropeaudit/diff/1"
    assert [p["context"] for p in document["pairs"]] == [100, 9000]
    assert document["verdict"] == "different"


def test_severity_gates_only_where_it_is_asked_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a = config("a.json")
    b = config("b.json", rope_scaling=LLAMA3["rope_scaling"] | {"factor": 8.5})
    assert run(["diff", a, b]) == 1
    assert "DIFFERENT  info" in capsys.readouterr().out
    assert run(["diff", a, b, "--fail-on", "info"]) == 1
    assert run(["diff", a, b, "--fail-on", "warning"]) == 0
    assert "below --fail-on warning" in capsys.readouterr().out
    # A level that was set for audit hides no difference.
    Path("ropeaudit.toml").write_text('fail-on = "error"\n')
    assert run(["diff", a, b]) == 1
    monkeypatch.setenv("ROPEAUDIT_FAIL_ON", "error")
    assert run(["diff", a, b]) == 1


def test_overrides_for_both_or_one(capsys: pytest.CaptureFixture[str]) -> None:
    a = config("a.json")
    assert run(["diff", a, a, "--override", "rope_theta=1e6"]) == 0
    assert run(["diff", a, a, "--override", "b:rope_theta=1e4"]) == 1
    page = capsys.readouterr().out
    assert "     with rope_theta=1e4\n" in page
    assert "base defaulted" in page
    scaling = json.dumps({"rope_scaling": None})
    assert run(["diff", a, a, "--override", f"a:{scaling}"]) == 1
    assert "scaling added" in capsys.readouterr().out
    assert run(["diff", a, a, "--override", "b:hidden_act=x"]) == 0
    assert "hidden_act=x changes no schedule" in capsys.readouterr().out
    for wrong in ("c:rope_theta=1", "b:rope_theta", "rope_theta="):
        assert run(["diff", a, a, "--override", wrong]) == 2
    assert capsys.readouterr().err.count("ropeaudit: --override") == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "none was given"),
        (["a.json"], "one was given"),
        (["a.json", "a.json", "a.json"], "3 were given"),
        (["-", "-"], "standard input can be read once"),
        (["a.json", "a.json", "-f", "github"], "console, json or markdown"),
        (["a.json", "a.json", "-o", "github=x"], "console, json or markdown"),
        (["a.json", "a.json", "-f", "xml"], "no report format xml"),
        (["a.json", "a.json", "--ulp", "two"], "--ulp is two"),
        (["a.json", "a.json", "--ulp", "-1"], "--ulp is -1"),
        (["a.json", "a.json", "--ulp", "1" * 30], "expected a whole number"),
        (["a.json", "a.json", "--context", "0"], "expected lengths from 1"),
        (["a.json", "a.json", "--fail-on", "bad"], "--fail-on is bad"),
        (["a.json", "a.json", "-o", "json=a.json"], "would overwrite"),
    ],
)
def test_mistakes(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(config("a.json")).read_bytes()
    assert run(["diff", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
    assert Path("a.json").read_bytes() == before


def test_files_and_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a = config("a.json")
    files = ["-o", "json=out.json", "-o", "markdown=out.md"]
    assert run(["diff", a, a, "-q", *files]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(Path("out.json").read_text())["verdict"] == "same"
    assert Path("out.md").read_text().startswith("## ropeaudit diff: same\n")
    assert run(["diff", a, conversion(), "-q"]) == 1
    assert capsys.readouterr().out != ""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    run(["diff", a, "model.gguf"])
    assert Path("summary.md").read_text().startswith("## ropeaudit diff: different (error)\n")


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a = config("a.json")

    class Stdin:
        buffer = io.BytesIO(Path(a).read_bytes())

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert run(["diff", a, "-"]) == 0
    assert "  B  -  hf-config" in capsys.readouterr().out


def test_a_tolerance(capsys: pytest.CaptureFixture[str]) -> None:
    """The closed form of a GGUF file is not to the bit what other engines compute."""
    a = config("a.json", rope_scaling=None)
    assert run(["diff", a, conversion()]) == 0
    assert "EQUIVALENT" in capsys.readouterr().out
    assert run(["diff", a, "model.gguf", "--ulp", "0"]) == 1
    assert "another order of arithmetic" in capsys.readouterr().out


def test_settings_are_shown_with_their_origin(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "--show-settings", "--fail-on", "warning"]) == 0
    assert "fail_on = warning  (command line)" in capsys.readouterr().out


def test_two_configs_load_no_array_library() -> None:
    code = (
        "import sys\nfrom ropeaudit.cli.app import run\n"
        f"code = run(['diff', {config('a.json')!r}, {config('b.json', rope_theta=1e4)!r}, '-q'])\n"
        "heavy = [m for m in ('numpy', 'yaml', 'sympy', 'mpmath', 'fractions', 'torch', "
        "'transformers') if m in sys.modules]\n"
        "print(code, heavy, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "1 []"


def test_diff_is_the_function_whatever_is_imported_first() -> None:
    for first in ("import ropeaudit.diff", "from ropeaudit.diff import compare"):
        code = (
            f"{first}\nimport ropeaudit\nfrom ropeaudit.diff.losses import kinds\n"
            "import ropeaudit.diff.pairing\nfrom ropeaudit import diff\n"
            "print(callable(ropeaudit.diff), diff is ropeaudit.diff, len(kinds()) > 20)"
        )
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "True True True"
