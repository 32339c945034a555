"""Planes that complete no turn along an axis.

What it checks
    Counts, for each axis, the planes with ``|w_a| extent_a < 2 pi`` among those that turn with that
    axis at all.

Why it matters
    A plane that shows only a part of its circle is extrapolated as soon as the grid or the text
    grows.

Passes when
    Every plane that turns with an axis completes a turn along it.

Fails when
    One does not. Image grids are small, so most healthy vision models have many: information only.

Exactness
    Counts, in float64.

Options
    None.

References
    Liu et al., 2310.05209, section 4, for one axis; Heo et al., 2403.13298.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ropeaudit.checks.encodings._look import (
    BIAS,
    NO_LENGTH,
    TREE,
    Look,
    each,
    extents,
    passed,
    place,
    skipped,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record

SLUG = "plane-under-rotation"
NEEDS = "encoding"


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(case, look))


def _judge(case: Case, look: Look) -> Outcome:
    import numpy as np

    if look.is_bias or look.is_tree:
        return skipped(look, BIAS if look.is_bias else TREE)
    names = look.encoding.axes
    known = {a: r for a, r in enumerate(extents(case, look)) if r is not None}
    if not known:
        return skipped(look, NO_LENGTH)
    w = np.abs(look.spectrum.w)
    # What turns with another axis alone has no turn to complete on this one.
    own = (w > 1e-6 * w.max(-1, keepdims=True)) & (w > 0) & look.rotary[:, None]
    short = {a: own[..., a] & (w[..., a] * r < 2 * math.pi) for a, r in known.items()}
    counts = {names[a]: int(s.sum()) for a, s in short.items()}
    if not any(counts.values()):
        return passed(look)
    told = ", ".join(
        f"{counts[names[a]]:,} of {int(own[..., a].sum()):,} along {names[a]}" for a in known
    )
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"Planes that complete no turn: {told}.",
        evidence={
            "under_rotated": counts,
            "planes": {names[a]: int(own[..., a].sum()) for a in known},
            "extent": {names[a]: r for a, r in known.items()},
        },
        location=place(look),
    )
