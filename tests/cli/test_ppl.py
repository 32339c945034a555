"""The ppl command: runs, formats, stores, mistakes, an interrupt."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import ropeaudit
from ropeaudit.cli import _ppl_run
from ropeaudit.cli._progress import Bar, clock
from ropeaudit.cli.app import run
from ropeaudit.perplexity import demo
from tests.report import measured

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "perplexity-1.json"
SMALL = {
    "vocab_size": 256,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 128,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    "initializer_range": 0.3,
    "bos_token_id": None,
    "eos_token_id": None,
}
QUICK = ("--corpus", "text.txt", "--context", "32", "--windows", "8")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights over bytes, with the demo's tokenizer."""
    folder = tmp_path_factory.mktemp("ppl") / "small"
    torch.manual_seed(1)
    transformers.logging.disable_progress_bar()
    transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL)).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(demo.folder() / name, folder)
    return folder


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small").symlink_to(model, target_is_directory=True)
    words = (f"line {n} says {n * n % 97} and no more\n" for n in range(40))
    Path("text.txt").write_text("".join(words))
    Path("sweep.yaml").write_text(
        "contexts: [16, 32]\nwindows: 4\ncorpora: [text.txt]\n"
        "variants: [int8:sym, {recipe: 'noise:eps=1e-2,seed={seed}', seeds: 2}]\n"
    )


def document(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert run(["ppl", *arguments, "-f", "json"]) == code
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(out)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)
    return found


