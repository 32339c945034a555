"""Units of one head that coincide: distances of all pairs at once, clusters where there are any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ropeaudit.checks._spectrum import counted
from ropeaudit.checks.encodings._look import LISTED, Look, rounded, several
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

RELATIVE = 1e-2
"""Closer than this part of their size, two learned vectors may be one."""

_ROUNDING = 1e-12
"""What computing a vector from size and direction leaves; neighbours in float32 are 6e-8 apart."""


@record()
class Group:
    """Units that are compared with each other: all of them, or those of one axis.

    ``axis`` is None where units are planes of all axes; ``vectors`` (layers, heads, units, axes).
    """

    axis: int | None
    vectors: Any


@record()
class Cluster:
    """Units of one head that are one; ``layer`` and ``head`` are indices of the array axes."""

    axis: int | None
    layer: int
    head: int
    units: list[int]


def groups(look: Look) -> Iterator[Group]:
    """One group where all axes share their planes, else one for each axis or branch."""
    w = look.spectrum.w
    if look.spectrum.joint:
        yield Group(None, w)
        return
    for axis in range(w.shape[-1]):
        yield Group(axis, w[..., axis : axis + 1])


def distances(look: Look, group: Group, scale: Any = 1.0) -> Array:
    """(layers, heads, units, units): distance of two units, the nearer of both signs.

    ``scale`` (axes,) multiplies each axis. Damping belongs to a unit and has no free sign.
    """
    import numpy as np

    v = group.vectors * scale
    a, b = v[..., :, None, :], v[..., None, :, :]
    apart = np.minimum(((a - b) ** 2).sum(-1), ((a + b) ** 2).sum(-1))
    if look.is_damped and group.axis is None:
        g = look.spectrum.gamma * np.max(scale)
        apart = apart + (g[..., :, None] - g[..., None, :]) ** 2
    return np.asarray(np.sqrt(apart))


def sizes(look: Look, group: Group) -> Array:
    """(layers, heads, units, units): the larger norm of each pair."""
    import numpy as np

    norm = np.linalg.norm(group.vectors, axis=-1)
    return np.asarray(np.maximum(norm[..., :, None], norm[..., None, :]))


def candidates(look: Look, group: Group) -> Any:
    """(layers, heads, units, units): pairs i < j of units that turn."""
    import numpy as np

    norm = np.linalg.norm(group.vectors, axis=-1)
    turns = (norm > look.noise[..., None]) & look.rotary & ~look.still
    above = np.triu(np.ones((norm.shape[-1],) * 2, dtype=bool), 1)
    return turns[..., :, None] & turns[..., None, :] & above


def hard(look: Look, group: Group) -> Any:
    """Pairs that the arithmetic cannot tell apart: the spectrum's noise, and float64's own.

    The noise is that of the largest frequencies. The slow end of a geometric table lies below it
    and is apart all the same, so it counts as far as units are close in relation to their size.
    """
    import numpy as np

    size = sizes(look, group)
    noise = np.minimum(look.noise[..., None, None], RELATIVE * size)
    floor = np.maximum(noise, _ROUNDING * size)
    return candidates(look, group) & (distances(look, group) <= floor)


def twins(look: Look, group: Group) -> Any:
    """(layers, heads, units, units): pairs within :data:`RELATIVE`, in heads where at least half
    of what turns stands in twos and nothing in threes. The public fit leaves the slowest angles
    up to half of their size away from their twins."""
    turns = (group.vectors != 0).any(-1) & look.rotary
    close = candidates(look, group)
    close &= distances(look, group) <= RELATIVE * sizes(look, group)
    partners = close.sum(-1) + close.sum(-2)
    paired = (partners <= 1).all(-1) & (2 * partners.sum(-1) >= turns.sum(-1))
    paired &= partners.sum(-1) >= 4
    return close & paired[..., None, None]


def inherited(look: Look) -> Any:
    """(layers, heads): heads in which angles stand in twos, as public code starts APE."""
    import numpy as np

    if look.encoding.module != "ape":
        return np.zeros(look.shape[:2], dtype=bool)
    return np.all([twins(look, g).any((-1, -2)) for g in groups(look)], axis=0)


def clusters(group: Group, mask: Any) -> list[Cluster]:
    """Connected sets of a pair mask, largest first."""
    found: list[Cluster] = []
    heads = mask.any((-1, -2))
    for layer, head in zip(*heads.nonzero(), strict=True):
        sets: list[set[int]] = []
        for i, j in zip(*mask[layer, head].nonzero(), strict=True):
            touched = [s for s in sets if int(i) in s or int(j) in s]
            sets = [s for s in sets if s not in touched]
            sets.append({int(i), int(j)}.union(*touched))
        found += [Cluster(group.axis, int(layer), int(head), sorted(s)) for s in sets]
    return sorted(found, key=lambda c: (-len(c.units), c.layer, c.head, c.axis or 0, c.units))


def evidence(look: Look, found: list[Cluster]) -> dict[str, Any]:
    """``max_cluster`` and the clusters as ``[layer, head, [units]]``, with their count."""
    listed = [[look.layer(c.layer), look.head(c.head), c.units] for c in found[:LISTED]]
    seen = {"max_cluster": len(found[0].units), "clusters": listed, "cluster_count": len(found)}
    if found[0].axis is not None:
        seen["axes"] = [look.encoding.axes[c.axis or 0] for c in found[:LISTED]]
    return seen


def words(look: Look, found: list[Cluster], noun: str = "plane") -> str:
    """``Planes 3, 7 (layer 0, head 2) and 12 more such sets, in 5 heads``: begins a sentence."""
    first = found[0]
    where = "" if first.axis is None else f" of axis {look.encoding.axes[first.axis]}"
    listed = counted(first.units, noun)
    said = f"{listed[0].upper()}{listed[1:]}{where} ({look.at(first.layer, first.head)})"
    if len(found) == 1:
        return said
    heads = len({(c.layer, c.head) for c in found})
    return f"{said} and {several(len(found) - 1, 'more such set')}, in {several(heads, 'head')},"


def smallest(values: Array, mask: Any) -> float:
    """The smallest of ``values`` under a mask, as evidence holds it."""
    return rounded(float(values[mask].min()))
