"""One logarithmic gap far from the others.

What it checks
    The gaps between the logarithms of neighbouring frequencies. The evidence is their whole
    distribution: min, quartiles, max, mean, coefficient of variation.

Why it matters
    In a plain table all gaps are 2 ln(base)/d. A gap far from the rest marks a channel that was
    moved, two that were merged, or one that is missing: perplexity follows how far channels were
    moved, and this is where it shows.

Passes when
    All gaps lie within the fences around the median, or a law that is not geometric explains them.

Fails when
    A gap lies outside. As info where the table is built by a law with a ramp or a list (yarn,
    llama3, longrope, image frequencies), equals such a law's table, or is a bare table that shows a
    ramp; also for learned tables.

Exactness
    Logarithms in float64 of the stored values. Equal values count once, zeros not at all. Unknown
    when two different gaps are all there is, or when a value is no number.

Options
    fences: how many quartile ranges a gap may lie from the median (default 3).
    tolerance: deviation from the median, as a part of it, that is always accepted (default 0.1;
    rounding to bfloat16 alone moves a gap by 5 %).

References
    Tukey, Exploratory Data Analysis (1977), for fences at quartile ranges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import sub

from ropeaudit.checks._spectrum import (
    GEOMETRIC_LAWS,
    VECTORS,
    Spectrum,
    counted,
    each,
    follows_law,
    place,
    skipped,
    undecided,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.geometry import GapSummary, summarise

SLUG = "log-gap-outlier"
NEEDS = "schedule"

_EVEN = 1e-5
"""Spread of gaps, against the median, that float32 rounding explains."""


@record()
class Params:
    fences: float = 3.0
    tolerance: float = 0.1


@record()
class _Outlier:
    gap: float
    fast: int
    """The channel above the gap, and ``slow`` below it."""
    slow: int


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda spectrum: _judge(spectrum, params))


def _judge(spectrum: Spectrum, params: Params) -> Outcome:
    if spectrum.many_vectors:
        return skipped(VECTORS, spectrum)
    if not spectrum.finite:  # a hole in the table widens the gap around it
        return undecided(spectrum, "Whether a log gap stands out")
    everything: list[float] = []
    outliers: list[_Outlier] = []
    doubtful = False
    for ladder in spectrum.ladders():
        gaps, members = _gaps(spectrum, ladder)
        everything.extend(gaps)
        if len(gaps) < 2 or max(gaps) - min(gaps) <= params.tolerance * min(gaps):
            continue
        summary = summarise(gaps)
        if summary is None:
            continue
        if len(gaps) == 2:
            doubtful = True
        else:
            outliers.extend(_outside(gaps, members, summary, params))
    if len(everything) < 2:
        return skipped("fewer than three different frequencies have no gaps to compare", spectrum)
    whole = summarise(everything)
    evidence = {"log_gaps": whole.as_dict()} if whole else {}
    explained = _explained(spectrum) if outliers or doubtful else None
    if doubtful and not outliers and not explained:
        return Outcome(
            status=Status.UNKNOWN,
            schedule=spectrum.schedule.name,
            message="Two different log gaps are all there is; neither can be called the outlier.",
            evidence=evidence,
            location=place(spectrum.schedule),
        )
    if outliers and whole:
        return _outlying(spectrum, outliers, whole, explained)
    return Outcome(status=Status.PASS, schedule=spectrum.schedule.name, evidence=evidence)


def _gaps(spectrum: Spectrum, ladder: tuple[int, ...]) -> tuple[list[float], list[int]]:
    """Log gaps between neighbouring distinct values, and the channels, fastest first."""
    values = spectrum.values
    if spectrum.falling and values and values[-1] > 0:
        members = list(ladder)
    else:
        first: dict[float, int] = {}
        for k in ladder:
            value = abs(values[k])
            if 0 < value < math.inf:
                first.setdefault(value, k)
        members = [first[v] for v in sorted(first, reverse=True)]
    logs = [math.log(abs(values[k])) for k in members]
    return list(map(sub, logs, logs[1:])), members


def _outside(
    gaps: list[float], members: list[int], summary: GapSummary, params: Params
) -> list[_Outlier]:
    fence = max(
        params.fences * (summary.q3 - summary.q1),
        params.tolerance * summary.median,
        _EVEN * summary.median,
    )
    return [
        _Outlier(gap, members[at], members[at + 1])
        for at, gap in enumerate(gaps)
        if abs(gap - summary.median) > fence
    ]


def _explained(spectrum: Spectrum) -> str | None:
    """The law that makes uneven gaps by design; None where nothing explains them."""
    if not spectrum.stored:
        law = spectrum.schedule
        by_design = law.rope_type not in GEOMETRIC_LAWS or not law.is_text
        return law.rope_type if by_design else None
    if spectrum.learned:
        return "learned"
    if spectrum.law is not None and spectrum.law.rope_type not in GEOMETRIC_LAWS:
        return spectrum.law.rope_type if follows_law(spectrum) else None
    if spectrum.lawless and len(spectrum.groups) == 1 and _ramp(spectrum):
        return "yarn or llama3"  # read off the table: plain, a ramp, divided
    return None


def _ramp(spectrum: Spectrum) -> bool:
    from ropeaudit.schedule.fit.nearest import ramp  # only bare tables are fitted

    return ramp(spectrum.values) is not None


def _outlying(
    spectrum: Spectrum, outliers: list[_Outlier], whole: GapSummary, explained: str | None
) -> Outcome:
    worst = max(outliers, key=lambda o: abs(o.gap - whole.median))
    many = f"{len(outliers)} log gaps stand out" if len(outliers) > 1 else "One log gap stands out"
    said = (
        f"{many}: {worst.gap:.4g} between {counted(sorted((worst.fast, worst.slow)))}, "
        f"the median is {whole.median:.4g}"
    )
    if explained:
        said += f"; by design of '{explained}'"
    return Outcome(
        status=Status.FAIL,
        schedule=spectrum.schedule.name,
        severity=Severity.INFO if explained else None,
        message=f"{said}.",
        evidence={
            "log_gaps": whole.as_dict(),
            "outliers": [{"channels": [o.fast, o.slow], "gap": o.gap} for o in outliers[:32]],
            "count": len(outliers),
        },
        location=place(spectrum.schedule, "rope_type", "type"),
        fix="Nothing to do." if explained and not spectrum.learned else None,
    )
