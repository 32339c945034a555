"""How public code stores Algebraic Positional Encodings, and what a checkpoint leaves open.

Source: konstantinosKokos/ape, ``ape/nn/position/algebraic.py`` and ``rotary.py``. One set of
matrices serves all layers. A sequence stores (heads, n, n), a grid (axes * heads, n/axes, n/axes)
with index axis * heads + head, a tree (branches * heads + 1, n, n), trainable rotary angles (n/2,).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.encodings import _grid
from ropeaudit.encodings._stored import facts, finite, misshaped
from ropeaudit.encodings.interface import Sources
from ropeaudit.errors import InvalidValue, UsageError, quoted, quoted_path
from ropeaudit.facts import Fact, Note, Origin, StoredTensor

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Encoding, Positions

SKEW = ("full", "tril")
TREE = ("head-shared", "per-head-sos")
LAYOUT = ("sequence", "tree", "grid")
STORES = ("generator", "operator")
DECAY = 0.98
BRANCHES = 2
OPTIONS = {
    "ape-skew": "full (B = A - A^T) or tril (of the strict lower triangle of A)",
    "ape-tree-layout": "head-shared (the first matrices, for all heads) or per-head-sos",
    "ape-layout": "sequence, tree or grid, which are stored alike",
    "ape-stores": "generator (A) or operator (an orthogonal W)",
    "ape-decay": "factor on the score per step of distance (0.98), or none",
    "branches": "branches of a node of a tree, such as 2",
    "heads": "heads of a layer, where all share one set",
    "grid": _grid.GRID,
    "test-grid": _grid.TEST_GRID,
    "train-context": "positions of a training sequence, such as 1024",
}
_LEAVES = ("_primitives", "thetas")
_ORTHOGONAL = 1e-3
"""Defect up to which stored matrices count as orthogonal ones, bfloat16 included."""


class _Taken:
    """Options as taken: the user's where stated, otherwise the default, marked as assumed."""

    def __init__(self, sources: Sources) -> None:
        self.options = sources.options
        self.settings: dict[str, Any] = {}
        self.assumed: set[str] = set()
        self.facts: list[Fact] = []

    def choice(self, name: str, values: Sequence[str], default: str | None = None) -> str:
        """One of ``values``, the first by default; raises UsageError for another."""
        text = self.options.get(name)
        if text is not None and text not in values:
            raise UsageError(f"{name} is {quoted(text)}, expected {' or '.join(values)}")
        return str(self.note(name, text, default or values[0]))

    def note(self, name: str, stated: Any, default: Any) -> Any:
        value = default if stated is None else stated
        self.settings[name] = value
        if stated is None:
            self.assumed.add(name)
        origin = Origin.DEFAULT if stated is None else Origin.OVERRIDE
        self.facts.append(Fact(name, value, origin))
        return value


def recognise(sources: Sources) -> Iterator[Encoding]:
    """One encoding for each module that holds such tensors; raises InvalidValue, UsageError."""
    groups: dict[str, dict[str, StoredTensor]] = {}
    for tensor in sources.tensors:
        path, _, leaf = tensor.name.rpartition(".")
        known = leaf == "_primitives" or "positional_encoder" in path.split(".")
        if leaf in (*_LEAVES, "identity") and known:
            groups.setdefault(path, {})[leaf] = tensor
    for path, group in groups.items():
        if all(leaf in group for leaf in _LEAVES):
            raise InvalidValue(
                f"{quoted_path(group['thetas'].location.file)}: {quoted(path)} holds both matrices "
                "(_primitives) and angles (thetas), which are two encodings; keep the one that "
                "the model uses",
                where=group["thetas"].name,
            )
        if "thetas" in group:
            yield _rotary(path, group["thetas"], sources)
        elif "_primitives" in group:
            yield _algebraic(path, group, sources)


