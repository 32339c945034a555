"""Tables as files: read back by this package as they were written."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from safetensors import safe_open

from ropeaudit.errors import UsageError
from ropeaudit.export.writing import kinds, write
from ropeaudit.perturb.variant import make
from ropeaudit.report._variants import Made, document
from ropeaudit.resolve import resolve
from tests.export.configs import GEMMA3, LLAMA, PHI3
from tests.export.variants import folder, variant

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "variant-1.json"


@pytest.mark.parametrize("suffix", ["json", "npy", "safetensors"])
@pytest.mark.parametrize("recipe", ["int8:sym", "int4:affine", "noise:eps=0.01,seed=1"])
def test_a_table_reads_back_bit_for_bit(tmp_path: Path, suffix: str, recipe: str) -> None:
    subject, made = variant(folder(tmp_path / "model", LLAMA), recipe)
    path = tmp_path / f"t.{suffix}"
    written = write(made, str(path), source=subject)
    assert written.schedules == made.schedules
    assert written.max_ulp == 0
    read = resolve(str(path))
    assert read.error is None
    assert [s.inv_freq for s in read.schedules] == [made.schedules[0].inv_freq]
    assert read.schedules[0].dtype == "float32"
    before = path.read_bytes()
    write(made, str(path), source=subject, force=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("config", [GEMMA3, PHI3])
def test_several_tables_keep_their_names(tmp_path: Path, config: dict[str, object]) -> None:
    subject, made = variant(folder(tmp_path / "model", config), "log4")
    write(made, str(tmp_path / "t.safetensors"), source=subject)
    with safe_open(tmp_path / "t.safetensors", "np") as file:
        names = {s.name.replace("/", ".") + ".inv_freq": s.inv_freq for s in made.schedules}
        assert {k: tuple(map(float, file.get_tensor(k))) for k in names} == names
        assert set(file.keys()) == set(names)
        metadata = file.metadata()
    document = json.loads(metadata["ropeaudit"])
    assert document["schema"] == "ropeaudit/variant/1"
    assert document["recipe"]["text"] == "log4"
    write(made, str(tmp_path / "t.json"), source=subject)
    held = {(s.layer_type, s.inv_freq) for s in made.schedules}
    for name in ("t.json", "t.safetensors"):
        read = resolve(str(tmp_path / name))
        assert {s.inv_freq for s in read.schedules} == {s.inv_freq for s in made.schedules}
        if made.schedules[0].layer_type is not None:
            assert {(s.layer_type, s.inv_freq) for s in read.schedules} == held


def test_the_document_says_what_was_done(tmp_path: Path) -> None:
    subject, made = variant(folder(tmp_path / "model", LLAMA), "int8:sym+zero:from=0,to=1")
    written = write(made, str(tmp_path / "t.json"), source=subject)
    document = json.loads((tmp_path / "t.json").read_text())
    assert json.loads(written.document) == document
    assert document["recipe"]["text"] == "int8:sym+zero:from=0,to=1"
    assert [s["head"] for s in document["recipe"]["steps"]] == ["int8", "zero"]
    assert document["recipe"]["steps"][0]["parameters"] == {"bits": 8, "mode": "sym"}
    assert document["max_cluster"] == 40, "26..63, and the two that were zeroed"
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    (one,) = document["schedules"]
    assert one["name"] == "text"
    assert one["inv_freq"][:2] == [0.0, 0.0]
    assert one["attention_scaling"] == 1.0
    assert make(subject.schedules, document["recipe"]["text"]) == made


def test_the_record_and_the_page_describe_one_thing(tmp_path: Path) -> None:
    """Scope, what a step found and the measures stand in both in the same words."""
    recipe = "cluster:at=3,codim=2,gap=4,to=gm@full_attention+int8:sym@layers=0-2"
    subject, made = variant(folder(tmp_path / "model", GEMMA3), recipe)
    write(made, str(tmp_path / "t.json"), source=subject)
    record = json.loads((tmp_path / "t.json").read_text())
    page = json.loads(json.dumps(document(Made(made))))
    for key in ("recipe", "max_cluster", "measures"):
        assert record[key] == page[key]
    first, second = record["recipe"]["steps"]
    assert first["scope"] == {"layer_type": "full_attention", "layers": None, "head": None}
    assert first["found"][0]["channels"] == [3, 7]
    assert second["scope"]["layers"] == [0, 1, 2]
    names = [s["name"] for s in page["schedules"]]
    assert [s["name"] for s in record["schedules"]] == names
    facts = [f for s in record["schedules"] for f in s["provenance"]]
    assert {"field", "value", "file", "pointer", "provenance"} <= set(facts[0])


def test_an_npy_file_holds_one_table(tmp_path: Path) -> None:
    subject, made = variant(folder(tmp_path / "model", GEMMA3), "int8:sym")
    with pytest.raises(UsageError, match=r"the variant has 2 .*\.safetensors or \.json"):
        write(made, str(tmp_path / "t.npy"), source=subject)
    assert not (tmp_path / "t.npy").exists()


def test_wider_numbers_stay_wide(tmp_path: Path) -> None:
    source = tmp_path / "wide.json"
    source.write_text(json.dumps([1.0, 1 / 3]))
    subject, made = variant(source, "identity")
    write(made, str(tmp_path / "t.npy"), source=subject)
    assert np.load(tmp_path / "t.npy").tolist() == list(made.schedules[0].inv_freq)


@pytest.mark.parametrize("spec", ["t.txt", "onnx=x", "hf=", "gguf=", "", "hf=a\0b"])
def test_unknown_and_empty_places(tmp_path: Path, spec: str) -> None:
    subject, made = variant(folder(tmp_path / "model", LLAMA), "int8:sym")
    with pytest.raises(UsageError, match=r"expected hf=DIR, gguf=FILE\.gguf, FILE\.json"):
        write(made, spec, source=subject)


def test_every_kind_conforms() -> None:
    found = {k.NAME for k in kinds()}
    assert found == {"hf", "gguf", "json", "npy", "safetensors"}
    for kind in kinds():
        spec = f"{kind.NAME}=x" if kind.NAME in ("hf", "gguf") else f"x.{kind.NAME}"
        assert [k.NAME for k in kinds() if k.claims(spec) is not None] == [kind.NAME]
        assert kind.__doc__
