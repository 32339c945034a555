"""Two channels on one axis turn at exactly the same frequency.

What it checks
    The largest set of equal frequencies on each axis, in the format that the table is held in
    (``max_cluster``). A healthy table has 1.

Why it matters
    Equal channels carry the same position signal, so the model loses coordinates that its weights
    were trained with. Integer quantisation of a table does this at once: symmetric INT8 turns 38 of
    64 channels of a base 1e6 table into zero. How much the model suffers depends on how far the
    channels were moved, not on the coincidence alone; the count is a cheap and certain sign.

Passes when
    All frequencies on every axis differ, or those that do not are equal by design.

Fails when
    Two or more channels on one axis are equal. As info: channels that the family defines as zero
    (proportional), and equal values on different axes (one ladder for height, one for width). As a
    warning: equal values in a learned table; of learned vectors of several layers and heads only
    when all of them hold one value (zeros are for RA104).

Exactness
    Equality of the stored values, no tolerance; -0 equals 0. Unknown when values that are no
    numbers hide the rest, and for a bare table that repeats one ladder or ends in zeros the way
    multi-axis and proportional tables do: only the config can tell.

Options
    max_cluster: largest set that is accepted (default 1).

References
    Su et al., 2104.09864, eq. 15 (distinct for any base other than 1).
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks._spectrum import (
    VECTORS,
    Spectrum,
    and_more,
    channels,
    copies,
    counted,
    each,
    padded,
    passed,
    place,
    skipped,
    undecided,
)
from ropeaudit.checks._words import sentence
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.geometry import clusters

SLUG = "duplicate-frequency"
NEEDS = "schedule"


@record()
class Params:
    max_cluster: int = 1


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda spectrum: _judge(spectrum, params))


def _judge(spectrum: Spectrum, params: Params) -> Outcome:
    if spectrum.falling and not spectrum.static:
        return passed(spectrum)
    if spectrum.many_vectors:
        one_value = len(set(spectrum.values)) == 1 and spectrum.finite and spectrum.values[0] != 0
        every = list(range(len(spectrum.values)))
        return _equal(spectrum, [every]) if one_value else skipped(VECTORS, spectrum)
    found = clusters(spectrum.values, spectrum.groups)
    if found and len(found[0]) > params.max_cluster:
        return _unsure(spectrum, found) or _equal(spectrum, found)
    if not spectrum.finite:
        return undecided(spectrum, "Whether frequencies are equal")
    return _by_design(spectrum) or passed(spectrum)


def _equal(spectrum: Spectrum, found: list[list[int]]) -> Outcome:
    largest = found[0]
    value = spectrum.values[largest[0]]
    more = and_more(len(found) - 1, "such set")
    return Outcome(
        status=Status.FAIL,
        schedule=spectrum.schedule.name,
        severity=Severity.WARNING if spectrum.learned else None,
        message=f"{len(largest)} of {len(spectrum.values)} channels have the same frequency "
        f"{value:.6g} ({counted(largest)}){more}, in {spectrum.schedule.dtype}.",
        evidence={
            "max_cluster": len(largest),
            "clusters": found,
            "values": [spectrum.values[c[0]] for c in found],
            "dtype": spectrum.schedule.dtype,
        },
        location=place(spectrum.schedule),
    )


def _unsure(spectrum: Spectrum, found: list[list[int]]) -> Outcome | None:
    """A bare table may be what multi-axis or proportional models hold."""
    if (repeats := copies(spectrum)) > 1:
        what = (
            f"The table is one ladder written {repeats} times: one copy per axis, a doubled half "
            "layout, or a mistake"
        )
    elif len(found) == 1 and spectrum.values[found[0][0]] == 0 and padded(spectrum):
        what = (
            f"{len(found[0])} of {len(spectrum.values)} channels are 0 at the end of a geometric "
            "table: unrotated by design (proportional), or lost"
        )
    else:
        return None
    return Outcome(
        status=Status.UNKNOWN,
        schedule=spectrum.schedule.name,
        message=f"{what}. Only the model's config can tell.",
        evidence={"max_cluster": len(found[0]), "clusters": found},
        location=place(spectrum.schedule),
        fix="Audit the table together with its config.json.",
    )


def _by_design(spectrum: Spectrum) -> Outcome | None:
    said, static = [], sorted(spectrum.static)
    law = spectrum.law or spectrum.schedule
    if static:
        said.append(
            f"{len(static)} of {len(spectrum.values)} channels are 0 by design of "
            f"'{law.rope_type}' and do not turn (channels {channels(static)})"
        )
    across = clusters(spectrum.values, [sorted({k for g in spectrum.groups for k in g})])
    if len(spectrum.groups) > 1 and across:
        said.append(
            f"the {len(spectrum.groups)} axes share frequencies by design "
            f"({len(across)} values, on different axes)"
        )
    if not said:
        return None
    return Outcome(
        status=Status.FAIL,
        schedule=spectrum.schedule.name,
        severity=Severity.INFO,
        message=sentence("; ".join(said)),
        evidence={
            "max_cluster": 1,
            "clusters": [],
            "static_channels": static,
            "across_axes": across if len(spectrum.groups) > 1 else [],
        },
        location=place(spectrum.schedule, "rope_type", "partial_rotary_factor"),
        fix="Nothing to do.",
    )
