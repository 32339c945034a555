"""The Python API on learned encodings: what is stated for them, conversions, the kernel probe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ropeaudit
from tests.live_models import llama

pytest.importorskip("torch")
pytest.importorskip("transformers")


def test_what_a_learned_encoding_leaves_open_can_be_stated() -> None:
    grid = str(Path(__file__).parents[1] / "fixtures" / "encodings" / "ape_grid.safetensors")
    stated = {"grid": "8x8"}
    assert ropeaudit.read(grid).encodings[0].kind == "ape-sequence"
    assert ropeaudit.read(grid, encoding=stated).encodings[0].kind == "ape-grid"
    (report,) = ropeaudit.audit(grid, encoding=stated).subjects
    assert report.subject.encodings[0].positions.trained == (8, 8)
    assert ropeaudit.diff(grid, grid, encoding=stated).exit_code == 0
    assert "ape-grid" in str(ropeaudit.prove(grid, encoding=stated).document)
    (made,) = ropeaudit.perturb(grid, "int8:sym", encoding=stated).encodings
    assert made.base.kind == "ape-grid"
    for wrong in ("grid=8x8", {"grid": 8}, {"grid": ["8x8"]}, None):
        with pytest.raises(ropeaudit.UsageError, match="encoding"):
            ropeaudit.read(grid, encoding=wrong)
    with pytest.raises(ropeaudit.UsageError, match="gird is no option of an encoding"):
        ropeaudit.audit(grid, encoding={"gird": "8x8"})


def test_each_side_of_a_comparison_has_its_own_options() -> None:
    grid = str(Path(__file__).parents[1] / "fixtures" / "encodings" / "ape_grid.safetensors")
    found = ropeaudit.diff(grid, grid, encoding={"b:grid": "8x8"})
    assert [s.encodings[0].kind for s in (found.a, found.b)] == ["ape-sequence", "ape-grid"]
    found = ropeaudit.diff(grid, grid, encoding={"grid": "8x8", "a:grid": "4x4"})
    assert [s.encodings[0].positions.trained for s in (found.a, found.b)] == [(4, 4), (8, 8)]
    with pytest.raises(ropeaudit.UsageError, match="names the side c in c:grid"):
        ropeaudit.diff(grid, grid, encoding={"c:grid": "8x8"})


CONFIG = {
    "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
    "max_position_embeddings": 2048, "rope_theta": 10000.0,
}  # fmt: skip


def test_conversions_from_paths_modules_and_subjects(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    made = ropeaudit.convert(path, "ape")
    assert isinstance(made, ropeaudit.Converted)
    (tensor,) = made.tensors.values()
    assert tensor.shape == (4, 16, 16)
    assert made.residual == 0.0
    theta = ropeaudit.read(path).schedules[0].inv_freq
    assert made.frequencies[0, 0, 0].tolist() == list(theta)
    for other in (ropeaudit.read(path), str(path)):
        again = ropeaudit.convert(other, "ape", heads=4)
        assert (next(iter(again.tensors.values())) == tensor).all()
    live = ropeaudit.convert(llama(), "ape", name="text", heads=2)
    assert live.source.origin == "schedule"
    save_file(dict(made.tensors), tmp_path / "ape.safetensors")
    back = ropeaudit.convert(tmp_path / "ape.safetensors", "rope", encoding={"ape-skew": "full"})
    assert sorted(back.frequencies[0, 0, 0]) == pytest.approx(sorted(theta), abs=1e-9)


def test_conversions_that_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    tree = str(Path(__file__).parents[1] / "fixtures" / "encodings" / "ape_tree.pt")
    for given, words in (
        ((path, "alibi"), "nothing is converted to alibi"),
        ((tree, "rope"), "encoding of trees"),
    ):
        with pytest.raises(ropeaudit.UsageError, match=words):
            ropeaudit.convert(*given)
    with pytest.raises(ropeaudit.UsageError, match="heads is True"):
        ropeaudit.convert(path, "ape", heads=True)
    for absent in (tmp_path / "absent.json", ropeaudit.read(tmp_path / "absent.json")):
        with pytest.raises(ropeaudit.SourceError):
            ropeaudit.convert(absent, "ape")


SMALL_PROBE = {
    "length": 64, "lengths": 256, "frequencies": 1, "gamma": 0.01, "ridge": 0, "target_index": 0,
}  # fmt: skip


def test_the_kernel_probe_takes_settings_by_name() -> None:
    found = ropeaudit.probe_kernel(targets="mixed", bases=["rope", "alibi"], **SMALL_PROBE)
    assert found.cell("rope", "mixed", 64).reference == pytest.approx(0.0437712, rel=1e-5)
    assert found.cell("alibi", "mixed", 256).reference == pytest.approx(2.69112, rel=1e-5)
    assert [c.length for c in found.cells if c.basis == "rope"] == [64, 256]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lenght": 64}, "no setting is called lenght; did you mean length"),
        ({"length": "64"}, "length is 64, expected a number"),
        ({"length": True}, "length is True"),
        ({"length": 64.5}, "length is 64.5"),
        ({"lengths": 1.5}, "lengths is 1.5"),
        ({"lengths": [128, "x"]}, "lengths are lags, not x"),
        ({"gamma": "small"}, "gamma is small"),
        ({"targets": 5}, "targets is 5"),
        ({"bases": ["no_such"]}, "no_such"),
    ],
)
def test_wrong_settings_of_the_probe(options: Any, words: str) -> None:
    with pytest.raises(ropeaudit.UsageError, match=words):
        ropeaudit.probe_kernel(**options)
