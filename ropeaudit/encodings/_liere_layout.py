"""How public code stores LieRE, and what a checkpoint leaves open.

Source: StanfordMIMI/LieRE, ``models/rope_vit.py``, ``models/vit.py``. One tensor
``generator_raw_params`` (axes, layers or 1, blocks, g, g) with ``64 // g`` blocks for each head, or
one set of them for all heads; only entries above the diagonal count. Positions of an axis with n
steps, trained with n0, are ``linspace(0, n/n0, n)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ropeaudit.encodings import _grid
from ropeaudit.encodings._stored import facts, finite, misshaped
from ropeaudit.encodings.interface import Sources
from ropeaudit.errors import InvalidValue, UsageError, quoted, quoted_path
from ropeaudit.facts import Fact, Note, Origin, StoredTensor

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Positions

LEAF = "generator_raw_params"
HEAD_DIM = 64
"""The public code builds no other."""
LAYERS = ("first", "own")
GRIDS = {1: (14,), 2: (14, 14), 3: (4, 14, 14)}
"""Training grids of the published runs on ImageNet (14 x 14 patches) and UCF101."""
AXES = {1: ("p",), 2: ("y", "x"), 3: ("t", "y", "x")}
OPTIONS = {
    "grid": _grid.GRID,
    "test-grid": _grid.TEST_GRID,
    "head-dim": _grid.HEAD_DIM,
    "heads": "heads of a layer, where all share one set",
    "liere-layers": "first (every block uses the generators of layer 0) or own",
}
_ALIKE = 1.95
"""Kolmogorov's statistic that two samples of one law exceed once in a thousand times."""
_TOP = 2.0 * math.pi * (1.0 + 2.0**-22)


def recognise(sources: Sources) -> Iterator[Encoding]:
    """One encoding for each stored tensor; raises InvalidValue, UsageError."""
    for tensor in sources.tensors:
        if tensor.name.rpartition(".")[2] == LEAF:
            yield _encoding(tensor, sources.options)


def _encoding(tensor: StoredTensor, options: Mapping[str, str]) -> Encoding:
    from ropeaudit.encodings.core import Encoding

    head_dim = _grid.whole(options, "head-dim")
    count = _blocks_per_head(tensor, head_dim or HEAD_DIM)
    values = finite(tensor)
    axes, stored, total, g, _ = tensor.shape
    sets = total // count
    heads = _grid.whole(options, "heads")
    if heads is not None and sets not in (1, heads):
        raise misshaped(tensor, f"{heads * count} blocks, {count} for each of {heads} heads")
    untouched = [i for i in range(1, stored) if never_trained(values[:, i])]
    layers, stated = _layers(options, stored, untouched)
    positions, assumed = _positions(options, axes)
    settings: dict[str, Any] = {
        "block": g,
        "blocks_per_head": count,
        "per_head": sets > 1,
        "stored_layers": stored,
        "layers_used": layers,
        "dead_layers": list(range(1, stored)) if layers == "first" else [],
        "untouched_layers": untouched,
        "class_token": "identity",
        "grid": list(positions.trained or ()),
        "test-grid": list(positions.used or ()),
    }
    settings["head-dim"] = head_dim or HEAD_DIM
    assumed |= set() if head_dim else {"head-dim"}
    assumed |= set() if stated or stored == 1 else {"layers_used"}
    assumed |= {"heads"} if sets == 1 and heads is None else set()
    return Encoding(
        name=tensor.name.rpartition(".")[0] or "liere",
        kind="liere",
        module="liere",
        head_dim=head_dim or HEAD_DIM,
        heads=heads or sets,
        axes=AXES[axes],
        layers=tuple(range(stored)) if layers == "own" and stored > 1 else None,
        parameters={LEAF: values},
        dtype=tensor.dtype,
        positions=positions,
        settings=settings,
        assumed=frozenset(assumed),
        provenance=(*facts([tensor]), *_facts(settings, assumed)),
        notes=tuple(_notes(settings, assumed, stored)),
    )


def _blocks_per_head(tensor: StoredTensor, head_dim: int) -> int:
    """Blocks of one head; raises InvalidValue for shapes that no such encoding has."""
    shape = tensor.shape
    if len(shape) != 5 or shape[-1] != shape[-2] or 0 in shape:
        raise misshaped(tensor, "(axes, layers or 1, blocks, g, g)")
    if shape[0] not in AXES:
        raise misshaped(tensor, "1 to 3 axes in front")
    g = shape[-1]
    if g < 2 or g > head_dim:
        raise misshaped(tensor, f"blocks of 2 to {head_dim} channels, the size of a head")
    count = head_dim // g
    if shape[2] % count:
        raise InvalidValue(
            f"{quoted_path(tensor.location.file)}: {quoted(tensor.name)} has {shape[2]} blocks of "
            f"{g} channels, which make no whole heads of {head_dim} ({count} blocks each); state "
            "the head size with --encoding head-dim=N",
            where=tensor.name,
        )
    return count


