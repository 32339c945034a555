"""Queries and keys of a damped encoding do not carry opposite maps, or carry them the wrong way.

What it checks
    Whether ``Q_i^T K_j`` stays the same when both positions move, for lags up to the largest
    distance and shifts up to as much; and its determinant, which must not grow with the lag.

Why it matters
    A map that is not orthogonal acts on keys as A and on queries as the inverse transpose of A.
    The same map on both sides depends on the position, and the map with the wrong sign makes
    scores grow as ``exp(+gamma d)`` instead of fading.

Passes when
    Moving both positions changes the map by less than 1e-6 of its size, and the determinant does
    not rise with the lag.

Fails when
    It does change, or rises. As info for variants without a generator: the stabilised ones apply
    their bounded coordinate to positions, so they depend on more than the lag by design.

Exactness
    float64, relative to the size of the map.

Options
    tolerance: relative change (default 1e-6).

References
    Zhang, 2605.04217, sections 4.2 and 4.4; jordan_rope/positional.py of its public code.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from ropeaudit.checks.encodings._lags import between, lags, needs_lags
from ropeaudit.checks.encodings._look import Look, each, passed, place, rounded, several, skipped
from ropeaudit.checks.interface import Case
from ropeaudit.encodings._algebra import frobenius
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

SLUG = "contragredient"
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
    tried = lags(case, look)
    still = between(look, tried, [0] * len(tried))
    return _grows(look, tried, still) or _changes(look, tried, still, params) or passed(look)


def _grows(look: Look, tried: list[int], still: Array) -> Outcome | None:
    import numpy as np

    rate = np.linalg.slogdet(still)[1] / np.array(tried)[:, None, None] / still.shape[-1]
    rises = (rate > 1e-9).any(0)
    if not rises.any():
        return None
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"Scores grow with distance in {several(int(rises.sum()), 'head')}, by up to "
        f"exp({rate.max():.3g} d): the damping has the wrong sign.",
        evidence={"growth_rate": rounded(rate.max(), 4), "heads": look.heads(rises)},
        location=place(look),
    )


def _changes(look: Look, tried: list[int], still: Array, params: Params) -> Outcome | None:
    import numpy as np

    pairs = list(product(range(len(tried)), tried))
    moved = between(look, [tried[n] + s for n, s in pairs], [s for _, s in pairs])
    same = still[[n for n, _ in pairs]]
    size = frobenius(same)
    off = frobenius(moved - same) / np.where(size > 0, size, 1.0)
    if off.max() <= params.tolerance:
        return None
    index = int(off.max((1, 2)).argmax())
    layer, head = look.worst(off[index])
    lag, shift = tried[pairs[index][0]], pairs[index][1]
    by_design = look.generators is None
    why = ": this variant depends on more than the lag by design" if by_design else ""
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        severity=Severity.INFO if by_design else None,
        message=f"The map of lag {lag} changes by {off.max():.3g} of its size when both positions "
        f"move by {shift} ({look.at(layer, head)}){why}.",
        evidence={
            "relativity_defect": rounded(off.max(), 4),
            "lag": lag,
            "shift": shift,
            "worst": [look.layer(layer), look.head(head)],
        },
        location=place(look),
        fix="Nothing to do." if by_design else None,
    )
