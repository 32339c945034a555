"""The base bound: a sum of cosines that should not turn negative.

**What it checks.** For text schedules it takes the rotated channels (zeros left out) and finds the
first distance m at which ``sum_k cos(m theta_k)`` is negative, and the smallest value of the sum,
for m below the declared length (or the longest one asked for).

**Why it matters.** If queries and keys are alike on average, the sum is proportional to how much
more attention a similar token at distance m gets than a random one. Where it is negative, similar
tokens are discriminated against.

**Passes when.** The sum stays non-negative.

**Fails when.** It does not. Most healthy models break the bound within their length (Llama 2 at
m = 1707), so this is always information. Unknown when the length is above ``max_length`` and the
sum stays non-negative up to there, or when the table holds NaN.

**Exactness.** float64, with ``cos((a+b) t) = cos at cos bt - sin at sin bt`` as a matrix product;
the error of a sum is below 1e-8 for 256 channels and lengths up to ten million, and values above
``-1e-7`` count as zero.

**Options.** ``max_length`` (16,777,216): distances looked at, at most.

**References.** Men et al., "Base of RoPE Bounds Context Length", 2405.14591, theorem 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ropeaudit.checks._lengths import (
    each_text,
    finite,
    judged_lengths,
    passed,
    place,
    skipped,
    unknown,
)
from ropeaudit.checks._words import about
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

SLUG = "base-bound"
NEEDS = "schedule"
ZERO = -1e-7
BLOCK = 1 << 21
"""Sums held in memory at once (16 MB)."""


@record()
class Params:
    max_length: int = 1 << 24


MAX_WORK = 1 << 28
"""Cosines summed in one scan; 256 channels at a million positions."""
LARGEST = 1e15


@record()
class Scan:
    """``first``: first m with a negative sum, None if there is none; the minimum and its place."""

    first: int | None
    minimum: float
    minimum_at: int


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each text schedule; distances in positions."""
    return each_text(case, lambda schedule: _judge(case, schedule, params))


def _judge(case: Case, schedule: Schedule, params: Params) -> Outcome:
    lengths = judged_lengths(case, schedule)
    if not lengths:
        return skipped(f"{schedule.name}: the input states no length; give one with --context")
    if not finite(schedule):
        return unknown(schedule, "the table holds NaN or infinities, so there is no sum")
    turning = [v for v in schedule.inv_freq if v]
    if not turning:
        return skipped(f"{schedule.name}: no channel turns")
    length = max(lengths)
    scanned = max(1, min(length, params.max_length, MAX_WORK // len(turning)))
    found = scan(turning, scanned)
    if found.first is None:
        if scanned < length:
            return unknown(
                schedule,
                f"the sum stays non-negative up to {about(scanned)}, and the length is "
                f"{about(length)}; "
                + (
                    "raise max_length to decide"
                    if scanned == params.max_length
                    else f"{about(len(turning))} channels are too many to look further"
                ),
                place(schedule, "max_position_embeddings"),
            )
        return passed(schedule)
    return Outcome(
        status=Status.FAIL,
        severity=Severity.INFO,
        schedule=schedule.name,
        message=f"The sum of cosines over {len(turning)} channels first turns negative at distance "
        f"{about(found.first)}, within the length of {about(length)}; its minimum is "
        f"{about(found.minimum)} at {about(found.minimum_at)}. Most healthy models do this.",
        evidence={
            "first_negative": found.first,
            "minimum": found.minimum,
            "minimum_at": found.minimum_at,
            "length": length,
            "scanned": scanned,
        },
        location=place(schedule, "rope_theta", "inv_freq"),
    )


def scan(thetas: Sequence[float], length: int) -> Scan:
    """``sum_k cos(m theta_k)`` for m = 0 .. length-1; theta in radians per position."""
    import numpy as np

    theta = np.asarray(thetas, dtype=np.float64)
    if np.abs(theta).max() > LARGEST:  # whole turns change nothing, and the product may overflow
        theta = np.fmod(theta, 2 * math.pi)
    width = max(1, math.isqrt(length))
    inner = np.arange(width)[:, None] * theta
    cos_inner, sin_inner = np.cos(inner).T, np.sin(inner).T
    first: int | None = None
    minimum, minimum_at = math.inf, 0
    rows = max(1, BLOCK // width)
    total = -(-length // width)
    for start in range(0, total, rows):
        outer = (np.arange(start, min(start + rows, total)) * width)[:, None] * theta
        sums = (np.cos(outer) @ cos_inner - np.sin(outer) @ sin_inner).ravel()
        sums = sums[: length - start * width]
        at = int(sums.argmin())
        if sums[at] < minimum:
            minimum, minimum_at = float(sums[at]), start * width + at
        if first is None and sums[at] < ZERO:
            first = start * width + int((sums < ZERO).argmax())
    return Scan(first, minimum, minimum_at)
