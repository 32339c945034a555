"""``convert`` from the outside: what is written, read back, refused and said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from ropeaudit.cli.app import run
from tests.encodings import layouts_alibi, layouts_jordan
from tests.encodings.make import write
from tests.report.test_schemas import _closed, _schema

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
}
THETA = [float(np.float32(10000 ** (-2 * k / 16))) for k in range(8)]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text(json.dumps(LLAMA))
    Path("bert.json").write_text('{"model_type": "bert", "hidden_size": 64}')


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run(["convert", *arguments, "-f", "json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(out)
    Draft202012Validator(_closed(_schema("conversion-1.json"))).validate(found)
    return found


def test_there_and_back_through_files(capsys: pytest.CaptureFixture[str]) -> None:
    """Config to APE's own layout, read as any checkpoint, to frequencies, to parameters again."""
    first = document(capsys, "config.json", "--to", "ape=ape.safetensors")
    assert first["residual"] == 0
    assert first["source"] | {"heads": 4, "key_heads": 2, "head_dim": 16} == first["source"]
    a = load_file("ape.safetensors")["positional_encoder._primitives"]
    assert (a.shape, a.dtype) == ((4, 16, 16), np.float32)
    assert (np.tril(a) == 0).all()
    found = document(capsys, "ape.safetensors", "--to", "rope=rope.safetensors")
    assert found["source"]["origin"] == "encoding"
    for head in found["frequencies"][0][0]:
        assert head == pytest.approx(THETA, rel=1e-6, abs=1e-9)
    again = document(capsys, "rope.safetensors", "--to", "ape=again.safetensors")
    assert again["source"]["origin"] == "conversion"
    b = load_file("again.safetensors")["positional_encoder._primitives"]
    assert np.abs(b - a).max() < 1e-9


def test_the_file_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    told = document(capsys, "config.json", "--to", "rope=r.safetensors")
    assert told["path"] == "r.safetensors"
    with safe_open("r.safetensors", framework="np") as file:
        held = json.loads(file.metadata()["ropeaudit"])
    assert held == told | {"path": None}
    first = Path("r.safetensors").read_bytes()
    document(capsys, "config.json", "--to", "rope=r.safetensors", "--force")
    assert Path("r.safetensors").read_bytes() == first


