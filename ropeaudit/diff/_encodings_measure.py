"""Numbers of two encodings, unit by unit: displacement, phase drift, float32 steps, and planes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.diff._encodings_interface import EncodingUnit, HeadDiff, QuantityDiff
from ropeaudit.diff._encodings_sides import Side
from ropeaudit.diff.likeness import Likeness

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

_DAMPING = ("damping", "shear", "slope")


def quantities(a: Side, b: Side, extent: Sequence[float], tolerance: int) -> Iterator[QuantityDiff]:
    """Frequencies first, then damping, shear and slopes that either side has."""
    import numpy as np

    if a.w.shape[2] or b.w.shape[2]:
        pair = _aligned(a, b)
        if pair is not None:
            noise = np.maximum(_spread(a.noise, pair[0]), _spread(b.noise, pair[0]))
            yield _frequencies(a, b, pair, extent, tolerance, noise)
    for name in _DAMPING:
        held = [s.values.get(name) for s in (a, b)]
        if held[0] is None and held[1] is None:
            continue
        like = next(v for v in held if v is not None)
        values = [np.zeros_like(like) if v is None else v for v in held]
        x, y = _padded(*(v[..., None] for v in values))
        x, y = _broadcast(a, b, x, y)
        scale = extent[0] if name == "slope" else None
        yield _scalars(a, b, name, x, y, tolerance, scale)


def _aligned(a: Side, b: Side) -> tuple[Array, Array] | None:
    """Both spectra with units that answer to each other; None for another number of axes."""
    x, y = a.w, b.w
    if x.shape[-1] != y.shape[-1]:
        return None
    x, y = _broadcast(a, b, *_padded(x, y))
    same_blocks = a.module == b.module == "liere" and a.settings.get("block") == b.settings.get(
        "block"
    )
    if (a.ordered and b.ordered) or (same_blocks and a.joint == b.joint):
        return x, y
    joint = a.joint and b.joint
    return _falling(x, joint=joint), _falling(y, joint=joint)


def _padded(x: Array, y: Array) -> tuple[Array, Array]:
    """A unit that one side has not stands still there."""
    import numpy as np

    units = max(x.shape[2], y.shape[2])

    def grown(v: Array) -> Array:
        return np.pad(v, ((0, 0), (0, 0), (0, units - v.shape[2]), (0, 0)))

    return grown(x), grown(y)


def _broadcast(a: Side, b: Side, x: Array, y: Array) -> tuple[Array, Array]:
    """Layers and heads that both have; one set that serves all is compared with each."""
    import numpy as np

    if a.layers and b.layers and a.layers != b.layers:
        common = sorted(set(a.layers) & set(b.layers))
        x = x[[a.layers.index(n) for n in common]]
        y = y[[b.layers.index(n) for n in common]]
    for axis in (0, 1):
        m, n = x.shape[axis], y.shape[axis]
        if m != n and 1 not in (m, n):
            keep = range(min(m, n))
            x, y = np.take(x, keep, axis), np.take(y, keep, axis)
    x, y = np.broadcast_arrays(
        x, np.broadcast_to(y, np.broadcast_shapes(x.shape[:2], y.shape[:2]) + y.shape[2:])
    )
    return x, y


def _falling(w: Array, *, joint: bool) -> Array:
    """Units by falling size: vectors on the axis that they turn most with, or each axis alone."""
    import numpy as np

    if not joint or w.shape[-1] == 1:
        return np.asarray(-np.sort(-np.abs(w), axis=2))
    main = np.abs(w).argmax(-1)
    order = np.lexsort((-np.linalg.norm(w, axis=-1), main), axis=2)
    return np.asarray(np.take_along_axis(w, order[..., None], axis=2))


def _spread(noise: Any, x: Array) -> Array:
    import numpy as np

    layers, heads = x.shape[:2]
    fits = all(n in (1, m) for n, m in zip(noise.shape, (layers, heads), strict=True))
    found = noise if fits else np.full((1, 1), float(noise.max(initial=0.0)))
    return np.broadcast_to(found, (layers, heads))


def _frequencies(
    a: Side, b: Side, pair: tuple[Array, Array], extent: Sequence[float], tolerance: int, noise: Any
) -> QuantityDiff:
    import numpy as np

    x, y = pair
    reach = np.asarray(extent)
    joint = a.joint and b.joint
    if joint:
        # A plane has one sign for all its axes, and nobody can see which.
        same, other = (np.abs(x - s * y) for s in (1.0, -1.0))
        apart = np.where((same * reach).sum(-1, keepdims=True)
                         <= (other * reach).sum(-1, keepdims=True), same, other)  # fmt: skip
        drift = (apart * reach).sum(-1)[..., None]
        left, right = (np.linalg.norm(v, axis=-1)[..., None] for v in (x, y))
        size = np.linalg.norm(apart, axis=-1)[..., None]
    else:
        left, right = np.abs(x), np.abs(y)
        size = np.abs(left - right)
        drift = size * reach
    steps = _steps(left, right, size)
    floor = noise[..., None, None]
    noisy = size <= floor
    drift = np.minimum(drift, math.pi)
    return _summed(
        a, b, "frequency", (x, y), left, right, steps, drift, noisy, tolerance, joint=joint
    )


def _scalars(
    a: Side, b: Side, name: str, x: Array, y: Array, tolerance: int, reach: float | None
) -> QuantityDiff:
    import numpy as np

    size = np.abs(x - y)
    left, right = np.abs(x), np.abs(y)
    left = np.where(np.sign(x) * np.sign(y) < 0, np.nan, left)  # a sign that turned is beyond logs
    drift = size * reach if reach is not None else np.zeros_like(size)
    steps = _steps(np.abs(x), right, size)
    still = np.zeros(size.shape, dtype=bool)
    return _summed(
        a, b, name, (x, y), left, right, steps, drift, still, tolerance, joint=True,
        has_drift=reach is not None,
    )  # fmt: skip


def _steps(a: Array, b: Array, size: Array) -> Array:
    """Float32 steps: the distance by the spacing of float32 numbers at the larger of both."""
    import numpy as np

    spacing = np.spacing(np.maximum(a, b).astype(np.float32)).astype(np.float64)
    return np.asarray(np.ceil(size / spacing))


def _summed(
    a: Side,
    b: Side,
    name: str,
    pair: tuple[Array, Array],
    left: Array,
    right: Array,
    steps: Array,
    drift: Array,
    noisy: Any,
    tolerance: int,
    *,
    joint: bool,
    has_drift: bool = True,
) -> QuantityDiff:
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        dlog = np.log(right) - np.log(left)
    dlog = np.where(steps == 0, 0.0, dlog)
    magnitude = np.where(np.isnan(dlog), np.inf, np.abs(dlog))
    beyond = (steps > tolerance) & ~noisy
    equal = pair[0].tobytes() == pair[1].tobytes()
    phase = has_drift and name == "frequency"
    found = dict(_rows(a, b, magnitude, drift, steps, beyond))
    units = tuple(_units(a, b, pair, dlog, drift, steps, beyond, joint=joint, phase=phase))
    # The first of those that only rounding tells apart.
    worst = max(units, key=lambda u: float(f"{_size(u.dlog):.6g}"), default=None)
    return QuantityDiff(
        quantity=name,
        likeness=Likeness.DIFFERENT
        if beyond.any()
        else (Likeness.SAME if equal else Likeness.EQUIVALENT),
        max_abs_dlog=float(magnitude.max(initial=0.0)),
        max_phase_drift=float(drift.max(initial=0.0)) if phase else None,
        max_bias_drift=float(drift.max(initial=0.0)) if name == "slope" else None,
        max_ulp=int(min(steps.max(initial=0.0), 2.0**62)),
        heads=tuple(found.values()),
        units=units,
        worst=worst,
        differing=int(beyond.sum()),
        count=int(beyond.size),
    )


def _size(dlog: float) -> float:
    return abs(dlog) if dlog == dlog else math.inf


def _rows(
    a: Side, b: Side, magnitude: Array, drift: Array, steps: Array, beyond: Any
) -> Iterator[tuple[tuple[int, int], HeadDiff]]:
    """One row for each layer and head in which anything differs."""
    layers, heads = magnitude.shape[:2]
    for i in range(layers):
        for h in range(heads):
            if steps[i, h].any():
                yield (
                    (i, h),
                    HeadDiff(
                        layer=_layer(a, b, i, layers),
                        head=_head(a, b, h, heads),
                        max_abs_dlog=float(magnitude[i, h].max()),
                        max_drift=float(drift[i, h].max()),
                        max_ulp=int(min(steps[i, h].max(), 2.0**62)),
                        differing=int(beyond[i, h].sum()),
                    ),
                )


def _units(
    a: Side,
    b: Side,
    pair: tuple[Array, Array],
    dlog: Array,
    drift: Array,
    steps: Array,
    beyond: Any,
    *,
    joint: bool,
    phase: bool,
) -> Iterator[EncodingUnit]:
    """Every unit that differs beyond the tolerance; where none does, those that differ at all."""
    import numpy as np

    x, y = pair
    layers, heads = x.shape[:2]
    which = beyond if beyond.any() else steps > 0
    for i, h, u, c in np.argwhere(which).tolist():
        own = slice(None) if joint else slice(c, c + 1)
        yield EncodingUnit(
            layer=_layer(a, b, i, layers),
            head=_head(a, b, h, heads),
            axis=None if joint else a.axes[c],
            index=u,
            a=tuple(x[i, h, u, own].tolist()),
            b=tuple(y[i, h, u, own].tolist()),
            ulp=int(min(steps[i, h, u, c], 2.0**62)),
            dlog=float(dlog[i, h, u, c]),
            drift=float(drift[i, h, u, c]) if phase else None,
        )


def _layer(a: Side, b: Side, at: int, count: int) -> int | None:
    if a.layers and b.layers:
        return sorted(set(a.layers) & set(b.layers))[at] if a.layers != b.layers else a.layers[at]
    held = a.layers or b.layers
    return None if held is None or len(held) != count else held[at]


def _head(a: Side, b: Side, at: int, count: int) -> int | None:
    return None if count == 1 and max(a.heads, b.heads) > 1 else at
