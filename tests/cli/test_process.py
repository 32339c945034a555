"""Real processes: what is imported, what completion says, what a closed pipe does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.configs import LLAMA3

HEAVY = (
    "numpy", "yaml", "sympy", "mpmath", "torch", "transformers", "huggingface_hub", "gguf",
    "safetensors", "rich", "pydantic", "tomllib", "multiprocessing", "fractions", "decimal",
)  # fmt: skip


def process(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **more.pop("env", {})}  # type: ignore[dict-item]
    return subprocess.run(
        [sys.executable, "-X", "utf8", *arguments],
        capture_output=True, text=True, timeout=60, env=environment, **more,  # type: ignore[call-overload]
    )  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA3))
    return str(path)


@pytest.mark.parametrize(
    "arguments",
    [["audit"], ["audit", "-f", "json"], ["audit", "-f", "github"], ["audit", "-v"], ["show"]],
)
def test_one_config_imports_nothing_heavy(config: str, arguments: list[str]) -> None:
    code = (
        "import sys; from ropeaudit.cli.app import run; code = run(sys.argv[1:]); "
        f"print(code, sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"
    )
    done = process("-c", code, *arguments, config)
    assert done.stderr == "0 []\n", done.stdout


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from ropeaudit.cli.app import run; run(['--help']); "
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"
    )
    assert process("-c", code).stderr == "[]\n"


def test_module_and_version() -> None:
    done = process("-m", "ropeaudit", "--version")
    assert done.returncode == 0
    assert done.stdout.startswith("ropeaudit ")


@pytest.mark.parametrize("arguments", [["show", "-f", "json"], ["audit"], ["audit", "--help"]])
def test_a_closed_pipe_is_no_finding(config: str, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "ropeaudit", *arguments, config],
            stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (2, "")


def test_a_narrow_encoding_gets_plain_signs(config: str) -> None:
    environment = {"PYTHONIOENCODING": "ascii"}
    done = process("-m", "ropeaudit", "audit", config, env=environment)
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "8192 -> 131072" in done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ropeaudit ex", "explain"),
        ("ropeaudit audit --rules de", "deploy"),
        ("ropeaudit explain RA10", "RA101"),
        ("ropeaudit explain dup", "duplicate-frequency"),
        ("ropeaudit audit --format js", "json"),
    ],
)
def test_completion(words: str, expected: str) -> None:
    done = process(
        "-m",
        "ropeaudit",
        env={
            "_ROPEAUDIT_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        },
    )
    assert expected in done.stdout.split()
    assert done.stderr == ""


MAIN = """
import os, sys
from ropeaudit.cli import app
sys.argv[0] = "ropeaudit"
try:
    app.main()
except SystemExit as stop:
    print("code", stop.code, os.environ.get("OPENBLAS_NUM_THREADS"))
"""


@pytest.mark.parametrize(
    ("arguments", "given", "found"),
    [
        (["rules"], None, "1"),
        (["rules"], "3", "3"),
        (["ppl", "--help"], None, "None"),
        (["ppl", "--help"], "3", "3"),
    ],
)
def test_the_program_leaves_numpy_one_thread_and_ppl_all(
    arguments: list[str], given: str | None, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small matrices gain nothing from threads; models do. Whoever sets the variable decides."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if given is not None:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", given)
    done = process("-c", MAIN, *arguments)
    assert done.stdout.splitlines()[-1] == f"code 0 {found}", done.stderr


def test_a_program_that_imports_the_package_keeps_its_threads() -> None:
    code = (
        "import os; os.environ.pop('OPENBLAS_NUM_THREADS', None)\n"
        "import ropeaudit, ropeaudit.cli.app as app\n"
        "app.run(['rules']); print('found', os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    assert process("-c", code).stdout.splitlines()[-1] == "found None"


@pytest.mark.slow
def test_torch_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    count = "import torch\nprint(torch.get_num_threads())\n"
    alone = process("-c", count).stdout
    assert int(alone) >= 1
    assert process("-c", MAIN + count, "rules").stdout.splitlines()[-1] == alone.strip()