def _rotary(path: str, tensor: StoredTensor, sources: Sources) -> Encoding:
    from ropeaudit.encodings.core import Encoding

    if len(tensor.shape) != 1 or not tensor.shape[0]:
        raise misshaped(tensor, "one axis, an angle for each plane of a head")
    taken = _Taken(sources)
    heads = taken.note("heads", _grid.whole(sources.options, "heads"), 1)
    taken.note("pairing", None, "interleaved")
    _decay(taken, "|i-j|")
    return Encoding(
        name=path or "ape-rotary",
        kind="ape-rotary",
        module="ape",
        head_dim=2 * tensor.shape[0],
        heads=heads,
        parameters={"thetas": finite(tensor)},
        dtype=tensor.dtype,
        positions=_sequence(sources),
        settings=taken.settings,
        assumed=frozenset(taken.assumed),
        provenance=(*facts([tensor]), *taken.facts),
        notes=(
            Note("ape_layout", "one vector of angles serves all heads; planes are taken as "
                 "neighbouring channels, since the file does not say which channels pair"),
        ),
    )  # fmt: skip


def _algebraic(path: str, group: dict[str, StoredTensor], sources: Sources) -> Encoding:
    from ropeaudit.encodings.core import Encoding

    tensor = group["_primitives"]
    shape = tensor.shape
    if len(shape) != 3 or shape[1] != shape[2] or shape[1] < 2 or not shape[0]:
        raise misshaped(tensor, "square matrices (count, n, n) of at least 2 channels")
    taken = _Taken(sources)
    layout = taken.choice("ape-layout", LAYOUT, _guess(group, sources))
    if layout != "sequence":  # the start symbol tells, or an option that only one layout has
        taken.assumed.discard("ape-layout")
    stores = taken.choice("ape-stores", STORES)
    if stores == "generator":
        taken.choice("ape-skew", SKEW)
    values = finite(tensor)
    if stores == "operator":
        _require_rotations(tensor, values)
    kind = {"sequence": _of_sequence, "tree": _of_tree, "grid": _of_grid}[layout]
    sizes = kind(tensor, sources, taken)
    heads = _grid.whole(sources.options, "heads")
    if heads not in (None, sizes["heads"]):
        raise misshaped(tensor, f"matrices of {heads} heads as stated, and not {sizes['heads']}")
    return Encoding(
        name=path or f"ape-{layout}",
        kind=f"ape-{layout}",
        module="ape",
        parameters={"_primitives": values},
        dtype=tensor.dtype,
        settings=taken.settings,
        assumed=frozenset(taken.assumed),
        provenance=(*facts(list(group.values())), *taken.facts),
        notes=tuple(_notes(layout, taken, sizes["head_dim"])),
        **sizes,
    )


def _guess(group: dict[str, StoredTensor], sources: Sources) -> str:
    """The layout that the tensors or the other options tell; sequences are the most common."""
    if "identity" in group or {"ape-tree-layout", "branches"} & sources.options.keys():
        return "tree"
    return "grid" if {"grid", "test-grid"} & sources.options.keys() else "sequence"


def _of_sequence(tensor: StoredTensor, sources: Sources, taken: _Taken) -> dict[str, Any]:
    _decay(taken, "|i-j|")
    heads, n = tensor.shape[:2]
    return {"head_dim": n, "heads": heads, "positions": _sequence(sources)}


def _of_grid(tensor: StoredTensor, sources: Sources, taken: _Taken) -> dict[str, Any]:
    from ropeaudit.encodings.core import Positions

    text = sources.options.get("grid") or sources.options.get("test-grid") or "1x1"
    axes = max(2, len(text.lower().replace("×", "x").split("x")))
    count, n = tensor.shape[:2]
    heads, rest = divmod(count, axes)
    if rest:
        raise misshaped(tensor, f"a multiple of {axes} matrices, one for each axis and head")
    trained = _grid.sizes(sources.options, "grid", axes)
    used = _grid.sizes(sources.options, "test-grid", axes) or trained
    _decay(taken, "floor of the Euclidean distance")
    extent = (None,) * axes if used is None else tuple(float(s - 1) for s in used)
    return {
        "head_dim": axes * n,
        "heads": heads,
        "axes": tuple("yx" if axes == 2 else "tyx" if axes == 3 else map(str, range(axes))),
        "positions": Positions(
            step=(1.0,) * axes, extent=extent, integer=True, trained=trained, used=used
        ),
    }


