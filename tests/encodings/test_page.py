"""docs/encodings.md: its example runs, its table holds, and it names every option and rule."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import ropeaudit
from ropeaudit.audit import bind
from ropeaudit.checks.interface import Case, load
from ropeaudit.encodings import interface
from ropeaudit.encodings.core import Encoding
from ropeaudit.findings import Status
from ropeaudit.packs import load_pack
from ropeaudit.schedule.subject import Subject
from tests.encodings import every_kind, layouts_jordan, layouts_rope_vit, make
from tests.make_layout_fixtures import FOLDER

PAGE = (Path(__file__).parents[2] / "docs" / "encodings.md").read_text(encoding="utf-8")
CLAIMED = {"always": "proved", "never": "refuted"}


def rows(title: str) -> list[list[str]]:
    """Cells of the first table below a heading."""
    table = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[c.strip() for c in line.strip("|").split("|")] for line in lines[2:]]


GUARANTEES = {row[0]: row[1:4] for row in rows("What each one guarantees")}
FILES: dict[str, tuple[str, dict[str, str]]] = {
    "ape-sequence": ("ape_sequence_drawn.chk", {"train-context": "64"}),
    "ape-grid": ("ape_grid.safetensors", {"grid": "8x8"}),
    "ape-tree": ("ape_tree.pt", {}),
    "ape-rotary": ("ape_rotary.pt", {"train-context": "64"}),
    "liere, blocks of 2, or one axis": ("liere_2.ckpt", {}),
    "liere, larger blocks": ("liere_8_public.ckpt", {}),
}
METHODS = {
    "jordan-raw": "jordan_raw_tau",
    "jordan-exact": "jordan_exact_c010",
    "jordan-stabilized": "jordan_rope",
    "jordan-real": "real_jordan",
    "jordan-jetmix": "jordan_jetmix_m4_c100_g050_g030_g020",
    "damped-rope": "damped_rope",
    "direct-sum": "direct_sum",
}
CONFIGS = {
    "rope-axial": {"architecture": "vit_base_patch16_rope_224"},
    "alibi": {"model_type": "bloom", "n_head": 8, "hidden_size": 512, "seq_length": 2048},
    "rope-alibi": layouts_jordan.config("rope_alibi"),
}
EXAMPLES = (*FILES, *METHODS, *CONFIGS, "rope-mixed", "rope-per-head")


def example(kind: str, folder: Path) -> tuple[str, dict[str, str]]:
    """A file with this encoding, as trained, and what it leaves open."""
    if kind in FILES:
        name, options = FILES[kind]
        return str(FOLDER / name), options
    if kind in CONFIGS:
        path = folder / "config.json"
        path.write_text(json.dumps(CONFIGS[kind]))
        return str(path), {}
    if kind == "rope-per-head":
        return every_kind.target(kind, folder), {}
    path = folder / "model.pt"
    if kind in METHODS:
        tensors, config = layouts_jordan.checkpoint(METHODS[kind], noise=0.5)
        make.write(path, tensors, config)
        return str(path), {}
    freqs = layouts_rope_vit.drawn(64, layouts_rope_vit.directions(1, 2)).reshape(2, 1, 64)
    make.write(path, {"freqs": freqs})
    return str(path), {"grid": "14x14"}


def row_of(kind: str) -> list[str]:
    return next(
        cells
        for title, cells in GUARANTEES.items()
        if kind == title.replace("`", "") or f"`{kind}`" in title.split(", ")
    )


def test_every_kind_has_a_row() -> None:
    kinds = {k for m in interface.modules() for k in interface.load(m).KINDS}
    named = {k for title in GUARANTEES for k in re.findall("`(.+?)`", title)}
    assert named == kinds
    assert {k.split(",")[0] for k in EXAMPLES} == kinds


@pytest.mark.parametrize("kind", EXAMPLES)
def test_cells_are_backed(kind: str, tmp_path: Path) -> None:
    target, options = example(kind, tmp_path)
    (encoding,) = ropeaudit.read(target, encoding=options).encodings
    assert encoding.kind == kind.split(",")[0]
    (entry,) = ropeaudit.prove(target, encoding=options).document["encodings"]
    claims = {c["claim"]: c["status"] for c in entry["claims"]}
    for cell in row_of(kind):
        first = cell.split(" ")[0].rstrip(":,")
        for claim in re.findall(r"claim `(\w+)`", cell):
            assert claims[claim] == CLAIMED.get(first, claims[claim]), (cell, claim)
        for rule in re.findall(r"RA\d{3}", cell):
            assert judged(rule, encoding) is not Status.SKIP, (cell, rule)
        assert first not in CLAIMED or re.search(r"claim|RA\d", cell)


def judged(rule: str, encoding: Encoding) -> Status:
    (slug,) = {b.rule.check for b in bind([load_pack("core")]) if b.rule.id == rule}
    check: Any = load(slug)
    case = Case(Subject(target="x", format="torch", encodings=(encoding,)), (64,))
    (outcome,) = check.run(case, check.Params())
    found: Status = outcome.status
    return found


def test_every_option_is_listed() -> None:
    known = {o for m in interface.modules() for o in interface.load(m).OPTIONS}
    assert {row[0].strip("`") for row in rows("What the file leaves open")} == known


def test_rules_exist() -> None:
    known = {b.rule.id for b in bind([load_pack("core")])}
    assert set(re.findall(r"RA\d{3}", PAGE)) <= known


def test_every_encoding_has_its_module() -> None:
    for name in interface.modules():
        assert import_module(f"ropeaudit.encodings.torch.{name}").Module


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
def test_the_example_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    found: dict[str, Any] = {}
    exec(compile(block, "docs/encodings.md", "exec"), found)
    assert found["encoding"].kind == "liere"
    assert found["spectrum"].w.shape == (1, 12, 32, 2)
    assert found["logits"].shape == (1, 12, 196, 196)
    assert bool(torch.isfinite(found["logits"]).all())
