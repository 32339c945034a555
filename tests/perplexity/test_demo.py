"""The model that is shipped: what it is, what its tokens are, and what it has to show."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ropeaudit
from ropeaudit.errors import SourceError
from ropeaudit.perplexity import corpora, demo
from ropeaudit.perplexity.records import Cell, Result

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

ROOT = Path(__file__).parents[2]
FOLDER = demo.folder()


def script() -> Any:
    """``fixtures/demo/train.py`` as a module."""
    spec = importlib.util.spec_from_file_location("train", ROOT / "fixtures" / "demo" / "train.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def log() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / "training.jsonl").read_text().splitlines()]


def test_the_model_is_small_and_what_the_script_makes() -> None:
    config, made = json.loads((FOLDER / "config.json").read_text()), script().CONFIG
    assert {name: config[name] for name in made} == made
    assert config["max_position_embeddings"] >= 1024
    assert config["dtype"] == "float16"
    assert (FOLDER / "model.safetensors").stat().st_size <= 6_000_000
    names = {p.name for p in FOLDER.iterdir() if p.is_file()}
    assert not [n for n in names if n.endswith((".bin", ".pt", ".pth", ".pkl"))]
    assert ropeaudit.audit(FOLDER).verdict is ropeaudit.Verdict.PASS


def test_the_training_log_is_of_this_model() -> None:
    facts, *steps = log()
    assert facts["length"] == 1024
    assert steps[-1]["step"] == facts["steps"]
    held = [s["held_out_bits"] for s in steps if "held_out_bits" in s]
    assert held[-1] < held[len(held) // 2] < held[0]
    assert held[-1] < 1.7
    model = transformers.LlamaForCausalLM.from_pretrained(FOLDER)
    assert facts["parameters"] == sum(p.numel() for p in model.parameters())


def test_the_text_was_held_out() -> None:
    """Training took the first nine tenths of the reference; ``--demo`` reads what follows."""
    whole, held = script().reference(), corpora.load(demo.TEXT).text.encode()
    cut = len(whole) - len(whole) // 10
    assert whole[cut:].endswith(held)
    assert len(whole[cut:]) - len(held) < 4  # at most the rest of a character that was cut
    made = script()
    made.docstrings = lambda: b"docstrings"  # of the whole library: they take a while
    seen, numbers = (bytes(t.tolist()) for t in made.split())
    assert (seen, numbers) == (b"docstrings\n\n" + whole[:cut], whole[cut:])


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return transformers.AutoTokenizer.from_pretrained(FOLDER)


@given(st.text())
@settings(max_examples=40)
def test_tokens_are_bytes(tokenizer: Any, text: str) -> None:
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert bytes(ids) == text.encode()
    assert tokenizer.decode(ids) == text


def test_every_byte_has_its_number(tokenizer: Any) -> None:
    assert len(tokenizer) == tokenizer.vocab_size == 256
    text = "".join(map(chr, [*range(0x800), 0xFFFD, 0x10FFFF]))
    assert bytes(tokenizer(text, add_special_tokens=False)["input_ids"]) == text.encode()
    written = script().byte_tokenizer()
    assert json.loads(written.to_str()) == json.loads((FOLDER / "tokenizer.json").read_text())
    assert sorted(written.get_vocab().values()) == list(range(256))


def by_recipe(result: Result, context: int) -> dict[str | None, Cell]:
    return {c.recipe: c for c in result.cells if c.context == context}


def shows_the_effect(int8: Cell, log8: Cell) -> None:
    assert int8.inflation_ci95 is not None
    assert log8.inflation_ci95 is not None
    assert int8.inflation_ci95[0] > 1
    low, high = log8.inflation_ci95
    assert 0.99 < low <= high < 1.01


def test_linear_int8_harms_and_logarithmic_int8_does_not() -> None:
    found = ropeaudit.measure(
        FOLDER, ["int8:sym", "log8"], corpus=demo.TEXT, contexts=1024, windows=6
    )
    cells = by_recipe(found, 1024)
    shows_the_effect(cells["int8:sym"], cells["log8"])


@pytest.mark.slow
def test_the_whole_demo(capsys: pytest.CaptureFixture[str]) -> None:
    from ropeaudit.cli.app import run

    assert run(["ppl", "--demo", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["model"] == demo.NAME
    cells = {(c["recipe"], c["context"]): c for c in found["cells"]}
    assert {c["windows"] for c in cells.values()} == {demo.WINDOWS}
    assert cells["int8:sym", 1024]["inflation_ci95"][0] > 1
    low, high = cells["log8", 1024]["inflation_ci95"]
    assert 0.99 < low <= high < 1.01
    (jitter,) = (
        c for c in found["fits"]["controls"] if c["kind"] == "jitter" and c["context"] == 1024
    )
    assert 0.99 < jitter["ratio"] < 1.01


def test_the_wheel_carries_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included["fixtures/demo"] == "ropeaudit/demo"


def test_inside_the_package_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "ropeaudit"
    monkeypatch.setattr(demo, "_PACKAGE", package)
    with pytest.raises(SourceError, match="not part of this installation"):
        demo.folder()
    for place in (tmp_path / "fixtures" / "demo", package / "demo"):
        place.mkdir(parents=True)
        (place / "model.safetensors").write_bytes(b"")
        assert demo.folder() == place
