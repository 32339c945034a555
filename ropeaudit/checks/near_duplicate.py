"""Two channels on one axis turn at almost the same frequency.

What it checks
    Neighbouring frequencies on each axis that differ by a few float32 steps, or by a log gap far
    smaller than the table's mean gap. For learned tables: a relative difference below 1 % that
    also stays below 0.1 rad over the trained length.

Why it matters
    Such channels are one channel for every length in use. A small change that makes equal values
    distinct (a repair by jitter, a least-squares fit, an optimiser step) hides a table that was
    quantised or merged: a model with INT8 frequencies is as bad after every value was moved by
    1e-7, although all are distinct then.

Passes when
    Neighbours are further apart. Tables of every known law pass at any width: their smallest gap is
    a large part of their mean gap.

Fails when
    At least one pair is closer. Exactly equal values belong to duplicate-frequency.

Exactness
    Log gaps in float64 from the stored values. Unknown when a learned table is close in ratio and
    the input states no trained length, or when values that are no numbers hide the rest.

Options
    ulp: float32 steps up to which neighbours count as one (default 4).
    relative_gap: smallest log gap, as a part of the mean gap (default 0.01).
    learned_relative: relative difference for learned tables (default 0.01).
    learned_phase: phase in radians over the trained length for learned tables (default 0.1).

References
    Su et al., 2104.09864, eq. 15: the log gap of a plain table is 2 ln(base) / d.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ropeaudit.checks._spectrum import (
    VECTORS,
    Spectrum,
    and_more,
    counted,
    each,
    passed,
    place,
    skipped,
    undecided,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import field, record
from ropeaudit.schedule.float32 import ulp_distance

SLUG = "near-duplicate"
NEEDS = "schedule"


@record()
class Params:
    ulp: int = 4
    relative_gap: float = 0.01
    learned_relative: float = 0.01
    learned_phase: float = 0.1


@record(frozen=False)
class _Found:
    clusters: list[list[int]] = field(default_factory=list)
    smallest: float = math.inf
    mean: float = 0.0
    doubtful: bool = False
    """A learned pair is close in ratio, and no length says whether it is close in phase."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda spectrum: _judge(case, spectrum, params))


def _judge(case: Case, spectrum: Spectrum, params: Params) -> Outcome:
    if spectrum.many_vectors:
        return skipped(VECTORS, spectrum)
    found = _Found()
    length = case.trained(spectrum.schedule) if spectrum.learned else None
    for group in spectrum.groups:
        if spectrum.learned:
            _learned(spectrum.values, group, params, length, found)
        else:
            _formula(spectrum.values, group, params, found)
    if found.clusters:
        return _close(spectrum, found)
    if found.doubtful:
        return Outcome(
            status=Status.UNKNOWN,
            schedule=spectrum.schedule.name,
            message="Learned frequencies less than "
            f"{params.learned_relative:.1%} apart, and the input states no trained length to judge "
            "their phase by.",
            location=place(spectrum.schedule),
            fix="Give the trained length with --context.",
        )
    if not spectrum.finite:
        return undecided(spectrum, "Whether frequencies nearly coincide")
    return passed(spectrum)


def _turning(values: Sequence[float], group: Sequence[int]) -> list[tuple[float, int]]:
    """(frequency, channel) of channels that turn, fastest first; the sign is no difference."""
    found = [(abs(values[k]), k) for k in group if 0 < abs(values[k]) < math.inf]
    found.sort(reverse=True)
    return found


def _formula(values: Sequence[float], group: Sequence[int], params: Params, found: _Found) -> None:
    turning = _turning(values, group)
    if len(turning) < 2:
        return
    fastest, slowest = turning[0][0], turning[-1][0]
    mean = math.log(fastest / slowest) / (len(turning) - 1) if slowest > 1e-300 else 0.0
    found.mean = max(found.mean, mean)
    # One comparison settles a healthy pair: the ratio against the larger of both tolerances.
    floor = 1 + max(math.expm1(params.relative_gap * mean), params.ulp * 2.0**-22)
    chain: list[int] = []
    for (a, i), (b, j) in pairwise(turning):
        if a > b * floor or a == b or not _near(a, b, mean, params):
            chain = _close_chain(chain, found)
            continue
        found.smallest = min(found.smallest, math.log(a / b))
        chain = chain or [i]
        chain.append(j)
    _close_chain(chain, found)


def _near(a: float, b: float, mean: float, params: Params) -> bool:
    steps = ulp_distance(a, b)
    return math.log(a / b) < params.relative_gap * mean or (
        steps is not None and steps <= params.ulp
    )


def _close_chain(chain: list[int], found: _Found) -> list[int]:
    if chain:
        found.clusters.append(sorted(chain))
    return []


def _learned(
    values: Sequence[float],
    group: Sequence[int],
    params: Params,
    length: int | None,
    found: _Found,
) -> None:
    chain: list[int] = []
    for (a, i), (b, j) in pairwise(_turning(values, group)):
        close = a != b and a - b < params.learned_relative * a
        if close and length is None:
            found.doubtful = True
        if not close or length is None or (a - b) * length >= params.learned_phase:
            chain = _close_chain(chain, found)
            continue
        found.smallest = min(found.smallest, math.log(a / b))
        chain = chain or [i]
        chain.append(j)
    _close_chain(chain, found)


def _close(spectrum: Spectrum, found: _Found) -> Outcome:
    found.clusters.sort(key=lambda c: (-len(c), c))
    largest = found.clusters[0]
    more = and_more(len(found.clusters) - 1, "such set")
    against = f"; the mean log gap is {found.mean:.3g}" if found.mean else ""
    return Outcome(
        status=Status.FAIL,
        schedule=spectrum.schedule.name,
        severity=Severity.WARNING if spectrum.learned else None,
        message=f"{counted(largest).capitalize()} nearly coincide{more}: the smallest log gap is "
        f"{found.smallest:.3g}{against}.",
        evidence={
            "max_cluster": len(largest),
            "clusters": found.clusters,
            "smallest_log_gap": found.smallest,
            "mean_log_gap": found.mean or None,
        },
        location=place(spectrum.schedule),
    )