def _of_tree(tensor: StoredTensor, sources: Sources, taken: _Taken) -> dict[str, Any]:
    from ropeaudit.encodings.core import Positions

    layout = taken.choice("ape-tree-layout", TREE)
    branches = taken.note("branches", _grid.whole(sources.options, "branches"), BRANCHES)
    count, n = tensor.shape[:2]
    heads, rest = divmod(count - 1, branches)
    if rest or not heads:
        raise misshaped(
            tensor,
            f"{branches} matrices for each head and one more; state the branches of a node with "
            "--encoding branches=N",
        )
    dead = range(branches, count) if layout == "head-shared" else ()
    taken.settings["dead_matrices"] = list(dead)
    _decay(taken, "tree steps, which the public code counts with the padding of the batch")
    return {
        "head_dim": n,
        "heads": heads,
        "axes": tuple(f"branch {b}" for b in range(branches)),
        "positions": Positions(step=(1.0,) * branches, extent=(None,) * branches),
    }


def _sequence(sources: Sources) -> Positions:
    from ropeaudit.encodings.core import Positions

    length = _grid.whole(sources.options, "train-context", least=2)
    if length is None:
        return Positions()
    return Positions(extent=(float(length - 1),), trained=(length,), used=(length,))


def _decay(taken: _Taken, distance: str) -> None:
    """The factor that multiplies every score: a constant of the code, in no checkpoint."""
    import math

    stated = None
    text = taken.options.get("ape-decay")
    if text == "none":
        stated = 1.0
    elif text is not None:
        stated = _grid.number(taken.options, "ape-decay")
        if stated is None or stated > 1.0:
            raise UsageError(f"ape-decay is {quoted(text)}, expected a factor up to 1, or none")
    factor = taken.note("decay", stated, DECAY)
    taken.settings["decay_distance"] = distance
    taken.settings["decay_gamma"] = -math.log(factor) or 0.0
    if factor < 1.0:
        taken.settings["decay_half_distance"] = math.log(0.5) / math.log(factor)


def _require_rotations(tensor: StoredTensor, values: Any) -> None:
    """Raises InvalidValue for matrices that are no rotations."""
    import numpy as np

    from ropeaudit.encodings._algebra import orthogonality_defect

    where = f"{quoted_path(tensor.location.file)}: {quoted(tensor.name)}"
    defect = orthogonality_defect(values)
    if not (defect < _ORTHOGONAL).all():
        at = int(np.argmax(defect))
        raise InvalidValue(
            f"{where} holds no orthogonal matrix at {at} (defect {defect[at]:.3g}), expected "
            "rotations as ape-stores=operator says; leave the option out where generators are "
            "stored",
            where=tensor.name,
        )
    sign = np.linalg.slogdet(values)[0]
    if (sign < 0.0).any():
        at = int(np.argmin(sign))
        raise InvalidValue(
            f"{where} has determinant -1 at {at}: a reflection, which is the exponential of no "
            "real generator; flip the sign of one column, or audit a generator",
            where=tensor.name,
        )


def _notes(layout: str, taken: _Taken, head_dim: int) -> Iterator[Note]:
    s = taken.settings
    if "ape-layout" in taken.assumed:
        yield Note(
            "ape_layout",
            "read as a sequence; grids and trees are stored alike, state them with --encoding "
            "ape-layout=grid or ape-layout=tree",
        )
    if "ape-skew" in taken.assumed:
        yield Note(
            "ape_skew",
            "generators are A - A^T of the full stored matrix; for checkpoints of April to August "
            "2024, which use the lower triangle alone, state --ape-skew tril",
        )
    if "ape-tree-layout" in taken.assumed:
        yield Note(
            "ape_tree_layout",
            f"the first {s['branches']} matrices are the branches of all heads; for checkpoints "
            "of before April 2024 state --ape-tree-layout per-head-sos",
        )
    if "branches" in taken.assumed:
        yield Note("ape_branches", "a node has 2 branches; state others with --encoding branches=N")
    if head_dim % 2 and layout != "grid":
        yield Note("odd_head", f"of {head_dim} channels one never rotates in each head")
