"""A table that no plain schedule reproduces, with the one that comes closest.

What it checks
    Whether the frequencies are ``base ** (-2k/d)``, divided by one factor at most. The evidence is
    the best-fitting base, dimension and factor with the largest residual in steps of the table's
    own number format.

Why it matters
    For a table without a config the fit tells what it came from: a base that the config lost, an
    exponent that runs over the wrong width, a linear scaling. A table that nothing fits is
    quantised, damaged or learned, or was scaled by a law that its file does not name.

Passes when
    The residual is within the tolerance on each axis, or the schedule is built by a law that is not
    geometric (yarn, llama3, longrope, image frequencies), or is the stored table of such a law.

Fails when
    It is larger. As info where a bare table is plain at its fast end and divided by one factor at
    its slow end, as yarn and llama3 build, and for learned tables.

Exactness
    The fit is redone in the engine's float32 arithmetic before residuals are counted. Base and
    dimension are not both determined by a table: the own width is preferred, another one only if
    its base is far simpler. Unknown when values that are no numbers hide the rest, and for a bare
    table that repeats one ladder.

Options
    ulp: largest residual in float32 steps that passes (default 16: accumulated powers, as
    llama.cpp computes them, lie within it). Tables in narrower formats may miss by one step.

References
    Su et al., 2104.09864, eq. 15.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.checks._spectrum import (
    GEOMETRIC_LAWS,
    VECTORS,
    Spectrum,
    copies,
    each,
    follows_law,
    padded,
    passed,
    place,
    skipped,
    straightness,
    undecided,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.schedule.fit.nearest import Fit, Ramp

SLUG = "not-geometric"
NEEDS = "schedule"


@record()
class Params:
    ulp: int = 16


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda spectrum: _judge(spectrum, params))


def _judge(spectrum: Spectrum, params: Params) -> Outcome:
    if spectrum.many_vectors:
        return skipped(VECTORS, spectrum)
    schedule = spectrum.schedule
    if not spectrum.stored and (schedule.rope_type not in GEOMETRIC_LAWS or not schedule.is_text):
        return passed(spectrum, f"built by the law '{schedule.rope_type}', which need not be")
    if spectrum.law is not None and follows_law(spectrum, 1e-5):
        return passed(spectrum, f"the table of the law '{spectrum.law.rope_type}'")
    if not spectrum.finite:
        return undecided(spectrum, "Whether the table is geometric")
    if padded(spectrum):
        return passed(spectrum, "the channels that turn are")
    ladders = spectrum.ladders()
    if all(_straight(spectrum, ladder, params) for ladder in ladders):
        return passed(spectrum)
    if (repeats := copies(spectrum)) > 1:
        return Outcome(
            status=Status.UNKNOWN,
            schedule=schedule.name,
            message=f"The table is one ladder written {repeats} times; only the model's config can "
            "tell which law it should follow.",
            location=place(schedule),
            fix="Audit the table together with its config.json.",
        )
    return _fitted(spectrum, ladders, params)


def _straight(spectrum: Spectrum, ladder: Sequence[int], params: Params) -> bool:
    """A quick and safe yes: the logarithms lie on a line, closer than the tolerance."""
    values = [spectrum.values[k] for k in ladder]
    if len(values) < 3:
        return True
    return min(values) > 0 and straightness([math.log(v) for v in values]) <= (
        params.ulp * 2.0**-24
    )


def _fitted(spectrum: Spectrum, ladders: Sequence[Sequence[int]], params: Params) -> Outcome:
    from ropeaudit.schedule.fit.nearest import fit, ramp  # not for tables that are straight

    schedule = spectrum.schedule
    single = len(ladders) == 1
    width = schedule.rotary_dim if single and not spectrum.stored else None
    worst: Fit | None = None
    for ladder in ladders:
        values = [spectrum.values[k] for k in ladder]
        found = fit(values, schedule.dtype, width, params.ulp)
        if found is None:
            if len(values) < 3:
                continue
            return _unfit(spectrum)
        if worst is None or found.relative > worst.relative:
            worst = found
    if worst is None or worst.fits:
        return passed(spectrum, f"{worst.words()}" if worst else "")
    shape = ramp(spectrum.values) if single and spectrum.lawless else None
    return _off(spectrum, worst, shape)


def _unfit(spectrum: Spectrum) -> Outcome:
    return Outcome(
        status=Status.FAIL,
        schedule=spectrum.schedule.name,
        severity=Severity.INFO if spectrum.learned else None,
        message="No falling geometric table comes near: fewer than three frequencies are usable, "
        "or they do not fall.",
        evidence={"base": None, "dimension": None, "max_ulp": None},
        location=place(spectrum.schedule),
    )


def _off(spectrum: Spectrum, found: Fit, shape: Ramp | None) -> Outcome:
    total = len(spectrum.values)
    evidence: dict[str, Any] = {
        "base": found.base,
        "dimension": found.dimension,
        "factor": found.factor,
        "max_ulp": found.max_ulp,
        "grid": found.grid,
        "max_relative": found.relative,
        "channels_within": found.within,
    }
    if shape is not None:
        evidence |= {"base": shape.base, "dimension": shape.dimension, "factor": shape.factor}
        evidence["law"] = "ramp"
        said = (
            f"Not geometric, but read as scaled: the first {shape.kept} of {total} channels are "
            f"plain (base {shape.base:.7g}, dimension {shape.dimension}), the last {shape.divided} "
            f"are divided by {shape.factor:.6g}, as yarn or llama3 do"
        )
    else:
        said = (
            f"Not geometric: the best fit is {found.words()}; {total - found.within} of "
            f"{total} channels miss it, one by {found.relative:.3g} of its value "
            f"({found.max_ulp:.3g} {found.grid} steps)"
        )
    mild = shape is not None or spectrum.learned
    return Outcome(
        status=Status.FAIL,
        schedule=spectrum.schedule.name,
        severity=Severity.INFO if mild else None,
        message=f"{said}.",
        evidence=evidence,
        location=place(spectrum.schedule, "rope_theta"),
    )
