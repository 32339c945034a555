"""What a variant did to a learned encoding, in a few numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.encodings._planes import ABOUT_ZERO
from ropeaudit.encodings.core import Encoding, Spectrum
from ropeaudit.perturb._encodings_lists import Listed
from ropeaudit.records import record
from ropeaudit.schedule.geometry import dlog, log_gaps

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array


_ALIKE = 1.0 + 1e-6
"""Displacements nearer than this part are told apart by rounding alone; the first counts."""


@record(kw_only=True)
class EncodingMeasure:
    """Of one quantity of an encoding against its base, over all layers and heads.

    ``max_cluster``: largest set of units of one head that are one (slopes: of heads of one layer);
    units that stood still before are left out. ``smallest_log_gap``: between neighbouring values of
    one list, 0 where some coincide, None for planes of several axes, whose sizes are no distance.
    ``largest_dlog``: the displacement ``ln(made / base)`` of greatest size, with its sign, at
    ``channel`` of the list of ``layer``, ``head``, ``axis`` (None where nothing moved or where one
    set serves all; of slopes the channel is the head). ``max_phase_drift``: of frequencies, radians
    at the far end of ``extent``, at most pi; ``max_bias_drift``: of slopes, in units of the logits;
    None without an extent.
    """

    encoding: str
    quantity: str
    lists: int
    max_cluster: int
    smallest_log_gap: float | None
    largest_dlog: float
    layer: int | None = None
    head: int | None = None
    axis: str | None = None
    channel: int | None = None
    zeroed: int
    max_phase_drift: float | None
    max_bias_drift: float | None
    extent: tuple[float, ...] | None

    @property
    def max_abs_dlog(self) -> float:
        return abs(self.largest_dlog)


def measured(
    encoding: Encoding, base: Spectrum, made: Spectrum, lists: Sequence[Listed]
) -> EncodingMeasure:
    """The numbers of the lists of one quantity; ``made`` is what they make of ``base``."""
    quantity = lists[0].quantity
    cluster = largest_cluster(base, made, quantity, lists)
    size, found, channel = _largest(lists)
    extent = stated_extent(encoding)
    phase = bias = None
    if extent is not None and quantity == "frequency":
        phase = _phase(base.w, made.w, extent, joint=made.joint)
    elif extent is not None and quantity == "slope":
        bias = max(abs(a - b) for i in lists for a, b in zip(i.base, i.now, strict=True))
        bias *= extent[0]
    return EncodingMeasure(
        encoding=encoding.name,
        quantity=quantity,
        lists=len(lists),
        max_cluster=cluster,
        smallest_log_gap=0.0 if cluster > 1 else _smallest_gap(base, lists),
        largest_dlog=size,
        layer=None if found is None else found.layer,
        head=channel if quantity == "slope" else None if found is None else found.head,
        axis=None if found is None else found.axis,
        channel=channel,
        zeroed=sum(b == 0 != a for i in lists for a, b in zip(i.base, i.now, strict=True)),
        max_phase_drift=phase,
        max_bias_drift=bias,
        extent=extent,
    )


def stated_extent(encoding: Encoding) -> tuple[float, ...] | None:
    """Largest distance along each axis; None where an axis has none or nobody says."""
    found = [e for e in encoding.positions.extent if e is not None]
    return tuple(found) if len(found) == len(encoding.positions.extent) else None


def _largest(lists: Sequence[Listed]) -> tuple[float, Listed | None, int | None]:
    best: tuple[float, Listed | None, int | None] = (0.0, None, None)
    for item in lists:
        for k, (a, b) in enumerate(zip(item.base, item.now, strict=True)):
            # Shear may be negative: what counts is how much larger or smaller it has become.
            moved = dlog(abs(a), abs(b)) if (a < 0) == (b < 0) or b == 0 else math.nan
            if _size(moved) > _ALIKE * _size(best[0]):
                best = moved, item, k
    return best


def _size(value: float) -> float:
    return math.inf if math.isnan(value) else abs(value)


def _phase(a: Array, b: Array, extent: Sequence[float], *, joint: bool) -> float:
    """``max |dw . p|`` over the box of positions, at most pi; each axis alone where none is joint.

    A plane keeps its direction, so no sign has to be chosen.
    """
    import numpy as np

    drift = np.abs(b - a) * np.asarray(extent)
    turned = drift.sum(-1) if joint else drift
    return min(float(turned.max(initial=0.0)), math.pi)


def _smallest_gap(base: Spectrum, lists: Sequence[Listed]) -> float | None:
    if lists[0].quantity == "frequency" and base.joint and _turning(base.w).sum(-1).max() > 1:
        return None
    found = [gap for item in lists for values in _runs(base, item) for gap in log_gaps(values)]
    return min(found, default=None)


def _runs(base: Spectrum, item: Listed) -> Iterator[list[float]]:
    """The values of a list, on each axis apart where planes turn with one axis each."""
    if item.quantity != "frequency" or not base.joint or base.w.shape[-1] == 1:
        yield [abs(v) for v in item.now]
        return
    layer, head, _ = item.at
    turning = _turning(base.w[layer, head, list(item.units)])
    for axis in range(base.w.shape[-1]):
        yield [v for v, own in zip(item.now, turning[:, axis].tolist(), strict=True) if own]


def _turning(w: Array) -> Any:
    """Which axes each plane turns with; float32 holds cos(pi / 2) as -4.4e-8."""
    import numpy as np

    return np.abs(w) > ABOUT_ZERO * np.abs(w).max(axis=-1, keepdims=True)


def largest_cluster(base: Spectrum, made: Spectrum, quantity: str, lists: Sequence[Listed]) -> int:
    """Largest set of coinciding units of one head; blocks coincide where all numbers do."""
    import numpy as np

    if quantity == "slope":
        return max(item.now.count(v) for item in lists for v in item.now)
    units = np.array(sorted({u for item in lists for u in item.units}))
    noise = np.broadcast_to(np.asarray(made.noise, dtype=float), made.w.shape[:2])
    stood = (base.w[:, :, units] == 0).all(-1) & (base.gamma[:, :, units] == 0)
    if made.joint:
        beside = (made.gamma, made.eta) if made.order > 1 else (made.gamma,)
        columns = [np.concatenate([made.w, *(v[..., None] for v in beside)], -1)]
    else:
        columns = [made.w[..., axis : axis + 1] for axis in range(made.w.shape[-1])]
    return max(_largest_set(c[:, :, units], stood, noise) for c in columns)


def _largest_set(v: Any, left_out: Any, noise: Any) -> int:
    import numpy as np

    apart = np.abs(v[..., :, None, :] - v[..., None, :, :]).max(-1)
    alike = apart <= noise[..., None, None]
    counted = ~left_out
    alike &= counted[..., :, None] & counted[..., None, :]
    while True:  # units that are one with a common third are one
        wider = (alike.astype(np.float32) @ alike.astype(np.float32)) > 0
        if (wider == alike).all():
            return max(1, int(alike.sum(-1).max(initial=1)))
        alike = wider
