"""Encodings with numbers of one's choice, and what one check says of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ropeaudit.checks.interface import Case
from ropeaudit.encodings import _alibi, _grid
from ropeaudit.encodings.core import Encoding, Positions, Spectrum
from ropeaudit.findings import Outcome
from ropeaudit.schedule.subject import Subject

Array = Any


def outcomes(
    check: Any, *encodings: Encoding, lengths: tuple[int, ...] = (), params: Any = None
) -> list[Outcome]:
    case = Case(Subject(target="x", format="safetensors", encodings=encodings), lengths)
    return list(check.run(case, params or check.Params()))


def only(check: Any, encoding: Encoding, **options: Any) -> Outcome:
    (found,) = outcomes(check, encoding, **options)
    return found


def mixed(
    vectors: Array, grid: tuple[int, int] | None = None, used: tuple[int, int] | None = None
) -> Encoding:
    """RoPE-Mixed with ``vectors`` (heads, planes, 2) in one layer."""
    w = np.asarray(vectors, dtype=float)
    w = w if w.ndim == 3 else w[None]
    return Encoding(
        name="rope-mixed",
        kind="rope-mixed",
        module="rope_mixed",
        head_dim=2 * w.shape[1],
        heads=len(w),
        axes=("x", "y"),
        layers=(0,),
        parameters={"freqs": np.moveaxis(w, -1, 0)[:, None]},
        positions=_grid.image(grid, used),
    )


def generator(angles: Sequence[float], seed: int | None = 0) -> Array:
    """A skew matrix that turns its planes by ``angles``; ``seed`` None: in the plain basis."""
    n = 2 * len(angles)
    b = np.zeros((n, n))
    for k, angle in enumerate(angles):
        b[2 * k, 2 * k + 1], b[2 * k + 1, 2 * k] = -angle, angle
    if seed is None:
        return b
    q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))
    b = q @ b @ q.T
    return (b - b.T) / 2


def ape(*generators: Array, length: int | None = None, branches: int = 0) -> Encoding:
    """A head for each generator; a tree with ``branches`` (all heads share them)."""
    kind = "ape-tree" if branches else "ape-sequence"
    stack = np.stack(generators) / 2
    dead = list(range(branches, len(stack))) if branches else []
    extent = (None,) * branches if branches else (None if length is None else length - 1.0,)
    return Encoding(
        name="ape",
        kind=kind,
        module="ape",
        head_dim=stack.shape[-1],
        heads=1 if branches else len(stack),
        axes=tuple(f"branch {b}" for b in range(branches)) or ("p",),
        parameters={"_primitives": stack},
        positions=Positions(step=(1.0,) * max(branches, 1), extent=extent),
        settings={
            "ape-stores": "generator", "ape-skew": "full", "ape-tree-layout": "head-shared",
            "dead_matrices": dead,
        },
    )  # fmt: skip


def liere(
    raw: Array, grid: tuple[int, ...] = (14, 14), used: tuple[int, ...] | None = None
) -> Encoding:
    """``raw`` (axes, layers, blocks, g, g) with one head of all blocks, every layer in use."""
    raw = np.asarray(raw, dtype=float)
    axes, layers, count, g, _ = raw.shape
    now = used or grid
    return Encoding(
        name="liere",
        kind="liere",
        module="liere",
        head_dim=count * g,
        heads=1,
        axes=("y", "x") if axes == 2 else ("p",),
        layers=tuple(range(layers)),
        parameters={"generator_raw_params": raw},
        positions=Positions(
            step=tuple((n / n0) / (n - 1) for n, n0 in zip(now, grid, strict=True)),
            extent=tuple(n / n0 for n, n0 in zip(now, grid, strict=True)),
            integer=False,
            trained=grid,
            used=now,
        ),
        settings={
            "blocks_per_head": count, "layers_used": "own", "dead_layers": [],
            "untouched_layers": [],
        },
    )  # fmt: skip


def jordan(
    w: Sequence[float] = (0.7, 0.2),
    gamma: Sequence[float] = (0.05, 0.05),
    eta: Sequence[float] = (0.3, 0.3),
    *,
    order: int = 2,
    bounded: float | None = None,
    length: int | None = 17,
) -> Encoding:
    """One head of Jordan blocks; ``bounded`` is the length of a stabilised shear."""
    values = {"omega": w, "gamma": gamma, "eta": eta}
    return Encoding(
        name="jordan",
        kind="jordan-raw" if bounded is None else "jordan-stabilized",
        module="jordan",
        head_dim=2 * order * len(w),
        heads=1,
        layers=(0,),
        parameters={k: np.array(v, dtype=float)[None, None] for k, v in values.items()},
        positions=Positions(extent=(None if length is None else length - 1.0,)),
        settings={
            "order": order, "shear_scale": 1.0, "theta": 1e4, "rotates": True, "alibi": False,
            "tau": "linear" if bounded is None else "bounded", "train_context": bounded or 16,
            "max_exponent": 30.0,
        },
    )  # fmt: skip


def alibi(
    slopes: Sequence[float] = _alibi.slopes(8), length: int | None = None, dtype: str = "float32"
) -> Encoding:
    return Encoding(
        name="alibi",
        kind="alibi",
        module="alibi",
        head_dim=64,
        heads=len(slopes),
        parameters={"slopes": np.array([slopes], dtype=float)},
        dtype=dtype,
        positions=Positions(extent=(None if length is None else length - 1.0,)),
    )


def crooked(
    patch: pytest.MonkeyPatch,
    maps: Any,
    generators: Array | None = None,
    gamma: float = 0.0,
    n: int = 2,
) -> Encoding:
    """An encoding that no reader builds: ``maps`` of positions gives queries and keys.

    One head, one layer, tokens in a row; what our own modules cannot get wrong stays testable.
    """
    module = ModuleType("ropeaudit.encodings.crooked")
    units = n // 2
    still = np.zeros((1, 1, units))
    found = Spectrum(w=still[..., None] + 0.5, gamma=still + gamma, eta=still)
    members = {
        "spectrum": lambda _: found,
        "generators": lambda _: generators,
        "operators": lambda _, positions: tuple(m[:, None, None] for m in maps(positions[:, 0])),
        "bias": lambda *_: None,
    }
    for name, member in members.items():
        setattr(module, name, member)
    patch.setitem(sys.modules, "ropeaudit.encodings.crooked", module)
    return Encoding(
        name="crooked", kind="crooked", module="crooked", head_dim=n, heads=1, layers=(0,),
        positions=Positions(extent=(32.0,)),
    )  # fmt: skip