def test_variants_beside_the_base(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(
        capsys, "small", *QUICK, "--variant", "int:bits=4,mode=sym", "--variant", "identity"
    )
    assert found["model"] == "small"
    assert found["corpus"]["name"] == "text.txt"
    base, int4, same = found["cells"]
    assert [c["recipe"] for c in found["cells"]] == [None, "int4:sym", "identity"]
    assert {(c["context"], c["windows"], c["tokens"]) for c in found["cells"]} == {(32, 8, 248)}
    assert int4["ppl"] != base["ppl"]
    assert int4["inflation"] == pytest.approx(int4["ppl"] / base["ppl"])
    assert (same["nll_sum"], same["schedule_id"]) == (base["nll_sum"], base["schedule_id"])
    assert same["inflation"] == 1.0
    again = document(capsys, "small", *QUICK, "--variant", "int4:sym")
    assert [c["nll_sum"] for c in again["cells"]] == [base["nll_sum"], int4["nll_sum"]]


def test_without_variants_and_context_the_model_decides(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = document(capsys, "small", "--corpus", "text.txt", "--windows", "2")
    assert found["settings"]["contexts"] == [128]
    assert [c["recipe"] for c in found["cells"]] == [None]


def test_a_plan_with_options_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "small", "--plan", "sweep.yaml", "--windows", "3", "--scoring",
                     "second-half", "--variant", "log8", "--bos", "--no-bos")  # fmt: skip
    assert found["settings"]["windows"] == 3
    assert found["settings"]["scoring"] == "second-half"
    recipes = [None, "log8", "int8:sym", "noise:eps=0.01,seed=0", "noise:eps=0.01,seed=1"]
    assert [c["recipe"] for c in found["cells"]] == 2 * recipes
    assert [c["tokens"] for c in found["cells"]] == [3 * 7] * 5 + [3 * 15] * 5


def test_several_models_and_texts(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.txt").write_text("something else altogether, long enough to read " * 9)
    texts = ("--corpus", "text.txt", "--corpus", "other.txt")
    found = document(capsys, "small", *texts, "--context", "16", "--windows", "2")
    assert [r["corpus"]["name"] for r in found["runs"]] == ["text.txt", "other.txt"]
    arguments = ["ppl", "small", "nowhere", *QUICK, "-f", "csv"]
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out.count("\n") == 2
    assert "nowhere on text.txt: there is no nowhere" in err
    assert err.count("\n") == 1


def test_every_format_and_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    arguments = ["ppl", "small", *QUICK, "--variant", "int4:sym", "--plot", "pictures"]
    files = ("json=a.json", "csv=a.csv", "markdown=a.md", "console=a.txt")
    assert run([*arguments, *(w for f in files for w in ("-o", f))]) == 0
    out, err = capsys.readouterr()
    assert "int4:sym" in out
    assert "nats per token" not in out
    assert err.count("ropeaudit: drew pictures/") == 6
    assert Path("pictures/heat-map.svg").is_file()
    assert json.loads(Path("a.json").read_text())["schema"] == "ropeaudit/perplexity/1"
    assert Path("a.csv").read_text().startswith("model,corpus,")
    assert Path("a.md").read_text().startswith("## Perplexity of `small`")
    assert Path("a.txt").read_text() == out
    assert run(["ppl", "small", *QUICK, "-q"]) == 0
    assert capsys.readouterr().out == ""


def test_a_store_keeps_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("small", *QUICK, "--store", "cells.jsonl")
    first = document(capsys, *arguments, "--variant", "int4:sym")
    size = Path("cells.jsonl").stat().st_size
    again = document(capsys, *arguments, "--variant", "int4:sym")
    assert Path("cells.jsonl").stat().st_size == size
    assert again["cells"] == first["cells"]
    Path("cells.jsonl").write_text("this is no store\n")
    assert run(["ppl", *arguments]) == 2
    assert "is no store of measurements" in capsys.readouterr().err


def test_a_full_disk_has_its_code_and_the_report_all_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        found = document(capsys, "small", *QUICK, "--store", "s.jsonl", code=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [c["windows"] for c in found["cells"]] == [8]
    assert "cannot write to the store s.jsonl" in found["notes"][0]


def test_a_model_is_loaded_once_for_several_texts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ropeaudit.perplexity import loading

    load, loaded = loading.load, []

    def counted(reference: str, **options: Any) -> loading.Loaded:
        loaded.append(reference)
        return load(reference, **options)

    monkeypatch.setattr(loading, "load", counted)
    Path("other.txt").write_text(Path("text.txt").read_text() + "one line more\n")
    assert run(["ppl", "small", *QUICK, "--corpus", "other.txt"]) == 0
    assert loaded == ["small"]


def test_an_interrupt_loses_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["small", *QUICK, "--windows", "12", "--variant", "int4:sym", "--store", "s.jsonl"]
    calls = []

    def interrupt(self: Bar, done: int, total: int, left: float | None) -> None:
        calls.append(done)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)

    # A process that a shell put into the background starts with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(Bar, "__call__", interrupt)
            found = document(capsys, *arguments, code=130)
    finally:
        signal.signal(signal.SIGINT, before)
    assert found["interrupted"]
    assert [c["recipe"] for c in found["cells"]] == [None, "int4:sym"]
    assert 0 < found["cells"][1]["windows"] < 12
    whole = document(capsys, *arguments)
    assert not whole["interrupted"]
    assert [c["windows"] for c in whole["cells"]] == [12, 12]
    fresh = document(capsys, *arguments[:-2])
    assert [c["nll_sum"] for c in whole["cells"]] == [c["nll_sum"] for c in fresh["cells"]]


def test_a_failed_cell_is_said_without_a_report_too(capsys: pytest.CaptureFixture[str]) -> None:
    beyond = "cluster:at=0,codim=2,gap=1,to=1e38"  # angles that float32 cannot hold
    assert run(["ppl", "small", *QUICK, "--variant", beyond, "-q"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "at 32 tokens: " in err


def test_a_failed_cell_and_an_interrupt_have_their_codes() -> None:
    done = _ppl_run.Done()
    assert done.code == 0
    _ppl_run._take(done, measured.result(), demo=False)
    assert (done.code, len(done.results)) == (2, 1)
    _ppl_run._take(done, measured.result(interrupted=True, cells=(), failures=()), demo=True)
    assert (done.code, len(done.results)) == (130, 1)


MISTAKES = [
    ([], "no model given"),
    (["nowhere"], "there is no nowhere"),
    (["text.txt"], "text.txt"),
    (["small", "--demo"], "leave MODEL out"),
    (["--demo", "--corpus", "text.txt"], "leave --corpus out"),
    (["--demo", "--preset", "quick"], "--demo and --preset each say what to measure"),
    (["small", "--variant", "int9:sym"], "did you mean int"),
    (["small", "--preset", "quik"], "did you mean quick"),
    (["small", "--plan", "none.yaml"], "cannot read the plan"),
    (["small", "--corpus", "nothing"], "no text nothing"),
    (["small", "--corpus", "text.txt", "--context", "4096"], "too few for one window of 4,096"),
    (["small", "--corpus", "text.txt", "--context", "1"], "context length is 1"),
    (["small", *QUICK, "--bos"], "no BOS token"),
    (["small", *QUICK, "--windows", "two"], "--windows is two, expected a whole number"),
    (["small", *QUICK, "--batch", "-1"], "--batch is -1"),
    (["small", *QUICK, "--precision", "high"], "--precision is high, expected a number"),
    (["small", *QUICK, "--scoring", "ful"], "did you mean full"),
    (["small", *QUICK, "--dtype", "float23"], "did you mean float32"),
    (["small", *QUICK, "--device", "cuda:99"], "cuda:99"),
    (["small", *QUICK, "--launcher", "lokal"], "did you mean local"),
    (["small", *QUICK, "--address", "auto"], "leave --address out"),
    (["small", *QUICK, "-f", "github"], "measurements come as console, json, csv or markdown"),
    (["small", *QUICK, "-o", "csw=x"], "no report format csw"),
    (["small", *QUICK, "--plot", "no/where"], "lies in a folder that does not exist"),
    (["small", *QUICK, "--variant", "swap:at=0,gap=99"], "no channel 99"),
]


@pytest.mark.parametrize(("arguments", "said"), MISTAKES, ids=[" ".join(a) for a, _ in MISTAKES])
def test_mistakes(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    if "--plot" in arguments:
        pytest.importorskip("matplotlib")
    assert run(["ppl", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1, err


def test_csv_is_a_format_of_measurements_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "small", "-f", "csv"]) == 2
    assert "no report format csv" in capsys.readouterr().err


def test_a_missing_extra_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run(["ppl", "small", *QUICK, "--store", "cells.jsonl"]) == 2
    assert "pip install 'ropeaudit[ppl]'" in capsys.readouterr().err
    assert not Path("cells.jsonl").exists()


def test_the_bar_is_drawn_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    leader, follower = os.openpty()
    with os.fdopen(follower, "w") as terminal:
        bar = Bar(terminal)
        bar.begin("2/3")
        bar(1000, 4000, 65.2)
        bar(1001, 4000, 65.1)  # too soon after the last one to be drawn
        bar(4000, 4000, 0.0)
        bar.end()
        said = ""
        while not said.endswith("\r\x1b[K"):
            said += os.read(leader, 4096).decode()
    os.close(leader)
    assert said.split("\r") == [
        "",
        "2/3 loading ...\x1b[K",
        "2/3 [######..................] 25 % of 4,000 tokens, 1:05 left\x1b[K",
        "2/3 [########################] 100 % of 4,000 tokens\x1b[K",
        "\x1b[K",
    ]
    with Path("not-a-terminal").open("w+") as file:
        Bar(file)(1, 2, None)
        assert file.tell() == 0
    monkeypatch.setenv("TERM", "dumb")
    assert not Bar(None)._on


@pytest.mark.parametrize(
    ("seconds", "said"), [(-1, "0 s"), (59.4, "59 s"), (60, "1:00"), (3599.6, "1:00:00")]
)
def test_times(seconds: float, said: str) -> None:
    assert clock(seconds) == said


def test_a_program_measures_too(capsys: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {"corpus": "text.txt", "contexts": 32, "windows": 8}
    by_path = ropeaudit.measure(Path("small"), "int4:sym", **options)
    live = transformers.LlamaForCausalLM.from_pretrained("small", dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained("small")
    in_memory = ropeaudit.measure(live, ["int4:sym"], tokenizer=tokenizer, **options)
    numbers = [[c.nll_sum for c in r.cells] for r in (by_path, in_memory)]
    assert numbers[0] == numbers[1]
    with pytest.raises(ropeaudit.UsageError, match="a model in memory has no files"):
        ropeaudit.measure(live, tokenizer=tokenizer, store="s.jsonl", **options)
    kept = ropeaudit.measure("small", "int4:sym", store="s.jsonl", **options)
    assert [c.nll_sum for c in kept.cells] == numbers[0]
    with pytest.raises(TypeError, match="windoes"):
        ropeaudit.measure("small", windoes=3)
