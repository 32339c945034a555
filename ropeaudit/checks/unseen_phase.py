"""Channels that reach phases which training never showed.

**What it checks.** Training at length T with the unscaled table has shown channel k the phases up
to ``min(theta_k * T, 2 pi)``; a full turn has shown them all. At a target length L the channel as
built reaches ``theta_k * L``. The check lists the channels that go further, and by how much, for
every length above the trained one: the declared length and each one asked for with ``--context``.
Layers with a sliding window are judged within it.

**Why it matters.** Attention at phases outside the trained range is undefined. A plain model asked
beyond its trained length fails there first, and fails suddenly.

**Passes when.** No length above the trained one is in question, or the scaling keeps every channel
inside what was seen.

**Fails when.** A channel goes further. Up to the length that a scaled config itself declares this
is information, because its weights were tuned there (llama3 scaling does so on purpose), and so is
dynamic scaling up to twice its declared length. Beyond that it is a warning below
``error_ratio`` times the covered phase, and has the rule's severity from there. Unknown when a
length is asked for and the trained one is not in the input, or the unscaled table is not known.

**Exactness.** float64 on the float32 table; excess below one part in a million counts as none.
Where the input states no original length, the declared one is taken as trained, with the table as
built; the evidence says so (``trained_assumed``).

**Options.** ``error_ratio`` (1.5): how many times further than covered is worse than a warning.

**References.** Chen et al., 2306.15595, section 2.3; Peng et al., 2309.00071, section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ropeaudit.checks._lengths import (
    UNSCALED,
    each_text,
    finite,
    judged_lengths,
    number,
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
from ropeaudit.schedule.float32 import Table
from ropeaudit.schedule.geometry import TWO_PI

SLUG = "unseen-phase"
NEEDS = "schedule"
ROUNDING = 1 + 1e-6


@record()
class Params:
    error_ratio: float = 1.5


@record()
class Reach:
    """At one length: channels beyond the covered phase, the largest ratio and where it is."""

    length: int
    channels: tuple[int, ...]
    ratio: float
    worst: int | None


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each text schedule; phases in radians."""
    return each_text(case, lambda schedule: _judge(case, schedule, params))


def _judge(case: Case, schedule: Schedule, params: Params) -> Outcome:
    trained = case.trained(schedule)
    if trained is None:
        if case.lengths:
            return unknown(
                schedule,
                f"{about(max(case.lengths))} positions are asked for, but the input does not say "
                "at which length the model was trained",
                place(schedule, "inv_freq"),
            )
        return skipped(f"{schedule.name}: the input states no trained length")
    targets = [n for n in judged_lengths(case, schedule) if n > trained]
    if not targets:
        return passed(schedule)
    seen = _seen(schedule)
    if seen is None or not finite(schedule):
        missing = "the table before scaling is not known" if seen is None else "it holds NaN"
        return unknown(schedule, f"the covered phases cannot be told: {missing}")
    reaches = [reach(schedule.inv_freq, seen, trained, n) for n in targets]
    worst = max(reaches, key=lambda r: (r.ratio, r.length))
    if worst.worst is None:
        return passed(schedule)
    return _finding(schedule, seen, trained, reaches, worst, params)


def reach(table: Table, seen: Table, trained: int, length: int) -> Reach:
    """Channels of ``table`` whose phase at ``length`` exceeds ``min(seen * trained, 2 pi)``."""
    beyond: list[int] = []
    largest, worst = 1.0, None
    for k, (theta, before) in enumerate(zip(table, seen, strict=True)):
        covered = abs(before) * trained
        if covered >= TWO_PI or abs(theta) * length <= covered * ROUNDING:
            continue
        beyond.append(k)
        ratio = abs(theta) * length / covered if covered else math.inf
        if ratio > largest:
            largest, worst = ratio, k
    return Reach(length, tuple(beyond), largest, worst)


def _seen(schedule: Schedule) -> Table | None:
    """The table that the trained length was trained with."""
    if schedule.context.assumed and schedule.rope_type not in ("dynamic", "ntk_alpha"):
        return schedule.inv_freq
    return schedule.unscaled


def _severity(
    schedule: Schedule, seen: Table, trained: int, worst: Reach, params: Params
) -> Severity | None:
    declared = schedule.context.declared or trained
    scaled = schedule.rope_type not in UNSCALED
    if schedule.rope_type == "dynamic":
        declared *= max(2, math.ceil(number(schedule, "factor") or 1))
    if scaled and worst.length <= declared:
        return Severity.INFO
    ratio = worst.ratio
    if scaled and declared > trained:
        ratio /= reach(schedule.inv_freq, seen, trained, declared).ratio
    return Severity.WARNING if ratio < params.error_ratio else None


def _finding(
    schedule: Schedule,
    seen: Table,
    trained: int,
    reaches: list[Reach],
    worst: Reach,
    params: Params,
) -> Outcome:
    k = worst.worst or 0
    covered, reached = seen[k] * trained, schedule.inv_freq[k] * worst.length
    said = "is taken to have" if schedule.context.assumed else "has"
    return Outcome(
        status=Status.FAIL,
        severity=_severity(schedule, seen, trained, worst, params),
        schedule=schedule.name,
        message=f"At {about(worst.length)} positions {len(worst.channels)} of "
        f"{len(schedule.inv_freq)} channels leave the phases that training at {about(trained)} "
        f"{said} covered; channel {k} reaches {about(reached)} rad against {about(covered)}, "
        f"{about(worst.ratio)} times as far.",
        evidence={
            "unseen": {str(r.length): len(r.channels) for r in reaches},
            "channels": list(worst.channels),
            "max_ratio": worst.ratio,
            "max_excess_rad": min(reached, TWO_PI) - covered,
            "trained": trained,
            "trained_assumed": schedule.context.assumed,
        },
        location=place(
            schedule, "original_max_position_embeddings", "max_position_embeddings", "rope_theta"
        ),
        fix=f"Keep texts within {about(schedule.context.declared or trained)} positions, or use a "
        "scaling that was made for the longer length.",
    )
