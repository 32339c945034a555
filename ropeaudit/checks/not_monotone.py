"""Frequencies that do not fall from channel to channel.

What it checks
    On each axis, in the engine's channel order, no frequency is above the one before it.

Why it matters
    Every known scaling law gives falling frequencies, and the weights of a channel know its
    frequency. A table that rises somewhere had channels swapped, mixed up or overwritten, or was
    read in the wrong pairing order. Swapping the first four channels of a small model raises its
    perplexity by a quarter.

Passes when
    Frequencies fall or stay equal (equal ones belong to duplicate-frequency). Axes that are not
    text may also rise throughout, as linearly spaced image frequencies do.

Fails when
    A frequency rises. As a warning for longrope, whose factor lists come from a search that may
    leave the order. Learned frequencies have no order to keep and are skipped.

Exactness
    Exact comparison. Sections that deal one ladder to several axes are judged as one ladder.
    Unknown when values that are no numbers hide the rest, and for a bare table that repeats one
    falling ladder, as tables of several axes do.

Options
    None.

References
    Su et al., 2104.09864, eq. 15.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ropeaudit.checks._spectrum import (
    Spectrum,
    copies,
    counted,
    each,
    falls_or_stays,
    passed,
    place,
    rises,
    skipped,
    undecided,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

SLUG = "not-monotone"
NEEDS = "schedule"

_SHOWN = 32


@record()
class Params:
    pass


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, _judge)


def _judge(spectrum: Spectrum) -> Outcome:
    if spectrum.falling:
        return passed(spectrum)
    if spectrum.learned:
        return skipped("learned frequencies have no order to keep", spectrum)
    text = spectrum.schedule.is_text
    broken: list[tuple[int, int]] = []
    for ladder in spectrum.ladders():
        numbers = [k for k in ladder if math.isfinite(spectrum.values[k])]
        values = [spectrum.values[k] for k in numbers]
        if falls_or_stays(values) or (not text and rises(values)):
            continue
        broken.extend((i, j) for i, j in pairwise(numbers) if _above(spectrum.values, i, j))
    if broken and (repeats := copies(spectrum)) > 1:
        return Outcome(
            status=Status.UNKNOWN,
            schedule=spectrum.schedule.name,
            message=f"The table is one falling ladder written {repeats} times: one copy per axis, "
            "a doubled half layout, or a mistake. Only the model's config can tell.",
            evidence={"rises": [list(pair) for pair in broken], "copies": repeats},
            location=place(spectrum.schedule),
            fix="Audit the table together with its config.json.",
        )
    if broken:
        return _rising(spectrum, broken)
    return passed(spectrum) if spectrum.finite else undecided(spectrum, "The order of frequencies")


def _above(values: Sequence[float], i: int, j: int) -> bool:
    return values[j] > values[i]


def _rising(spectrum: Spectrum, broken: list[tuple[int, int]]) -> Outcome:
    values = spectrum.values
    i, j = broken[0]
    law = spectrum.law
    if rises(values):
        said = "The whole table rises: its channels are in reverse order"
    elif law is not None and sorted(law.inv_freq) == sorted(values):
        said = f"The values are those of the config in another order ({len(broken)} rises)"
    else:
        more = f", and {len(broken) - 1} more rises" if len(broken) > 1 else ""
        said = f"Frequency rises at {counted([j])}: {values[i]:.6g} is followed by {values[j]:.6g}"
        said += more
    searched = spectrum.schedule.rope_type in ("longrope", "su")
    return Outcome(
        status=Status.FAIL,
        schedule=spectrum.schedule.name,
        severity=Severity.WARNING if searched else None,
        message=f"{said}.",
        evidence={
            "rises": [list(pair) for pair in broken[:_SHOWN]],
            "count": len(broken),
            "channels": [j for _, j in broken[:_SHOWN]],
        },
        location=place(spectrum.schedule, "long_factor", "short_factor"),
    )
