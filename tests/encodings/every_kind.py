"""One small model of every kind of encoding, as files in the layouts of public code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ropeaudit.schedule.subject import Subject
from tests.encodings import layouts_alibi, layouts_ape, layouts_jordan, layouts_liere
from tests.encodings import layouts_rope_vit as vit
from tests.encodings.make import write

Writer = Callable[[Path], Path]

JORDAN = {
    "jordan-raw": "jordan_raw_tau",
    "jordan-exact": "jordan_exact_c100_eta020",
    "jordan-stabilized": "jordan_rope",
    "jordan-jetmix": "jordan_jetmix_m4_c100_g020_g010_g005",
    "jordan-real": "real_jordan",
    "damped-rope": "damped_rope",
    "direct-sum": "direct_sum",
}


def _tensors(state: Mapping[str, Any], name: str = "model.safetensors") -> Writer:
    def made(folder: Path) -> Path:
        write(folder / name, state)
        return folder / name

    return made


def _jordan(method: str) -> Writer:
    def made(folder: Path) -> Path:
        state, config = layouts_jordan.checkpoint(method, width=64, noise=0.1, init_gamma=0.01)
        write(folder / "model.pt", state, config)
        return folder / "model.pt"

    return made


def _config(config: Mapping[str, Any]) -> Writer:
    def made(folder: Path) -> Path:
        (folder / "config.json").write_text(json.dumps(config))
        return folder / "config.json"

    return made


def _converted(source: Writer) -> Writer:
    """What a conversion to RoPE makes of another case."""

    def write(folder: Path) -> Path:
        from ropeaudit.convert._stored import stored
        from ropeaudit.convert.reading import read
        from ropeaudit.convert.rope import convert
        from ropeaudit.export import _tensors
        from ropeaudit.report._convert import Done, metadata

        done = Done(made=convert(read(str(source(folder)))))
        path = folder / "rope.safetensors"
        _tensors.write(path, stored(done.made), metadata(done), force=True)
        return path

    return write


def _trained(block: int) -> np.ndarray:
    return layouts_liere.trained(layouts_liere.initial(block, axes=2, layers=1, heads=2))


CASES: dict[str, tuple[str, Writer, dict[str, str]]] = {
    "ape-sequence": (
        "ape-sequence", _tensors(layouts_ape.sequential(layouts_ape.exact(2, 16))),
        {"train-context": "128"},
    ),
    "ape-tree": ("ape-tree", _tensors(layouts_ape.branching(), "model.pt"), {}),
    "ape-grid": ("ape-grid", _tensors(layouts_ape.grid()), {"grid": "8x6"}),
    "ape-rotary": ("ape-rotary", _tensors(layouts_ape.rotary()), {"train-context": "128"}),
    "liere-2": ("liere", _tensors({layouts_liere.KEY: _trained(2)}), {}),
    "liere-8": ("liere", _tensors({layouts_liere.KEY: _trained(8)}), {}),
    "rope-mixed": ("rope-mixed", _tensors(vit.deit(2, 2)), {"grid": "14x14"}),
    "rope-mixed-timm": ("rope-mixed", _tensors(vit.timm(2, 2)), {"grid": "14x14"}),
    "rope-mixed-swin": ("rope-mixed", _tensors(vit.swin((2, 3), 1)), {"grid": "7x7"}),
    "rope-axial-swin": ("rope-axial", _tensors(vit.swin((2, 3), 1, axial=True)), {"grid": "7x7"}),
    "rope-axial": ("rope-axial", _config({"model": "rope_axial_deit_small_patch16_LS"}), {}),
    "rope-per-head": (
        "rope-per-head",
        _converted(_tensors(layouts_ape.sequential(layouts_ape.exact(2, 16)))), {},
    ),
    **{kind: (kind, _jordan(method), {}) for kind, method in JORDAN.items()},
    "alibi": ("alibi", _config(layouts_alibi.mpt(heads=8, width=512)), {}),
    "rope-alibi": ("rope-alibi", _config(layouts_jordan.config("rope_alibi")), {}),
}  # fmt: skip
"""Kind, how to write it, and what has to be stated."""

UNSTORED = frozenset(
    {"rope-axial", "jordan-raw", "jordan-exact", "jordan-stabilized", "jordan-jetmix",
     "damped-rope", "direct-sum", "alibi", "rope-alibi"}
)  # fmt: skip
"""Whose frequencies or slopes follow from code and stand in no tensor."""


def target(name: str, folder: Path) -> str:
    """The model of a case, written to ``folder``."""
    return str(CASES[name][1](folder))


def options(name: str) -> dict[str, str]:
    return CASES[name][2]


def arguments(name: str) -> list[str]:
    """The same as on the command line."""
    return [a for k, v in options(name).items() for a in ("--encoding", f"{k}={v}")]


def subject(name: str, folder: Path) -> Subject:
    from ropeaudit.resolve import resolve

    found = resolve(target(name, folder), encoding=options(name))
    assert found.error is None, found.error
    assert found.encodings
    return found


RECIPE = {"jordan-real": "noise:eps=1e-3,seed=1@damping"}
"""Of what turns nothing, the damping is changed."""


def recipe(name: str) -> str:
    """Noise on the first quantity of a case."""
    return RECIPE.get(name, "noise:eps=1e-3,seed=1")
