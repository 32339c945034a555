"""Channels that never complete a turn within the lengths in use.

**What it checks.** For each text schedule it counts the channels with ``theta * L < 2 pi`` at the
trained length, the declared length and every length asked for. It also gives the critical
dimension: twice the channels that do complete a turn, counted on the unscaled table at the trained
length. Layers with a sliding window are judged at ``min(L, window)``. Channels that the scaling law
defines as zero never turn and are counted too; the evidence says how many they are.

**Why it matters.** A channel that has shown only a part of its circle in training is extrapolated
as soon as a text is longer. The critical dimension says how many dimensions carry over.

**Passes when.** Every channel completes a turn at every length judged.

**Fails when.** One does not. This holds for nearly every healthy model, so it is information only.
Unknown when the table holds NaN or infinities.

**Exactness.** Counts, in float64, on the float32 table. For a geometric table the count equals
``2 ceil(d/2 log_b(L / 2 pi))`` clamped to [0, d].

**Options.** None.

**References.** Liu et al., "Scaling Laws of RoPE-based Extrapolation", 2310.05209, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator

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
from ropeaudit.schedule.geometry import critical_dim, under_rotated

SLUG = "under-rotation"
NEEDS = "schedule"


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each text schedule; lengths in positions."""
    return each_text(case, lambda schedule: _judge(case, schedule))


def _judge(case: Case, schedule: Schedule) -> Outcome:
    lengths = judged_lengths(case, schedule)
    if not lengths:
        return skipped(f"{schedule.name}: the input states no length; give one with --context")
    if not finite(schedule):
        return unknown(
            schedule,
            "the table holds NaN or infinities, so turns cannot be counted",
            place(schedule, "inv_freq"),
        )
    counts = {str(n): len(under_rotated(schedule.inv_freq, n)) for n in lengths}
    trained = case.trained(schedule)
    critical = None
    if trained is not None and schedule.unscaled is not None:
        critical = critical_dim(schedule.unscaled, trained)
    if not any(counts.values()):
        return passed(schedule)
    channels = len(schedule.inv_freq)
    said = ", ".join(f"{c} within {about(int(n))}" for n, c in counts.items())
    static = len(schedule.static_channels)
    still = f" ({static} of them are zero by design)" if static else ""
    known = "" if critical is None else f" The critical dimension is {critical}."
    return Outcome(
        status=Status.FAIL,
        severity=Severity.INFO,
        schedule=schedule.name,
        message=f"Of {channels} channels some never complete a turn: {said} positions{still}."
        + known,
        evidence={
            "under_rotated": counts,
            "critical_dim": critical,
            "static": static,
            "trained_assumed": schedule.context.assumed,
        },
        location=place(schedule, "rope_theta", "inv_freq"),
    )