def test_a_learned_checkpoint_with_its_weights(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(5)
    raw = rng.uniform(0, 2 * np.pi, size=(1, 2, 16, 8, 8)).astype(np.float32)
    write(Path("l.safetensors"), {"model.position_encoder.generator_raw_params": raw})
    names = [f"blocks.{n}.{r}.weight" for n in (0, 1) for r in ("q", "k")]
    save_file({n: rng.normal(size=(128, 24)).astype(np.float32) for n in names}, "w.safetensors")
    found = document(
        capsys, "l.safetensors", "--to", "rope=o.safetensors", "--weights", "w.safetensors",
        "--query", "blocks.{layer}.q.weight", "--key", "blocks.{layer}.k.weight",
    )  # fmt: skip
    assert found["unit"] == "rad/unit"
    assert found["residual"] < 1e-12
    out = load_file("o.safetensors")
    assert set(out) == {"rotary.freqs", "rotary.basis", *names}
    old = load_file("w.safetensors")
    q = out["rotary.basis"][0, 1]
    name = names[0]
    assert out[name][64:128] == pytest.approx(q.T @ old[name][64:128].astype(float), abs=1e-5)


def test_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "config.json", "--to", "ape"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "config.json  text · default\n" in out
    assert "  to         ape  exact\n" in out
    assert "    3     1  0.316228  0.1  …  0.001  0.000316228\n" in out
    assert run(["convert", "config.json", "--to", "ape", "--heads", "12"]) == 0
    assert "4 more; -v shows all" in capsys.readouterr().out
    assert run(["convert", "config.json", "--to", "ape", "--heads", "12", "-v"]) == 0
    assert "    11    1  0.3" in capsys.readouterr().out


def matrices() -> None:
    np.save("flip.npy", np.diag([1.0, -1.0]))
    np.save("half.npy", -np.eye(2))
    np.save("long.npy", np.ones((2, 3)))
    np.save("loose.npy", np.array([[1.0, 0.5], [0.0, 1.0]]))
    np.save("nan.npy", np.full((2, 2), np.nan))
    np.save("words.npy", np.array([["a", "b"], ["c", "d"]]))
    Path("text.npy").write_text("no matrix")
    save_file({"a": np.eye(2), "b": np.eye(2)}, "two.safetensors")
    tree = np.random.default_rng(0).uniform(size=(9, 4, 4)).astype(np.float32)
    one = np.eye(4, dtype=np.float32)[None, None]
    save_file(
        {"positional_encoder._primitives": tree, "positional_encoder.identity": one},
        "tree.safetensors",
    )
    raw = np.random.default_rng(0).uniform(size=(2, 1, 8, 8, 8)).astype(np.float32)
    save_file({"model.position_encoder.generator_raw_params": raw}, "plane.safetensors")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no target given"),
        (("config.json",), "no form given; name both, as in: convert path/to/model --to ape"),
        (("config.json", "--to", "alibi"), "nothing is converted to alibi; known: ape, rope"),
        (("config.json", "--to", "ape="), "names no file, such as ape=FILE"),
        (("config.json", "--to", "ape=x.pt"), "is no name of a safetensors file"),
        (("config.json", "--to", "ape=no/x.safetensors"), "cannot be written"),
        (("config.json", "--to", "ape=there.safetensors"), "belongs to the model config.json"),
        (("plane.safetensors", "--to", "ape=there.safetensors"), "exists; choose another name"),
        (("config.json", "--to", "ape", "--heads", "x"), "--heads is x, expected a whole number"),
        (("config.json", "--to", "ape", "--name", "vision"), "nothing is called vision"),
        (("config.json", "--to", "ape", "-f", "github"), "format github is for findings"),
        (("config.json", "--to", "rope", "--query", "q"), "--query alone cannot be carried out"),
        (
            ("config.json", "--to", "rope=o.safetensors", "--weights", "no", "--query", "q",
             "--key", "k"),
            "no is no file; --weights takes a safetensors file",
        ),
        (
            ("config.json", "--to", "rope", "--weights", "there.safetensors", "--query", "q",
             "--key", "k"),
            "have to go somewhere; --to rope=FILE",
        ),
        (("bert.json", "--to", "ape"), "nothing to convert in bert.json"),
        (("nowhere.json", "--to", "ape"), "nowhere.json"),
        (("flip.npy", "--matrix", "map", "--to", "rope"), "the determinant is -1"),
        (("half.npy", "--matrix", "map", "--to", "ape"), "an angle is pi"),
        (("flip.npy", "--to", "rope"), "or state --matrix for a file of matrices"),
        (("long.npy", "--matrix", "map", "--to", "ape"), "has the shape [2, 3], expected square"),
        (("loose.npy", "--matrix", "map", "--to", "ape"), "is no orthogonal matrix"),
        (("loose.npy", "--matrix", "generator", "--to", "ape"), "is not skew"),
        (("nan.npy", "--matrix", "parameter", "--to", "ape"), "numbers that are not finite"),
        (("words.npy", "--matrix", "map", "--to", "ape"), "holds no real numbers"),
        (("text.npy", "--matrix", "map", "--to", "ape"), "is no file of matrices"),
        (("two.safetensors", "--matrix", "map", "--to", "ape"), "holds 2 tensors, expected one"),
        (("none.npy", "--matrix", "map", "--to", "ape"), "cannot be read: No such file"),
        (("config.json", "--matrix", "map", "--to", "ape"), "give .npy or .safetensors"),
        (("flip.npy", "--matrix", "W", "--to", "ape"), "--matrix is W, expected map, generator"),
        (("tree.safetensors", "--to", "rope"), "is an encoding of trees"),
        (("plane.safetensors", "--to", "rope"), "do not commute"),
        (("plane.safetensors", "--to", "ape"), "2 axes that share channels"),
    ],
)  # fmt: skip
def test_mistakes_and_refusals_in_words(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    matrices()
    save_file({"q": np.eye(2)}, "there.safetensors")
    assert run(["convert", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
    assert not Path("o.safetensors").exists()


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("jordan_exact_scaled", "jordan-exact (jordan-exact) damps or shears"),
        ("jordan_rope", "jordan-stabilized (jordan-stabilized) is no group of maps"),
    ],
)
def test_what_does_more_than_turn(
    capsys: pytest.CaptureFixture[str], method: str, words: str
) -> None:
    tensors, config = layouts_jordan.checkpoint(method, noise=0.1)
    write(Path("j.pt"), tensors, config)
    assert run(["convert", "j.pt", "--to", "rope"]) == 2
    assert words in capsys.readouterr().err


def test_biases_are_not_converted(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bloom").mkdir()
    Path("bloom/config.json").write_text(json.dumps(layouts_alibi.bloom()))
    assert run(["convert", "bloom", "--to", "ape"]) == 2
    assert "alibi (alibi) adds to the score and turns nothing" in capsys.readouterr().err
    Path("both.json").write_text(json.dumps(layouts_jordan.config("rope_alibi")))
    found = document(capsys, "both.json", "--to", "rope")
    assert any("what the encoding adds to the scores" in n for n in found["notes"])


def test_several_schedules_need_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    two = LLAMA | {
        "model_type": "gemma3_text",
        "head_dim": 16,
        "num_hidden_layers": 12,
        "rope_local_base_freq": 10000.0,
        "rope_theta": 1e6,
        "sliding_window": 512,
    }
    Path("gemma.json").write_text(json.dumps(two))
    assert run(["convert", "gemma.json", "--to", "ape"]) == 2
    assert "has 2 to convert: " in capsys.readouterr().err
    found = document(capsys, "gemma.json", "--to", "ape", "--name", "text/full_attention")
    assert found["frequencies"][0][0][0][1] == pytest.approx(1e6 ** (-1 / 8), rel=1e-6)
    assert any("the model's other layers have another one" in n for n in found["notes"])
