"""Writes ``fixtures/rules`` for the rules that judge encodings (RA7..).

Run ``python -m tests.make_encoding_fixtures`` after a change here; a test holds the folder against
it. No published checkpoint is copied: names, shapes, formats and initial values follow the public
code that each function names, at the smallest sizes that it could build.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from tests.encodings import make

FOLDER = Path(__file__).parent.parent / "fixtures" / "rules"
Array = Any
Tensors = dict[str, Array]

APE = "positional_encoder._primitives"
LIERE = "model.position_encoder.generator_raw_params"
NO_UNKNOWN = "values that are no numbers are refused when the encoding is read"
NO_LENGTH = "where the input does not say how far positions reach, the rule does not apply"


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def skew(angles: Array, seed: int) -> Array:
    """A generator with the given frequencies in a random basis."""
    n = 2 * len(angles)
    b = np.zeros((n, n))
    for k, angle in enumerate(angles):
        b[2 * k, 2 * k + 1], b[2 * k + 1, 2 * k] = -angle, angle
    q, _ = np.linalg.qr(rng(seed).standard_normal((n, n)))
    return q @ b @ q.T


def stored(generators: list[Array]) -> Array:
    """What ape/nn/position/algebraic.py keeps: any A with A - A^T = B, here with a random
    symmetric part as its initialisation leaves it; float32."""
    found = []
    for seed, b in enumerate(generators):
        noise = rng(100 + seed).uniform(0, 1, b.shape)
        found.append((b - b.T) / 4 + (noise + noise.T) / 2)
    return np.stack(found).astype(np.float32)


def ape(*angles: Array) -> Tensors:
    """APE sequence: (heads, n, n)."""
    return {APE: stored([skew(a, k) for k, a in enumerate(angles)])}


def ape_init(planes: int) -> Array:
    """Angles of ape/nn/position/schemes.py: each exponent twice; its fit splits them by 1e-5."""
    angles = 10000.0 ** (-2 * (np.arange(planes) // 2) / planes)
    return angles + 1e-5 * angles * np.arange(planes)


def tree(*branches: Array) -> Tensors:
    """APE tree of the current code: branches * heads + 1 matrices of which it reads the first."""
    rest = [rng(7 + k).uniform(0, 1, branches[0].shape) for k in range(len(branches) + 1)]
    return {
        APE: np.concatenate([stored(list(branches)), np.stack(rest).astype(np.float32)]),
        "positional_encoder.identity": np.eye(len(branches[0]), dtype=np.float32)[None, None],
    }


def liere(
    block: int, *, layers: int = 1, axes: int = 2, scale: float = 1.0, seed: int = 0
) -> Array:
    """models/rope_vit.py: uniform in [0, 2 pi) everywhere, heads of 64 channels, one head."""
    shape = (axes, layers, 64 // block, block, block)
    return (scale * rng(seed).uniform(0, 2 * np.pi, shape)).astype(np.float32)


def degenerate_axis() -> Array:
    """Blocks of 4 where axis 0 turns both planes alike and axis 1 mixes them."""
    found = liere(4)
    upper = np.zeros((4, 4))
    upper[0, 1] = upper[2, 3] = 1.5
    found[0, 0, 0] = upper
    return found


def mixed(vectors: Array | None = None) -> Tensors:
    """rope-vit models/vit_rope.py: ``freqs`` (2, layers, heads * 32), theta 10, one random
    direction a head. ``vectors`` (planes, 2) replace the first planes of the first head."""
    magnitude = 10.0 ** (-4 * np.arange(16) / 64)
    phi = rng(3).uniform(0, 2 * np.pi, (1, 2, 1))
    turned = [phi, phi + np.pi / 2]
    freqs = np.stack(
        [np.concatenate([magnitude * f(p) for p in turned], axis=-1) for f in (np.cos, np.sin)]
    ).reshape(2, 1, 64)
    for k, vector in enumerate(() if vectors is None else vectors):
        freqs[:, 0, k] = vector
    return {"freqs": freqs.astype(np.float32)}


def swin_axial() -> Tensors:
    """rope-vit models/swin_transformer_rope.py: a buffer, theta 50, zeros as cos(pi / 2)."""
    magnitude = 50.0 ** (-4 * np.arange(8) / 32)
    phase = np.float32(np.pi / 2)
    x = np.concatenate([magnitude, magnitude * np.cos(phase)])
    y = np.concatenate([magnitude * 0.0, magnitude])
    table = np.broadcast_to(np.stack([x, y])[:, None], (2, 3, 16))
    return {"layers.0.blocks.0.attn.rope_freqs": table.astype(np.float32)}


def jordan(method: str, gamma: float, eta: float, *, leaves: str = "") -> tuple[Tensors, Any]:
    """jordan_rope/model.py: {"model", "config"} with base values; 2 layers, 2 heads of 8."""
    raw = np.log(np.expm1(gamma)) + 0.05 * rng(1).standard_normal((2, 2, 2))
    sheared = np.arctanh(eta / 0.1) + (0.05 if eta else 0.0) * rng(2).standard_normal((2, 2, 2))
    tensors = {}
    for layer in range(2):
        path = f"blocks.{layer}.attn.positioner.{leaves}"
        tensors[f"{path}raw_gamma"] = raw[layer].astype(np.float32)
        if method != "damped_rope":
            tensors[f"{path}raw_eta"] = sheared[layer].astype(np.float32)
    config = {
        "position_method": method, "dim": 16, "num_heads": 2, "num_layers": 2, "theta": 10000.0,
        "gamma_min": 1e-4, "init_gamma": 1e-4, "eta_max": 0.1, "init_eta": 0.0,
        "bounded_tau": True, "train_context": 256, "max_exponent": 30.0,
    }  # fmt: skip
    return tensors, config


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
            st("swin-axial", swin_axial()),
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
        "fail": [st("ape-init", ape(ape_init(8), ape_init(8)), contains="4 different angles")],
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


def mixed_all(vectors: Array) -> Tensors:
    """One head, every plane as given."""
    return {"freqs": np.asarray(vectors).T[:, None].astype(np.float32)}


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
