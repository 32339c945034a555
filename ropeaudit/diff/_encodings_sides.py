"""One side of a comparison as arrays, whether it is a learned encoding or a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ropeaudit.diff.measure import REFERENCE_GRID, REFERENCE_LENGTH
from ropeaudit.encodings._still import settled
from ropeaudit.encodings.core import Encoding, Spectrum
from ropeaudit.encodings.interface import of
from ropeaudit.records import field, record
from ropeaudit.schedule.core import Schedule

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

TURNED = 1e-4
"""Relative distance of generators beyond which equal spectra turn in other planes; rounding of
float32 parameters beside a symmetric part of size 1 stays below it."""
_TREE_STEPS = 1.0
"""Nothing says how deep a tree is: phases are taken at one step."""


@record(kw_only=True)
class Side:
    """``w`` (layers, heads, units, axes) in radians per unit, turning units alone; ``values``:
    damping, shear and slopes, (layers, heads, units).

    ``ordered``: units stand in an order of their own, so that they answer to each other by index.
    ``joint``: a row of ``w`` is one vector; otherwise each axis has a spectrum of its own.
    ``generators`` (axes, layers, heads, n, n) of sources whose planes are part of what is learned.
    ``extent``: largest distance along each axis, None where nobody says.
    """

    name: str
    kind: str
    module: str
    heads: int
    head_dim: int
    layers: tuple[int, ...] | None
    axes: tuple[str, ...]
    w: Any
    values: Mapping[str, Any]
    ordered: bool
    joint: bool
    noise: Any
    generators: Any = None
    extent: tuple[float | None, ...] = (None,)
    settings: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    assumed: frozenset[str] = frozenset()
    is_schedule: bool = False
    counts_tokens: bool = True
    said_by: str = "trained"
    """Who states the extent."""

    @property
    def is_plain(self) -> bool:
        """Frequencies alone: a schedule, or what a conversion has made of an encoding."""
        return self.is_schedule or self.module == "converted"


def of_encoding(encoding: Encoding) -> Side:
    """What an encoding is, by its own module."""
    import numpy as np

    module = of(encoding)
    spectrum: Spectrum = module.spectrum(encoding)
    sector = np.array(spectrum.sector or ("rotary",) * spectrum.w.shape[2])
    rotary, added = sector == "rotary", sector == "bias"
    dense = encoding.kind in ("ape-sequence", "ape-tree", "ape-grid")
    dense |= encoding.module == "liere" and int(encoding.settings["block"]) > 2
    values = {
        "damping": spectrum.gamma[:, :, ~added],
        "shear": spectrum.eta[:, :, ~added],
        "slope": spectrum.eta[:, :, added],
    }
    at = encoding.positions
    return Side(
        name=encoding.name,
        kind=encoding.kind,
        module=encoding.module,
        heads=encoding.heads,
        head_dim=encoding.head_dim,
        layers=encoding.layers,
        axes=encoding.axes,
        # Zeros that came through a stored matrix are zeros.
        w=settled(spectrum)[:, :, rotary],
        values={k: v for k, v in values.items() if v.any()},
        ordered=not dense,
        joint=spectrum.joint,
        noise=np.broadcast_to(np.asarray(spectrum.noise, float) / 4.0, spectrum.w.shape[:2]),
        generators=module.generators(encoding) if dense else None,
        extent=at.extent,
        settings=encoding.settings,
        assumed=encoding.assumed,
        facts={
            "order of blocks": spectrum.order,
            "multiplicity": spectrum.multiplicity,
            "coordinate of the shear": spectrum.tau,
            "factor on the shear": float(spectrum.eta_scale),
            "training grid": _steps(at.trained),
            "grid in use": _steps(at.used or at.trained),
            "step": at.step,
        },
        counts_tokens=len(encoding.axes) == 1 and at.integer,
    )


def _steps(steps: tuple[int, ...] | None) -> str | None:
    return None if steps is None else " x ".join(map(str, steps))


def of_schedule(schedule: Schedule, length: int, source: str) -> Side | None:
    """A schedule beside an encoding, judged at ``length`` positions, which ``source`` states.

    None where its channels belong to several coordinates at once.
    """
    import numpy as np

    names = ("p",) if schedule.axes is None else tuple(dict.fromkeys(a.axis for a in schedule.axes))
    count = len(schedule.inv_freq)
    w = np.zeros((1, 1, count, len(names)))
    owners = [0] * count
    for part in schedule.axes or ():
        for k in range(part.channels[0], part.channels[1] + 1):
            w[0, 0, k, names.index(part.axis)] = schedule.inv_freq[k]
            owners[k] += 1
    if schedule.axes is None:
        w[0, 0, :, 0] = schedule.inv_freq
    elif any(n != 1 for n in owners):
        return None
    return Side(
        name=schedule.name,
        kind="schedule",
        module="schedule",
        heads=1,
        head_dim=schedule.head_dim or 2 * count,
        layers=None,
        axes=names,
        w=np.abs(w),
        values={},
        ordered=True,
        joint=True,
        noise=np.zeros((1, 1)),
        generators=_generators(schedule, w),
        extent=(float(length),) * len(names),
        is_schedule=True,
        counts_tokens=schedule.axes is None,
        said_by=source,
    )


def _generators(schedule: Schedule, w: Array) -> Any:
    """(axes, 1, 1, n, n) in the channels that the engine pairs."""
    import numpy as np

    count, axes = w.shape[2:]
    found = np.zeros((axes, 1, 1, 2 * count, 2 * count))
    half = schedule.pairing == "half"
    for k in range(count):
        i, j = (k, k + count) if half else (2 * k, 2 * k + 1)
        found[:, 0, 0, i, j], found[:, 0, 0, j, i] = -w[0, 0, k], w[0, 0, k]
    return found


def extents(a: Side, b: Side, lengths: tuple[int, ...]) -> tuple[tuple[float, ...], str]:
    """Where phases are compared, and who says so: given, trained, declared or reference.

    A schedule is judged at its length, as beside another schedule.
    """
    if (
        lengths
        and not (a.is_schedule or b.is_schedule)
        and a.counts_tokens
        and b.counts_tokens
        and not _is_tree(a)
    ):
        return (max(lengths) - 1.0,), "given"
    # A config knows its trained length; a checkpoint is read at what the user states of it.
    first, second = (b, a) if b.is_schedule else (a, b)
    found = []
    source = first.said_by
    for x, y in zip(first.extent, second.extent, strict=True):
        one = x if x is not None else y
        if one is None:
            source = "reference"
            one = _reference(a)
        found.append(one)
    return tuple(found), source


def _reference(side: Side) -> float:
    if _is_tree(side):
        return _TREE_STEPS
    return float(REFERENCE_LENGTH if side.counts_tokens else REFERENCE_GRID)


def _is_tree(side: Side) -> bool:
    return side.kind.endswith("-tree")


def basis(a: Side, b: Side) -> float | None:
    """Largest relative distance of the generators of one head; None where planes are not learned.

    The nearer of both directions of turning: a generator and its negative are one encoding.
    """
    import numpy as np

    x, y = a.generators, b.generators
    if x is None or y is None or x.shape[-1] != y.shape[-1] or len(x) != len(y):
        return None
    if any(m != n and 1 not in (m, n) for m, n in zip(x.shape[1:3], y.shape[1:3], strict=True)):
        return None
    size = np.sqrt((np.abs(x) ** 2).sum((0, -2, -1)))
    apart = np.minimum(*(np.sqrt((np.abs(x - s * y) ** 2).sum((0, -2, -1))) for s in (1.0, -1.0)))
    return float((apart / np.where(size > 0, size, 1.0)).max(initial=0.0))
