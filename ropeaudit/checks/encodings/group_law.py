"""The map of a lag is not the product of the maps of its parts.

What it checks
    ``||G(a) G(b) - G(a+b)||_F`` against the size of its terms, for lags a, b up to the largest
    distance, where G(d) is what stands between a key and a query d positions later.

Why it matters
    A one-parameter group is what makes a lag mean the same however it is composed. Damped RoPE and
    the exact Jordan variants are one. The stabilised variants replace d by a bounded coordinate and
    give it up: at a = b = L their shear is off by ``eta L / 3``.

Passes when
    The defect stays below 1e-6 of the terms.

Fails when
    It does not. As info for variants that have no generator, since it is their design.

Exactness
    float64, from the maps of queries and keys at whole positions.

Options
    tolerance: relative defect (default 1e-6).

References
    Zhang, 2605.04217, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

from ropeaudit.checks.encodings._lags import between, lags, needs_lags
from ropeaudit.checks.encodings._look import Look, each, passed, place, rounded, skipped
from ropeaudit.checks.interface import Case
from ropeaudit.encodings._algebra import frobenius
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

SLUG = "group-law"
NEEDS = "encoding"


@record()
class Params:
    tolerance: float = 1e-6


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(case, look, params))


def _judge(case: Case, look: Look, params: Params) -> Outcome:
    reason = needs_lags(look)
    if reason:
        return skipped(look, reason)
    parts = lags(case, look)
    worst, a, b, layer, head = _worst(look, parts)
    if worst <= params.tolerance:
        return passed(look)
    by_design = look.generators is None
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        severity=Severity.INFO if by_design else None,
        message=f"The map of lag {a + b} differs from the product of those of {a} and {b} by "
        f"{worst:.3g} of its size ({look.at(layer, head)})"
        f"{': this variant is no group by design' if by_design else ''}.",
        evidence={
            "group_defect": rounded(worst, 4),
            "lags": [a, b],
            "worst": [look.layer(layer), look.head(head)],
        },
        location=place(look),
        fix="Nothing to do." if by_design else None,
    )


def _worst(look: Look, parts: Sequence[int]) -> tuple[float, int, int, int, int]:
    import numpy as np

    pairs = list(combinations_with_replacement(parts, 2))
    known = sorted({*parts, *(a + b for a, b in pairs)})
    maps = dict(zip(known, between(look, known, [0] * len(known)), strict=True))
    found = (0.0, *pairs[0], 0, 0)
    for a, b in pairs:
        off = _relative(maps[a] @ maps[b], maps[a + b])
        if off.max() > found[0]:
            found = (float(off.max()), a, b, *look.worst(np.asarray(off)))
    return found


def _relative(first: Array, second: Array) -> Array:
    import numpy as np

    size = np.maximum(frobenius(first), frobenius(second))
    return np.asarray(frobenius(first - second) / np.where(size > 0, size, 1.0))
