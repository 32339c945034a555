"""What ``convert --to rope`` writes is read back as what it is, and compares as its source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from ropeaudit.audit import audit_subject, bind
from ropeaudit.convert._stored import stored
from ropeaudit.convert.interface import Refused
from ropeaudit.convert.reading import of_subject, read
from ropeaudit.convert.rope import convert
from ropeaudit.diff.compare import compare
from ropeaudit.diff.likeness import Likeness
from ropeaudit.encodings.interface import of
from ropeaudit.encodings.score import module
from ropeaudit.export import _tensors
from ropeaudit.export.writing import write
from ropeaudit.packs import load_pack
from ropeaudit.perturb.variant import make
from ropeaudit.report._convert import Done, metadata
from ropeaudit.resolve import resolve
from ropeaudit.schedule.subject import Subject
from tests.encodings import build, every_kind, layouts_liere
from tests.encodings import make as files

TURNING = ["ape-sequence", "ape-grid", "ape-rotary", "liere-2", "rope-mixed", "rope-mixed-timm",
           "rope-axial"]  # fmt: skip


def written(source: Subject, path: Path, name: str | None = None) -> Subject:
    """The file of the conversion, as a subject."""
    done = Done(made=convert(of_subject(source, name)))
    _tensors.write(path, stored(done.made), metadata(done), force=True)
    found = resolve(str(path))
    assert found.error is None, found.error
    return found


def check(source: Subject, path: Path) -> Subject:
    found = written(source, path)
    (was,), (now,) = source.encodings, found.encodings
    assert not found.schedules
    assert (now.kind, now.name, now.head_dim) == ("rope-per-head", was.name, was.head_dim)
    assert (now.axes, now.positions, now.heads) == (was.axes, was.positions, was.heads)
    assert now.layers == was.layers
    for a, b in ((source, found), (found, source)):
        (pair,) = compare(a, b).encodings
        assert pair.likeness in (Likeness.SAME, Likeness.EQUIVALENT), pair
        assert pair.quantities[0].differing == 0
    return found


@pytest.mark.parametrize("name", TURNING)
def test_every_kind_that_only_turns(name: str, tmp_path: Path) -> None:
    source = every_kind.subject(name, tmp_path)
    found = check(source, tmp_path / "rope.safetensors")
    # And once more: a conversion of a conversion is the same file of numbers.
    again = written(found, tmp_path / "again.safetensors")
    a, b = of(found.encodings[0]), again.encodings[0]
    assert (a.spectrum(found.encodings[0]).w == of(b).spectrum(b).w).all()
    assert b.positions == found.encodings[0].positions
    taken = read(str(tmp_path / "rope.safetensors"))
    assert (taken.axes, taken.positions) == (source.encodings[0].axes, b.positions)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_liere_on_lines_of_their_own(axes: int, tmp_path: Path) -> None:
    """Positions that are no whole numbers, one matrix on all axes, so that these commute."""
    raw = np.array(layouts_liere.initial(8, axes=1, layers=1, heads=2))
    raw = np.concatenate([raw * 0.5**a for a in range(axes)])
    files.write(tmp_path / "l.safetensors", {layouts_liere.KEY: raw.astype(np.float32)})
    source = resolve(str(tmp_path / "l.safetensors"))
    found = check(source, tmp_path / "rope.safetensors")
    assert not found.encodings[0].positions.integer
    assert of(found.encodings[0]).spectrum(found.encodings[0]).unit == "rad/unit"


def test_another_frequency_is_seen(tmp_path: Path) -> None:
    source = every_kind.subject("rope-mixed", tmp_path)
    path = tmp_path / "rope.safetensors"
    found = written(source, path)
    done = Done(made=convert(of_subject(source)))
    tensors = load_file(path)
    tensors["rotary.freqs"][1, 0, 1, 3] *= 1.01
    save_file(tensors, path, metadata={"ropeaudit": metadata(done)})
    (pair,) = compare(source, resolve(str(path))).encodings
    assert pair.likeness is Likeness.DIFFERENT
    assert pair.quantities[0].differing == 1
    assert found.encodings[0].layers == (0, 1)


def test_an_odd_head_and_its_maps(tmp_path: Path) -> None:
    skew = build.skew(np.array([1.0, 0.3]), 3)
    odd = np.zeros((1, 5, 5))
    odd[0, :4, :4] = np.triu(skew, 1)
    files.write(tmp_path / "a.safetensors", table_of(odd))
    found = check(resolve(str(tmp_path / "a.safetensors")), tmp_path / "rope.safetensors")
    (encoding,) = found.encodings
    assert of(encoding).spectrum(encoding).static == 1
    q, k = of(encoding).operators(encoding, np.array([[0.0], [2.0]]))
    assert (q[0] == np.eye(5)).all()
    assert q[1, 0, 0, -1].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert np.abs(k[1, 0, 0] @ k[1, 0, 0].T - np.eye(5)).max() < 1e-12
    made = module(encoding, dtype=torch.float64)
    x = torch.eye(5, dtype=torch.float64)[None, None]
    at = torch.tensor([[2.0]] * 5, dtype=torch.float64)
    scores = made(x, x, 0 * at, at)[0, 0]  # q_i . M k_j
    assert np.abs(scores.detach().numpy() - q[1, 0, 0]).max() < 1e-12


def table_of(a: Any) -> dict[str, Any]:
    return {"positional_encoder._primitives": a.astype(np.float32)}


def test_a_variant_of_a_conversion_is_read_back_too(tmp_path: Path) -> None:
    source = every_kind.subject("liere-2", tmp_path)
    found = written(source, tmp_path / "rope.safetensors")
    variant = make((), "linear:factor=2", found.encodings)
    write(variant, str(tmp_path / "v.safetensors"), source=found)
    (again,) = resolve(str(tmp_path / "v.safetensors")).encodings
    w = of(again).spectrum(again).w
    assert (again.kind, again.positions) == ("rope-per-head", found.encodings[0].positions)
    assert np.allclose(2 * w, of(again).spectrum(found.encodings[0]).w, rtol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [{"axes": []}, {"axes": [1, 2]}, {"step": [1.0]}, {"step": ["a", 1.0]}, {"extent": None}],
)
def test_a_document_that_says_nothing_leaves_a_table(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    source = every_kind.subject("rope-mixed", tmp_path)
    path = tmp_path / "rope.safetensors"
    written(source, path)
    done = Done(made=convert(of_subject(source)))
    document = json.loads(metadata(done))
    document["positions"] |= changes
    save_file(load_file(path), path, metadata={"ropeaudit": json.dumps(document)})
    found = resolve(str(path))
    assert [e.kind for e in found.encodings] != ["rope-per-head"]


def test_another_shape_is_refused(tmp_path: Path) -> None:
    source = every_kind.subject("rope-mixed", tmp_path)
    path = tmp_path / "rope.safetensors"
    written(source, path)
    document = json.loads(metadata(Done(made=convert(of_subject(source)))))
    tensors = {"rotary.freqs": load_file(path)["rotary.freqs"][..., :-1]}
    save_file(tensors, path, metadata={"ropeaudit": json.dumps(document)})
    found = resolve(str(path))
    assert found.error is not None
    assert "as its document says" in found.error.message


def test_what_damps_is_no_rope(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        convert(of_subject(every_kind.subject("jordan-raw", tmp_path)))


def test_a_schedule_becomes_a_table(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({
        "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
        "num_hidden_layers": 2, "max_position_embeddings": 4096,
    }))  # fmt: skip
    source = resolve(str(tmp_path / "config.json"))
    found = written(source, tmp_path / "rope.safetensors")
    assert not found.encodings
    (schedule,) = found.schedules
    assert schedule.inv_freq == source.schedules[0].inv_freq


@pytest.mark.parametrize("name", ["ape-grid", "rope-axial", "rope-mixed", "liere-2"])
def test_rules_judge_it_as_its_source(name: str, tmp_path: Path) -> None:
    """Nothing is found in a conversion that was not in the source."""
    source = every_kind.subject(name, tmp_path)
    found = written(source, tmp_path / "rope.safetensors")
    before, after = (
        {(f.rule, f.severity) for f in audit_subject(s, bind([load_pack("research")])).findings}
        for s in (source, found)
    )
    assert after <= before


def test_planes_that_are_one_are_found_in_the_conversion_too(tmp_path: Path) -> None:
    vectors = np.array([[1.0, 0.1], [0.6, 0.4], [0.6, 0.4]])
    files.write(tmp_path / "m.safetensors", build.mixed(vectors))
    source = resolve(str(tmp_path / "m.safetensors"))
    for subject in (source, written(source, tmp_path / "rope.safetensors")):
        report = audit_subject(subject, bind([load_pack("research")]))
        (found,) = [f for f in report.findings if f.rule == "RA702"]
        assert found.evidence["clusters"][0][1:] == [0, [1, 2]]
