"""Variants of learned encodings as files: layout and names of the source, and the same spectrum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from ropeaudit.encodings.interface import of
from ropeaudit.errors import UsageError
from ropeaudit.export.writing import write
from ropeaudit.perturb.variant import make
from ropeaudit.resolve import resolve
from ropeaudit.schedule.subject import Subject
from tests.encodings import every_kind, layouts_jordan
from tests.encodings.make import write as write_model

STORED = [n for n in every_kind.CASES if n not in every_kind.UNSTORED]


def spectra(subject: Subject) -> dict[str, Any]:
    return {e.name: of(e).spectrum(e) for e in subject.encodings}


def written(subject: Subject, recipe: str, path: Path) -> Any:
    variant = make(subject.schedules, recipe, subject.encodings)
    return variant, write(variant, str(path), source=subject)


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("suffix", ["safetensors", "json"])
def test_read_back_it_is_the_same_spectrum(name: str, suffix: str, tmp_path: Path) -> None:
    source = every_kind.subject(name, tmp_path)
    variant, _ = written(source, every_kind.recipe(name), tmp_path / f"v.{suffix}")
    stated = dict(every_kind.options(name))
    if name == "ape-tree":
        stated["ape-layout"] = "tree"
    again = resolve(str(tmp_path / f"v.{suffix}"), encoding=stated)
    assert again.error is None, again.error
    found, before = spectra(again), spectra(source)
    assert set(found) == {m.encoding.name for m in variant.encodings}
    for made in variant.encodings:
        wanted = of(made.encoding).spectrum(made.encoding)
        was, now = before[made.base.name], found[made.base.name]
        # Float32 parameters: rounding of the whole matrix, of each value elsewhere.
        noise = np.asarray(wanted.noise, float).max() + 1e-12
        assert np.abs(now.w - wanted.w).max() <= max(noise, 2e-7 * np.abs(wanted.w).max())
        assert np.allclose(now.gamma, wanted.gamma, rtol=2e-6)
        assert np.allclose(now.eta, wanted.eta, rtol=2e-6)
        assert (now.w != was.w).any() or (now.gamma != was.gamma).any()
        assert again.encodings[0].settings.keys() == source.encodings[0].settings.keys()


@pytest.mark.parametrize("name", [n for n in STORED if n not in ("ape-tree", "jordan-real")])
def test_names_shapes_and_formats_are_those_of_the_source(name: str, tmp_path: Path) -> None:
    source = every_kind.subject(name, tmp_path)
    assert source.reading is not None
    _, done = written(source, "identity", tmp_path / "v.safetensors")
    found = load_file(tmp_path / "v.safetensors")
    stored = {str(t.location.tensor): t for t in source.reading.tensors}
    used = {f.location.tensor for e in source.encodings for f in e.provenance if f.location}
    assert set(found) == used
    for key, values in found.items():
        assert values.shape == stored[key].shape
        assert str(values.dtype) == stored[key].dtype
        assert (values == stored[key].read()).all()
    assert done.notes[0].startswith("only the encoding is written; the other tensors")


def test_the_recipe_goes_with_it(tmp_path: Path) -> None:
    source = every_kind.subject("rope-mixed", tmp_path)
    _, done = written(source, "int8:sym@head=1", tmp_path / "v.safetensors")
    with safe_open(str(tmp_path / "v.safetensors"), "np") as file:
        document = json.loads(file.metadata()["ropeaudit"])
    assert document["schema"] == "ropeaudit/variant/1"
    assert document["recipe"]["text"] == "int8:sym@head=1"
    assert document["encodings"][0]["name"] == "rope-mixed"
    assert document["written"][0]["kind"] == "safetensors"
    assert "read it with --encoding grid=14x14" in done.notes
    # A JSON file is the same document with the parameters in it.
    written(source, "int8:sym@head=1", tmp_path / "v.json")
    listed = json.loads((tmp_path / "v.json").read_text())
    assert listed["encodings"] == document["encodings"]
    (tensor,) = listed["tensors"]
    assert (tensor["name"], tensor["shape"]) == ("freqs", [2, 2, 64])
    values = np.array(tensor["values"], np.float32).reshape(tensor["shape"])
    assert (values == load_file(tmp_path / "v.safetensors")["freqs"]).all()


def test_narrow_formats_become_float32(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    from tests.encodings import layouts_rope_vit

    freqs = torch.from_numpy(layouts_rope_vit.deit(1, 2)["freqs"]).to(torch.bfloat16)
    save_file({"freqs": freqs}, tmp_path / "m.safetensors")
    source = resolve(str(tmp_path / "m.safetensors"))
    _, done = written(source, "noise:eps=1e-3,seed=0", tmp_path / "v.safetensors")
    assert load_file(tmp_path / "v.safetensors")["freqs"].dtype == np.float32
    assert "stored as bfloat16 in the source, written as float32" in done.notes


@pytest.mark.parametrize(
    "name", ["jordan-stabilized", "jordan-jetmix", "damped-rope", "direct-sum"]
)
def test_raw_parameters_mean_the_changed_values(name: str, tmp_path: Path) -> None:
    """Of softplus and tanh, with the settings of the config in the file."""
    state, config = layouts_jordan.checkpoint(
        every_kind.JORDAN[name], width=64, noise=0.2, init_gamma=0.02, eta_max=0.3, theta=500.0
    )
    write_model(tmp_path / "m.pt", state, config)
    source = resolve(str(tmp_path / "m.pt"))
    shear = "" if name == "damped-rope" else "+linear:factor=3@shear"
    recipe = f"noise:eps=1e-2,seed=5@damping{shear}"
    variant, _ = written(source, recipe, tmp_path / "v.safetensors")
    again = resolve(str(tmp_path / "v.safetensors"))
    wanted = spectra(Subject(target="", format="", encodings=(variant.encodings[0].encoding,)))
    for key, now in spectra(again).items():
        assert np.allclose(now.gamma, wanted[key].gamma, rtol=2e-6)
        assert np.allclose(now.eta, wanted[key].eta, rtol=2e-6)
        assert (now.w == wanted[key].w).all()
    assert again.encodings[0].settings == source.encodings[0].settings
    raw = load_file(tmp_path / "v.safetensors")
    assert set(raw) == {k for k in state if "raw_" in k}


def test_values_outside_of_the_parameters_are_refused(tmp_path: Path) -> None:
    source = every_kind.subject("jordan-raw", tmp_path)
    for recipe, said in (
        ("zero:from=0,to=0@damping", "the damping of jordan-raw has left what its parameters"),
        ("linear:factor=1e-3@shear", "the shear of jordan-raw has left what its parameters"),
        ("int8:sym", "no checkpoint stores the frequencies of jordan-raw"),
    ):
        with pytest.raises(UsageError, match=said):
            written(source, recipe, tmp_path / "v.safetensors")
        assert not (tmp_path / "v.safetensors").exists()
        _, done = written(source, recipe, tmp_path / "v.json")
        assert done.notes == (
            "a record: no checkpoint stores these numbers, so nothing reads them back",
        )
        again = resolve(str(tmp_path / "v.json"))
        assert again.error is not None
        assert "judge the model itself with audit --apply RECIPE" in again.error.message
        (tmp_path / "v.json").unlink()


def test_npy_holds_one_tensor(tmp_path: Path) -> None:
    source = every_kind.subject("rope-mixed", tmp_path)
    variant, done = written(source, "int8:sym", tmp_path / "v.npy")
    values = np.load(tmp_path / "v.npy")
    made = variant.encodings[0].encoding.parameters["freqs"]
    assert (values == made.reshape(values.shape).astype(np.float32)).all()
    assert "so it is not read back as an encoding" in done.notes[1]
    with pytest.raises(UsageError, match="can hold one tensor, and the encoding has 2"):
        written(every_kind.subject("rope-mixed-swin", tmp_path), "int8:sym", tmp_path / "w.npy")


def test_nothing_is_replaced_by_accident(tmp_path: Path) -> None:
    source = every_kind.subject("rope-mixed", tmp_path)
    with pytest.raises(UsageError, match="is the source itself"):
        written(source, "int8:sym", Path(source.target))
    (tmp_path / "v.safetensors").write_text("mine")
    with pytest.raises(UsageError, match="exists; choose another name, or add --force"):
        written(source, "int8:sym", tmp_path / "v.safetensors")
    assert (tmp_path / "v.safetensors").read_text() == "mine"


@pytest.mark.parametrize(
    ("entry", "at"),
    [
        ({"name": "freqs"}, "/tensors/0"),
        ({"name": "freqs", "dtype": "float32", "shape": [2, 2], "values": [1.0]}, "/tensors/0"),
        ({"name": "freqs", "dtype": "float32", "shape": [1], "values": ["x"]}, "/tensors/0/values"),
        ({"name": "freqs", "dtype": "float32", "shape": [-1], "values": []}, "/tensors/0"),
        ("freqs", "/tensors/0"),
    ],
)
def test_broken_records_are_said(entry: Any, at: str, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps({"schedules": [], "tensors": [entry]}))
    found = resolve(str(tmp_path / "v.json"))
    assert found.error is not None
    assert f"holds no tensor at {at}" in found.error.message


def test_foreign_metadata_is_passed_over(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    values = {"inv_freq": np.array([1.0, 0.1], np.float32)}
    for text in ("no json", "[1]", '{"model_config": 3}', "{}"):
        save_file(values, tmp_path / "m.safetensors", metadata={"ropeaudit": text})
        found = resolve(str(tmp_path / "m.safetensors"))
        assert found.error is None
        assert found.schedules[0].inv_freq == (1.0, f32_of(0.1))


def f32_of(value: float) -> float:
    return float(np.float32(value))
