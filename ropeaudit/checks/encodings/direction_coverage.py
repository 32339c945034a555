"""Heads whose planes all turn with one direction of the image, so that another is not seen.

What it checks
    The direction of each plane's vector ``w``, modulo pi because ``w`` and ``-w`` are one plane.
    On two axes the angles ``a_u = atan2(w_2, w_1) mod pi`` of a head, sorted, leave the gaps
    ``a_(u+1) - a_u``, and ``a_1 + pi - a_n`` around; the largest is the head's gap. Its middle is
    the direction ``e`` that the head sees least. On more axes ``e`` is each axis in turn.

Why it matters
    A displacement across all vectors of a head turns none of its planes: the head cannot tell two
    patches apart that differ by it. A head that training has moved onto one axis counts columns
    and no rows.

Passes when
    In every head the vectors are spread by more than ``degrees`` to both sides of one direction,
    or some plane turns by a quarter turn or more along ``e`` across the grid. The public starts
    do: RoPE-Mixed has two directions a head, at right angles (a gap of 90 degrees), LieRE with
    blocks of two fills one quadrant.

Fails when
    The gap is ``180 - 2 degrees`` or more (on more axes: ``|w . e| <= sin(degrees) |w|`` for every
    plane), and where the grid is known no plane turns by a quarter turn along ``e``. Axial
    encodings have planes of one axis by design and are not judged, nor heads of a single plane.

Exactness
    float64. Planes slower than a thousandth of the fastest of their head have no say.

Options
    degrees: how near to one direction counts as on it, 5 by default.

References
    Heo et al., 2403.13298, section 3.2, for the directions of the start.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ropeaudit.checks.encodings._look import (
    BIAS,
    TREE,
    Look,
    each,
    passed,
    place,
    rounded,
    several,
    skipped,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

SLUG = "direction-coverage"
NEEDS = "encoding"
BY_DESIGN = ("rope-axial", "ape-grid")
NEGLIGIBLE = 1e-3
"""Part of the fastest plane of a head below which a direction means nothing."""


@record()
class Params:
    degrees: float = 5.0


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(look, params.degrees))


def _judge(look: Look, degrees: float) -> Outcome:
    reason = _not_judged(look)
    if reason is not None:
        return skipped(look, reason)
    vectors, turns = look.spectrum.w, heard(look)
    blind, directions = _blind(look, vectors, turns, math.radians(degrees))
    if not blind.any():
        return passed(look)
    layer, head = look.worst(blind)
    count = int(blind.sum())
    verb = "sees" if count == 1 else "see"
    turn = _turn(look, vectors, directions, layer, head)
    little = f"turns by {turn:.2g} rad at most" if turn else "hardly turns"
    across = " across the grid" if turn else ""
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"{several(count, 'head')} of {blind.size} {verb} one direction of the image and "
        f"not the one across: {look.at(layer, head)} {little} "
        f"{_named(look, directions[layer, head], degrees)}{across}.",
        evidence={
            "heads": look.heads(blind),
            "head_count": count,
            "unseen": [rounded(x, 4) for x in directions[layer, head]],
            "turn": turn,
            "largest_gap": largest_gaps(look),
        },
        location=place(look),
    )


def _not_judged(look: Look) -> str | None:
    if look.is_bias or look.is_tree:
        return BIAS if look.is_bias else TREE
    if len(look.encoding.axes) < 2:
        return "it has one axis"
    converted = look.encoding.settings.get("converted_from")
    if look.encoding.kind in BY_DESIGN or converted in BY_DESIGN:
        return "each of its planes turns with one axis, by design"
    if not look.spectrum.joint:
        return "its axes do not commute, so no plane has a direction"
    return None


def heard(look: Look) -> Any:
    """(layers, heads, units): planes whose direction counts."""
    import numpy as np

    size = np.linalg.norm(look.spectrum.w, axis=-1) * look.rotary
    floor = np.maximum(NEGLIGIBLE * size.max(-1), look.noise)
    return size > floor[..., None]


def largest_gaps(look: Look) -> dict[str, float]:
    """The largest gap of any head, in degrees, for each pair of axes: ``{"x, y": 90.0}``."""
    names, turns = look.encoding.axes, heard(look)
    found = {}
    for a, b in combinations(range(look.shape[3]), 2):
        gap, _ = gaps(look.spectrum.w[..., (a, b)], turns)
        found[f"{names[a]}, {names[b]}"] = rounded(math.degrees(float(gap.max())), 4)
    return found


def gaps(vectors: Array, turns: Any) -> tuple[Array, Array]:
    """Largest gap between directions modulo pi, and its middle, in radians: (layers, heads) each.

    ``vectors`` (layers, heads, units, 2); ``turns`` (layers, heads, units) says which count. A head
    with fewer than one has the gap pi.
    """
    import numpy as np

    angle = np.arctan2(vectors[..., 1], vectors[..., 0]) % np.pi
    last = np.where(turns, angle, 0.0).max(-1, keepdims=True)
    angle = np.sort(np.where(turns, angle, last), axis=-1)
    after = np.concatenate([angle[..., 1:], angle[..., :1] + np.pi], -1)
    apart = after - angle
    at = apart.argmax(-1)[..., None]
    gap = np.take_along_axis(apart, at, -1)[..., 0]
    middle = np.take_along_axis(angle, at, -1)[..., 0] + gap / 2
    return gap, middle % np.pi


def _blind(look: Look, vectors: Array, turns: Any, near: float) -> tuple[Any, Array]:
    """(layers, heads): heads that do not see some direction, and which (layers, heads, axes)."""
    import numpy as np

    axes = vectors.shape[-1]
    if axes == 2:
        gap, middle = gaps(vectors, turns)
        unseen = np.stack([np.cos(middle), np.sin(middle)], -1)
        return _judged(look, vectors, turns, unseen, gap >= np.pi - 2 * near), unseen
    blind = np.zeros(vectors.shape[:2], dtype=bool)
    found = np.zeros((*vectors.shape[:2], axes))
    size = np.linalg.norm(vectors, axis=-1)
    for axis in range(axes):
        across = np.abs(vectors[..., axis]) <= np.sin(near) * size
        unseen = np.broadcast_to(np.eye(axes)[axis], found.shape)
        here = _judged(look, vectors, turns, unseen, (across | ~turns).all(-1))
        found[here & ~blind] = np.eye(axes)[axis]
        blind |= here
    return blind, found


def _judged(look: Look, vectors: Array, turns: Any, unseen: Array, narrow: Any) -> Any:
    """Narrow heads with more than one plane, less those that turn along ``unseen`` all the same."""
    import numpy as np

    reach = _reach(look, unseen)
    along = np.abs((vectors * unseen[..., None, :]).sum(-1)).max(-1)
    short = True if reach is None else along * reach < np.pi / 2
    return narrow & (turns.sum(-1) > 1) & short


def _reach(look: Look, directions: Array) -> Any:
    """(layers, heads): length of the grid along unit vectors (layers, heads, axes); None where
    nobody says how large the grid is."""
    import numpy as np

    extent = look.encoding.positions.extent
    if any(e is None for e in extent):
        return None
    size = np.abs(directions)
    # A direction that an axis has no part in does not end at that axis.
    limits = np.array(extent, dtype=float) / np.maximum(size, 1e-12)
    return limits.min(-1)


def _turn(look: Look, vectors: Array, directions: Array, layer: int, head: int) -> float | None:
    """Radians that the fastest plane of a head turns along its direction across the grid."""
    import numpy as np

    reach = _reach(look, directions)
    if reach is None:
        return None
    along = np.abs(vectors[layer, head] @ directions[layer, head]).max()
    return round(float(along * reach[layer, head]), 4)


def _named(look: Look, direction: Array, degrees: float) -> str:
    """``along y``, or the direction in numbers where it is no axis."""
    import numpy as np

    axis = int(np.argmax(np.abs(direction)))
    if abs(direction[axis]) >= math.cos(math.radians(degrees)):
        return f"along {look.encoding.axes[axis]}"
    told = ", ".join(f"{x:.2f}" for x in direction)
    return f"along ({', '.join(look.encoding.axes)}) = ({told})"
