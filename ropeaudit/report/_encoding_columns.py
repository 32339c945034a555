"""Tables of encodings: a row for each layer, and what its columns are made of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ropeaudit.records import record
from ropeaudit.report import _numbers as show

if TYPE_CHECKING:
    from ropeaudit.checks.encodings._look import Look


@record()
class Row:
    """A layer, or layers of which the same is said. ``cells`` stand under the table's titles."""

    layers: tuple[int, ...]
    cells: tuple[str, ...]


def table(look: Look) -> tuple[tuple[str, ...], list[Row]]:
    """Titles, and a row for each layer; neighbours of which the same is said share one."""
    columns = dict(_columns(look))
    cells = list(zip(*columns.values(), strict=True))
    rows = []
    for said, group in groupby(range(look.shape[0]), key=cells.__getitem__):
        same = list(group)
        layers = tuple(look.encoding.layers[i] for i in same) if look.encoding.layers else ()
        rows.append(Row(layers, (show.layers(layers) if layers else "all", *said)))
    return ("layer", *columns), rows


def _columns(look: Look) -> Iterator[tuple[str, list[str]]]:
    """Titles with a cell for each layer."""
    spectrum = look.spectrum
    if not look.is_bias:
        yield from _maps(look)
    slopes = spectrum.eta[:, :, look.added].reshape(look.shape[0], -1)
    if slopes.size:
        yield "min slope", _cells(slopes.min(1))
        yield "max slope", _cells(slopes.max(1))
        yield "half-lives", [_half_lives(s.min(), s.max()) for s in slopes]


def _maps(look: Look) -> Iterator[tuple[str, list[str]]]:
    import numpy as np

    spectrum = look.spectrum
    sizes = np.linalg.norm(spectrum.w, axis=-1) if spectrum.joint else np.abs(spectrum.w)
    sizes = sizes[:, :, look.rotary].reshape(len(sizes), -1)
    if sizes.size:
        yield f"min |w| {spectrum.unit}", _cells(sizes.min(1))
        yield "median", _cells(np.median(sizes, axis=1))
        yield "max", _cells(sizes.max(1))
        yield "cluster", largest_clusters(look)
        if look.shape[3] == 2 and spectrum.joint:
            yield "gap deg", _directions(look)
    for title, values in (("damping", spectrum.gamma), ("shear", np.abs(spectrum.eta))):
        values = values[:, :, ~look.added].reshape(len(values), -1)
        if values.any():
            yield f"max {title}", _cells(values.max(1))
    if len(look.encoding.axes) > 1 and look.generators is not None:
        from ropeaudit.encodings._algebra import largest_commutator

        yield "commutator", _cells(largest_commutator(look.generators).max(-1))


def _directions(look: Look) -> list[str]:
    """The widest gap between directions of one head, in degrees, for each layer."""
    import numpy as np

    from ropeaudit.checks.encodings.direction_coverage import gaps, heard

    widest, _ = gaps(look.spectrum.w, heard(look))
    return [f"{d:.0f}" for d in np.degrees(widest).max(1)]


def _half_lives(slowest: float, fastest: float) -> str:
    """``1.39 to 177`` positions, for the largest and the smallest slope of a layer."""
    from ropeaudit.encodings._alibi import half_life

    both = ("never" if s <= 0 else show.short(half_life(s)) for s in (fastest, slowest))
    return " to ".join(dict.fromkeys(both))


def _cells(values: Any) -> list[str]:
    return [show.short(float(v)) for v in values]


def largest_clusters(look: Look) -> list[str]:
    """Largest set of units that coincide in one head, for each layer."""
    from ropeaudit.checks.encodings._pairs import clusters, groups, hard

    worst = [1] * look.shape[0]
    for group in groups(look):
        for cluster in clusters(group, hard(look, group)):
            worst[cluster.layer] = max(worst[cluster.layer], len(cluster.units))
    return list(map(str, worst))