def never_trained(values: Array) -> bool:
    """Whether one layer (axes, blocks, g, g) looks as the initialisation leaves it.

    Uniform in [0, 2 pi) everywhere: entries above the diagonal, which training moves, follow the
    law of those on and below it, which it cannot reach.
    """
    import numpy as np

    g = values.shape[-1]
    if values.min() < 0.0 or values.max() > _TOP:
        return False
    above = np.triu(np.ones((g, g), dtype=bool), 1)
    moved, kept = np.sort(values[..., above].ravel()), np.sort(values[..., ~above].ravel())
    every = np.concatenate([moved, kept])
    apart = np.searchsorted(moved, every, "right") / len(moved)
    apart -= np.searchsorted(kept, every, "right") / len(kept)
    size = math.sqrt(len(moved) * len(kept) / (len(moved) + len(kept)))
    spread = np.ptp(values) > 0.0  # constants were set by hand
    return bool(spread and size * np.abs(apart).max() < _ALIKE)


def _layers(options: Mapping[str, str], stored: int, untouched: list[int]) -> tuple[str, bool]:
    """``first`` or ``own``, and whether the user says so.

    Public code hands the generators of layer 0 to every block, and the others never get a gradient.
    Where one of those was trained all the same, other code made the file.
    """
    text = options.get("liere-layers")
    if text is not None:
        if text not in LAYERS:
            raise UsageError(f"liere-layers is {quoted(text)}, expected first or own")
        return text, True
    return ("first" if len(untouched) == stored - 1 else "own"), False


def line(steps: int, trained: int) -> list[float]:
    """Positions of an axis with ``steps`` steps, trained with ``trained``."""
    last = steps / trained
    return [last * i / (steps - 1) for i in range(steps)] if steps > 1 else [0.0]


def _positions(options: Mapping[str, str], axes: int) -> tuple[Positions, set[str]]:
    from ropeaudit.encodings.core import Positions

    stated = _grid.sizes(options, "grid", axes)
    trained = stated or GRIDS[axes]
    used = _grid.sizes(options, "test-grid", axes)
    now = used or trained
    lines = [line(n, n0) for n, n0 in zip(now, trained, strict=True)]
    assumed = set() if stated else {"grid"}
    return Positions(
        step=tuple(at[1] if len(at) > 1 else 0.0 for at in lines),
        extent=tuple(at[-1] for at in lines),
        integer=False,
        trained=trained,
        used=now,
    ), assumed | (set() if used else {"test-grid"})


def _facts(settings: Mapping[str, Any], assumed: set[str]) -> Iterator[Fact]:
    for name in ("head-dim", "grid", "test-grid", "layers_used"):
        origin = Origin.DEFAULT if name in assumed else Origin.OVERRIDE
        if name == "layers_used" and settings["stored_layers"] == 1:
            continue
        yield Fact(name, settings[name], origin)


def _notes(settings: Mapping[str, Any], assumed: set[str], stored: int) -> Iterator[Note]:
    if "grid" in assumed:
        grid = "x".join(map(str, settings["grid"]))
        yield Note(
            "liere_grid",
            f"positions are those of a training grid of {grid}, which the file does not state; "
            "state it with --encoding grid=ROWSxCOLUMNS",
        )
    if "layers_used" in assumed and settings["layers_used"] == "first":
        yield Note(
            "liere_layers",
            f"of {stored} stored layers every block uses layer 0, as in the public code; the "
            "others look as they were initialised. State --encoding liere-layers=own for code "
            "that uses them",
        )
    elif "layers_used" in assumed:
        yield Note(
            "liere_layers",
            f"each of {stored} layers is read as in use, since layers behind the first were "
            "trained; public code uses layer 0 alone (--encoding liere-layers=first)",
        )
    still = settings["head-dim"] - settings["blocks_per_head"] * settings["block"]
    if still:
        yield Note(
            "liere_static",
            f"blocks of {settings['block']} leave the last {still} of {settings['head-dim']} "
            "channels of a head without rotation",
        )
