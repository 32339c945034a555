"""Slopes of an additive bias that do not fall with distance, or that several heads share.

What it checks
    The slope of each head: positive, and different from those of the other heads of its layer. The
    evidence holds the range of distances over which the weight of a key halves, ln 2 / slope.

Why it matters
    A head with slope 0 sees no position at all, one with a negative slope prefers what is far.
    Equal slopes are one head's view of distance twice: the additive form of a frequency cluster.

Passes when
    All slopes are positive and differ within a layer.

Fails when
    One is not positive, or two heads of a layer share one.

Exactness
    float64, from the bias at two distances; slopes are equal within 1e-12 of their size.

Options
    None.

References
    Press et al., 2108.12409.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ropeaudit.checks.encodings._look import Look, each, passed, place, rounded, several, skipped
from ropeaudit.checks.encodings._slopes import NO_BIAS, slopes
from ropeaudit.checks.interface import Case
from ropeaudit.encodings._alibi import half_life
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

SLUG = "alibi-slopes"
NEEDS = "encoding"


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, _judge)


def _judge(look: Look) -> Outcome:
    import numpy as np

    found = slopes(look)
    if found is None:
        return skipped(look, NO_BIAS)
    bad = found <= 0
    if bad.any():
        layer, head = look.worst(-found)
        return Outcome(
            status=Status.FAIL,
            schedule=look.name,
            message=f"The bias does not fall with distance in {several(int(bad.sum()), 'head')}: "
            f"the slope is {found.min():.4g} ({look.at(layer, head)}).",
            evidence={"heads": look.heads(bad), **_range(found)},
            location=place(look),
        )
    ordered = np.sort(found, axis=1)
    equal = np.diff(ordered, axis=1) <= 1e-12 * ordered[:, 1:]
    if not equal.any():
        return passed(look)
    layer, at = (int(i) for i in np.argwhere(equal)[0])
    value = ordered[layer, at]
    same = [int(h) for h in np.flatnonzero(np.isclose(found[layer], value, rtol=1e-12, atol=0))]
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"{several(len(same), 'head')} of a layer share the slope {value:.4g}.",
        evidence={"max_cluster": len(same), "clusters": [[look.layer(layer), same]],
                  **_range(found)},
        location=place(look),
    )  # fmt: skip


def _range(found: Array) -> dict[str, object]:
    half = sorted(half_life(s) for s in found.ravel().tolist() if s > 0)
    return {
        "slopes": [rounded(found.min()), rounded(found.max())],
        "half_life": [rounded(half[0]), rounded(half[-1])] if half else None,
    }
