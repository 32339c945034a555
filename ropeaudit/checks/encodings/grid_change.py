"""The grid of positions in use is not the one of training.

What it checks
    The spacing of neighbours and the range of positions, training against now; the largest change
    of phase between neighbours, ``|w_a| |s(n) - s(n0)|``.

Why it matters
    LieRE scales positions with the resolution: an axis of n steps, trained with n0, runs to n / n0
    in equal steps. The spacing then shrinks a little, and fast planes turn by another angle between
    neighbours than they were trained with. Whole positions keep their spacing and only reach
    further.

Passes when
    No plane's phase between neighbours moves by more than pi / 4, and the grid is not larger.

Fails when
    One moves further: a warning. A grid that only reaches further is information.

Exactness
    float64. Skipped where the input states no second grid.

Options
    drift: radians between neighbours (default pi / 4).

References
    Ostmeier et al., 2406.10322, on resolutions not trained on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ropeaudit.checks.encodings._look import (
    BIAS,
    TREE,
    Look,
    each,
    passed,
    place,
    rounded,
    skipped,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

SLUG = "grid-change"
NEEDS = "encoding"


@record()
class Params:
    drift: float = math.pi / 4


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(look, params))


def _judge(look: Look, params: Params) -> Outcome:
    import numpy as np

    if look.is_bias or look.is_tree:
        return skipped(look, BIAS if look.is_bias else TREE)
    positions = look.encoding.positions
    if positions.trained is None or positions.used is None:
        return skipped(look, "the input states no grid beside the one of training")
    before = spacing(positions.trained, positions.trained, integer=positions.integer)
    now = spacing(positions.used, positions.trained, integer=positions.integer)
    moved = np.abs(np.asarray(now) - np.asarray(before))
    drift = (np.abs(look.spectrum.w) * moved * look.rotary[:, None]).max((2, 3))
    layer, head = look.worst(drift)
    further = [n / n0 for n, n0 in zip(positions.used, positions.trained, strict=True)]
    if drift.max() <= params.drift and max(further) <= 1.0:
        return passed(look)
    grid = f"{_by(positions.trained)} in training, {_by(positions.used)} now"
    beyond = drift.max() > params.drift
    said = (
        f"the phase between neighbours moves by up to {drift.max():.3g} rad "
        f"({look.at(layer, head)})"
        if beyond
        else f"positions reach {max(further):.3g} times as far"
    )
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        severity=None if beyond else Severity.INFO,
        message=f"The grid is {grid}: {said}.",
        evidence=_evidence(before, now, further, float(drift.max())),
        location=place(look),
        fix=None if beyond else "Nothing to do within what was tried; further out, measure.",
    )


def _evidence(
    before: tuple[float, ...], now: tuple[float, ...], further: list[float], drift: float
) -> dict[str, Any]:
    return {
        "spacing_trained": list(before),
        "spacing": list(now),
        "range_ratio": further,
        "largest_drift": rounded(drift),
    }


def spacing(
    steps: tuple[int, ...], trained: tuple[int, ...], *, integer: bool
) -> tuple[float, ...]:
    """Distance of neighbours on each axis: 1 for whole positions, else ``(n / n0) / (n - 1)``."""
    if integer:
        return (1.0,) * len(steps)
    return tuple((n / n0) / max(n - 1, 1) for n, n0 in zip(steps, trained, strict=True))


def _by(steps: tuple[int, ...]) -> str:
    return " x ".join(map(str, steps))
