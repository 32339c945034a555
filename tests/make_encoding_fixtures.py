"""Writes ``fixtures/rules`` for the rules that judge encodings (RA7..).

Run ``python -m tests.make_encoding_fixtures`` after a change here; a test holds the folder against
it. No published checkpoint is copied: names, shapes, formats and initial values are those of the
layouts in ``tests/encodings``, at the smallest sizes that their code could build.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from tests.encodings import layouts_rope_vit, make
from tests.encodings.build import (
    LIERE,
    Array,
    Tensors,
    ape,
    ape_init,
    degenerate_axis,
    jordan,
    liere,
    mixed,
    mixed_all,
    skew,
    tree,
)

FOLDER = Path(__file__).parent.parent / "fixtures" / "rules"
NO_UNKNOWN = "values that are no numbers are refused when the encoding is read"
NO_LENGTH = "where the input does not say how far positions reach, the rule does not apply"


Example = tuple[str, Any, dict[str, Any]]
"""Name, tensors (with a config where one goes with them), what ``expect.json`` says."""


def st(name: str, tensors: Tensors, **expect: Any) -> Example:
    return f"{name}.safetensors", tensors, expect


def pt(name: str, content: tuple[Tensors, Any], **expect: Any) -> Example:
    return f"{name}.pt", content, expect


def ckpt(name: str, value: Array, **expect: Any) -> Example:
    return f"{name}.ckpt", {LIERE: value}, expect


def folder(name: str, config: dict[str, Any], **expect: Any) -> Example:
    return name, config, expect


GEOMETRIC = 10000.0 ** (-np.arange(4) / 4)
BLOOM = {"model_type": "bloom", "n_head": 8, "hidden_size": 512, "n_layer": 2, "seq_length": 2048}
MPT = {"model_type": "mpt", "n_heads": 8, "d_model": 512, "n_layers": 2, "max_seq_len": 2048}
GRID = {"encoding": {"grid": "14x14"}}
PLANAR = [skew(np.array([0.7, 0.2]), 5), 0.5 * skew(np.array([0.7, 0.2]), 5)]
APART = [skew(np.array([0.7, 0.2]), 5), skew(np.array([0.5, 0.3]), 6)]
WIDE = np.random.default_rng(4).uniform(0.6, 3.0, (32, 2)) * (1.0, -1.0)


def orthogonality() -> dict[str, list[Example]]:
    long = {"encoding": {"train-context": "4096"}, "severity": "warning", "contains": "doubling"}
    return {
        "pass": [
            st("ape-sequence", ape(GEOMETRIC, GEOMETRIC), encoding={"train-context": "16"}),
            st("rope-mixed", mixed()),
            ckpt("liere", liere(8)),
        ],
        "fail": [st("ape-long", ape(GEOMETRIC, GEOMETRIC), **long)],
    }


def duplicate_plane() -> dict[str, list[Example]]:
    equal = [(0.5, 0.25), (0.5, 0.25), (-0.5, -0.25)]
    return {
        "pass": [
            st("rope-mixed", mixed()),
            st("swin-axial", layouts_rope_vit.swin((3,), 1, axial=True)),
            pt("damped", jordan("damped_rope", 1e-3, 0.0)),
        ],
        "fail": [
            st("rope-mixed-equal", mixed(equal), severity="error"),
            ckpt("liere-axis", degenerate_axis(), severity="info", contains="do not commute"),
        ],
    }


def near_duplicate_plane() -> dict[str, list[Example]]:
    near = [(0.5, 0.25), (0.501, 0.2505)]
    return {
        "pass": [st("rope-mixed", mixed(), **GRID)],
        "fail": [st("rope-mixed-near", mixed(near), **GRID, severity="warning")],
        "unknown": [st("rope-mixed-no-grid", mixed(near))],
    }


def inherited_twins() -> dict[str, list[Example]]:
    return {
        "pass": [st("ape-distinct", ape(GEOMETRIC, 0.9 * GEOMETRIC))],
        "fail": [st("ape-init", ape(ape_init(8), ape_init(8)), contains="4 pairs")],
    }


def plane_alias() -> dict[str, list[Example]]:
    full = 2 * np.pi
    return {
        "pass": [st("rope-mixed-signs", mixed([(5.0, 0.3), (full - 5.0, 0.3)]), **GRID)],
        "fail": [st("rope-mixed-folded", mixed([(5.0, 0.3), (5.0 - full, 0.3)]), **GRID)],
    }


def step_alias() -> dict[str, list[Example]]:
    return {
        "pass": [st("rope-mixed", mixed())],
        "fail": [
            st("rope-mixed-fast", mixed([(4.0, 0.1)]), severity="warning"),
            ckpt("liere-64", liere(64), contains="frequencies"),
        ],
    }


def not_relative() -> dict[str, list[Example]]:
    return {
        "pass": [ckpt("liere-2", liere(2)), st("rope-mixed", mixed())],
        "fail": [
            ckpt("liere-8", liere(8), severity="info", contains="5 x 5"),
            ckpt("liere-8-video", liere(8, axes=3), severity="info"),
        ],
    }


def group_law() -> dict[str, list[Example]]:
    return {
        "pass": [
            pt("jordan-raw", jordan("jordan_raw_tau", 1e-3, 0.05)),
            pt("damped", jordan("damped_rope", 1e-3, 0.0)),
        ],
        "fail": [
            pt("jordan-stabilized", jordan("jordan_rope", 1e-3, 0.05), severity="info"),
        ],
    }


def jordan_growth() -> dict[str, list[Example]]:
    return {
        "pass": [pt("jordan-exact", jordan("jordan_exact_scaled", 1e-3, 0.05))],
        "fail": [
            pt("jordan-clamped", jordan("jordan_raw_tau", 0.2, 0.05), severity="warning",
               contains="clamp"),
            pt("jordan-float16", jordan("jordan_raw_tau", 0.06, 0.05), severity="warning",
               contains="float16"),
            pt("jordan-grows", jordan("jordan_raw_tau", 1e-3, 0.05), severity="info"),
        ],
    }  # fmt: skip


def under_rotation() -> dict[str, list[Example]]:
    return {
        "pass": [st("rope-mixed-wide", mixed_all(WIDE), **GRID)],
        "fail": [st("rope-mixed", mixed(), **GRID, severity="info")],
    }


def grid_change() -> dict[str, list[Example]]:
    grown = {"encoding": {"grid": "14x14", "test-grid": "28x28"}}
    return {
        "pass": [
            ckpt("liere", liere(8)),
            st("rope-mixed", mixed(), encoding={"grid": "14x14", "test-grid": "14x14"}),
        ],
        "fail": [
            ckpt("liere-fast", liere(8, scale=30.0), **grown, severity="warning"),
            st("rope-mixed-grown", mixed(), **grown, severity="info", contains="2 times as far"),
        ],
    }


def dead_parameters() -> dict[str, list[Example]]:
    own = {"encoding": {"liere-layers": "own"}}
    return {
        "pass": [st("rope-mixed", mixed()), pt("jordan", jordan("jordan_rope", 1e-3, 0.05))],
        "fail": [
            ckpt("liere-layers", liere(8, layers=3), severity="warning", contains="Layers 1-2"),
            ckpt("liere-own", liere(8, layers=3), **own, severity="warning", contains="gradient"),
            st("ape-tree", tree(*APART), severity="warning", contains="matrices"),
            st("ape-sequence", ape(GEOMETRIC), severity="info", contains="cancel"),
        ],
    }


def degenerate_block() -> dict[str, list[Example]]:
    return {
        "pass": [pt("jordan-raw", jordan("jordan_raw_tau", 1e-3, 0.05))],
        "fail": [
            pt("jordan-init", jordan("jordan_raw_tau", 1e-3, 0.0), contains="initialisation"),
        ],
    }


def alibi_slopes() -> dict[str, list[Example]]:
    flat = MPT | {"attn_config": {"alibi": True, "alibi_bias_max": 1e-14}}
    return {
        "pass": [folder("bloom", BLOOM), folder("mpt", MPT | {"attn_config": {"alibi": True}})],
        "fail": [folder("mpt-flat", flat, severity="error", contains="share")],
    }


def bias_collapse() -> dict[str, list[Example]]:
    return {
        "pass": [folder("bloom-float32", BLOOM | {"torch_dtype": "float32"})],
        "fail": [
            folder("bloom-bfloat16", BLOOM | {"torch_dtype": "bfloat16"}, severity="warning"),
        ],
    }


def branches() -> dict[str, list[Example]]:
    return {
        "pass": [st("ape-tree", tree(*APART))],
        "fail": [st("ape-tree-planar", tree(*PLANAR), severity="warning")],
    }


def words() -> dict[str, list[Example]]:
    return {
        "pass": [st("ape-tree", tree(*APART))],
        "fail": [st("ape-tree-copy", tree(APART[0], APART[0]), severity="warning")],
    }


def still() -> dict[str, list[Example]]:
    return {
        "pass": [st("rope-mixed", mixed()), pt("jordan", jordan("jordan_rope", 1e-3, 0.05))],
        "fail": [
            st("rope-mixed-zeros", mixed([(0.0, 0.0), (0.0, 0.0)]), contains="2 planes of 64"),
            st("ape-zeros", ape([0.0, 0.0]), contains="no axis"),
        ],
    }


def coverage() -> dict[str, list[Example]]:
    rng = np.random.default_rng(6)
    size, off = rng.uniform(0.1, 1.0, 32), rng.uniform(-0.05, 0.05, 32)
    along = np.stack([size, size * off], -1)
    oblique = along @ (np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2))
    return {
        "pass": [st("rope-mixed", mixed(), **GRID), ckpt("liere-2", liere(2))],
        "fail": [
            st("rope-mixed-x", mixed(along), **GRID, severity="warning", contains="along y"),
            st("rope-mixed-oblique", mixed(oblique), severity="warning", contains="(x, y)"),
        ],
    }


def half_lives() -> dict[str, list[Example]]:
    def mpt(largest: float, length: int) -> dict[str, Any]:
        attention = {"alibi": True, "alibi_bias_max": largest}
        return MPT | {"attn_config": attention, "max_seq_len": length}

    return {
        "pass": [
            folder("bloom-16-heads", BLOOM | {"n_head": 16}),
            folder("mpt-long", mpt(16.0, 65536)),
        ],
        "fail": [
            folder("mpt-slow", mpt(16.0, 2048), severity="info", contains="3 heads of 8"),
            folder("mpt-short", mpt(1e-3, 2048), severity="warning", contains="every head"),
        ],
    }


RULES: dict[str, tuple[Any, str]] = {
    "RA701": (orthogonality, NO_UNKNOWN),
    "RA702": (duplicate_plane, NO_UNKNOWN),
    "RA703": (near_duplicate_plane, ""),
    "RA704": (inherited_twins, NO_UNKNOWN),
    "RA705": (plane_alias, NO_UNKNOWN),
    "RA706": (step_alias, NO_UNKNOWN),
    "RA707": (not_relative, NO_UNKNOWN),
    "RA708": (group_law, NO_UNKNOWN),
    "RA709": (group_law, NO_UNKNOWN),
    "RA710": (jordan_growth, NO_LENGTH),
    "RA711": (under_rotation, NO_LENGTH),
    "RA712": (grid_change, "where the input states no second grid, the rule does not apply"),
    "RA713": (dead_parameters, "what the file cannot tell is assumed, and a note says so"),
    "RA714": (degenerate_block, NO_LENGTH),
    "RA715": (alibi_slopes, NO_UNKNOWN),
    "RA716": (bias_collapse, NO_LENGTH),
    "RA717": (branches, NO_UNKNOWN),
    "RA718": (words, NO_UNKNOWN),
    "RA719": (still, NO_UNKNOWN),
    "RA720": (coverage, NO_UNKNOWN),
    "RA721": (half_lives, NO_LENGTH),
}


def write(folder: Path) -> None:
    """All examples under ``folder``, one sub-folder a rule."""
    for rule, (examples, no_unknown) in RULES.items():
        said: dict[str, Any] = {"no_unknown": no_unknown} if no_unknown else {}
        for kind, children in examples().items():
            (folder / rule / kind).mkdir(parents=True)
            for name, content, expect in children:
                _write(folder / rule / kind / name, content)
                if expect:
                    said[name] = {k: v for k, v in expect.items() if v}
        (folder / rule / "expect.json").write_text(json.dumps(said, indent=2) + "\n")


def _write(path: Path, content: Any) -> None:
    if not path.suffix:
        path.mkdir()
        (path / "config.json").write_text(json.dumps(content, indent=2) + "\n")
    elif path.suffix == ".pt":
        make.write(path, *content)
    else:
        wrap = "state_dict" if path.suffix == ".ckpt" else None
        make.write(path, content, None, wrap)


if __name__ == "__main__":
    for rule in RULES:
        shutil.rmtree(FOLDER / rule, ignore_errors=True)
    write(FOLDER)
