"""Two planes of one head that whole positions cannot tell apart.

What it checks
    Within each head, pairs of planes whose frequency vectors agree modulo 2 pi on every axis, with
    one sign for all axes. Only where positions are whole numbers.

Why it matters
    At whole positions a turn more or less is not seen. ``(5, 0.3)`` is ``(-1.283, 0.3)`` and, run
    backwards, ``(1.283, -0.3)``; it is not ``(1.283, 0.3)``, because both axes share one sign.

Passes when
    No two planes fold onto each other within 0.1 rad over the largest distance in use and within
    1 % of their size. Without that distance only what the spectrum's rounding cannot tell apart.

Fails when
    Two planes do that differ as stored.

Exactness
    float64. Planes that are close without folding belong to duplicate-plane and
    near-duplicate-plane.

Options
    relative: difference as a part of the size (default 0.01).
    phase: radians over the largest distance (default 0.1).

References
    The sampling theorem; Heo et al., 2403.13298; Kogkalidis et al., 2312.16045.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ropeaudit.checks.encodings._look import BIAS, TREE, Look, each, extents, passed, place, skipped
from ropeaudit.checks.encodings._pairs import (
    Cluster,
    Group,
    candidates,
    clusters,
    distances,
    evidence,
    groups,
    sizes,
    words,
)
from ropeaudit.checks.interface import Case
from ropeaudit.encodings._algebra import folded
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

SLUG = "plane-alias"
NEEDS = "encoding"


@record()
class Params:
    relative: float = 0.01
    phase: float = 0.1


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(case, look, params))


def _judge(case: Case, look: Look, params: Params) -> Outcome:
    if look.is_bias or look.is_tree:
        return skipped(look, BIAS if look.is_bias else TREE)
    if not look.encoding.positions.integer:
        return skipped(look, "its positions are no whole numbers")
    reach = extents(case, look)
    found: list[Cluster] = []
    for group in groups(look):
        found += clusters(group, _aliases(look, group, reach, params))
    if not found:
        return passed(look)
    found.sort(key=lambda c: -len(c.units))
    first = found[0]
    vectors = look.spectrum.w[first.layer, first.head, first.units]
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"{words(look, found)} are one at whole positions: their frequencies agree modulo "
        "2 pi, up to one sign.",
        evidence={**evidence(look, found), "values": [[float(x) for x in v] for v in vectors]},
        location=place(look),
    )


def _aliases(look: Look, group: Group, reach: tuple[float | None, ...], params: Params) -> Any:
    import numpy as np

    pairs = candidates(look, group)
    # Nothing folds below pi, except that values about pi are close to their own mirror image.
    fast = (np.abs(group.vectors) > np.pi * (1 - params.relative)).any(-1)
    pairs &= fast[..., :, None] | fast[..., None, :]
    if not pairs.any():
        return pairs
    apart = apart_folded(group.vectors)
    floor = np.maximum(look.noise, 1e-12)[..., None, None]
    size = sizes(look, Group(group.axis, folded(group.vectors)))
    known = reach if group.axis is None else (reach[group.axis],)
    close = apart <= floor
    if all(r is not None for r in known):
        furthest = max(r or 0.0 for r in known)
        close |= (apart <= params.relative * size) & (apart * furthest < params.phase)
    plainly = distances(look, group) <= np.maximum(params.relative * sizes(look, group), floor)
    return pairs & close & ~plainly


def apart_folded(vectors: Array) -> Array:
    """(layers, heads, units, units): distance modulo 2 pi on each axis, the nearer of both
    signs."""
    import numpy as np

    a, b = vectors[..., :, None, :], vectors[..., None, :, :]
    nearer = np.minimum(*((folded(v) ** 2).sum(-1) for v in (a - b, a + b)))
    return np.asarray(np.sqrt(nearer))
