"""A channel never turns, and the family does not say that it should not.

What it checks
    Channels whose frequency is exactly 0 in the format that the table is held in.

Why it matters
    A channel that never turns carries no position. Some families leave channels out on purpose
    (Gemma 4: 192 of 256). Where the family does not, the value was lost: rounded away by a linear
    quantiser or a narrow float, or the memory was never filled.

Passes when
    Every channel turns, except those that the family defines as zero.

Fails when
    Any other channel is 0. In learned vectors of several layers and heads a single 0 may be a
    vector along an axis; there it is a warning where a plane is 0 on every axis, and where a whole
    row of the tensor is 0.

Exactness
    Exact comparison; -0 counts as 0. Unknown for a bare table that ends in zeros after a geometric
    head that fills a quarter, a half or three quarters of it, as the proportional law builds:
    only the config can tell.

Options
    None.

References
    transformers ``modeling_rope_utils.py``, ``_compute_proportional_rope_parameters``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks._spectrum import (
    VECTORS,
    Spectrum,
    counted,
    each,
    padded,
    passed,
    place,
    skipped,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

SLUG = "zero-frequency"
NEEDS = "schedule"


@record()
class Params:
    pass


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, _judge)


def _judge(spectrum: Spectrum) -> Outcome:
    if 0.0 not in spectrum.values:
        return passed(spectrum)
    if spectrum.many_vectors:
        return _of_vectors(spectrum)
    zeros = [k for k, v in enumerate(spectrum.values) if v == 0 and k not in spectrum.static]
    if not zeros:
        law = spectrum.law or spectrum.schedule
        return passed(spectrum, f"zeros are by design of '{law.rope_type}'")
    evidence = {
        "channels": zeros,
        "max_cluster": len(zeros),
        "clusters": [zeros] if len(zeros) > 1 else [],
        "dtype": spectrum.schedule.dtype,
    }
    if padded(spectrum):
        return Outcome(
            status=Status.UNKNOWN,
            schedule=spectrum.schedule.name,
            message=f"The last {len(zeros)} of {len(spectrum.values)} channels are 0: unrotated by "
            "design (proportional), or lost. Only the model's config can tell.",
            evidence=evidence,
            location=place(spectrum.schedule),
            fix="Audit the table together with its config.json.",
        )
    rounded = sum(1 for k in zeros if spectrum.schedule.inv_freq[k] != 0)
    cause = f" ({rounded} of them only in {spectrum.schedule.dtype})" if rounded else ""
    verb = "does" if len(zeros) == 1 else "do"
    return Outcome(
        status=Status.FAIL,
        schedule=spectrum.schedule.name,
        message=f"{len(zeros)} of {len(spectrum.values)} channels {verb} not turn "
        f"({counted(zeros)}){cause}, and nothing says that they should not.",
        evidence=evidence,
        location=place(spectrum.schedule),
    )


def _of_vectors(spectrum: Spectrum) -> Outcome:
    """A vector may lie on an axis, so a zero alone says nothing; where all of it is 0, it does."""
    still = sorted({*_planes(spectrum), *_rows(spectrum)})
    if not still:
        return skipped(VECTORS, spectrum)
    total = len(spectrum.values)
    what = "none turns" if len(still) == total else f"these do not turn: {counted(still, 'value')}"
    return Outcome(
        status=Status.FAIL,
        severity=Severity.WARNING,
        schedule=spectrum.schedule.name,
        message=f"{len(still)} of {total} learned frequencies are 0 in a whole plane or a whole "
        f"row of the tensor; {what}.",
        evidence={
            "channels": still,
            "max_cluster": len(still),
            "clusters": [still] if len(still) > 1 else [],
            "dtype": spectrum.schedule.dtype,
        },
        location=place(spectrum.schedule),
        fix="Restore the trained values; an empty tensor holds zeros everywhere.",
    )


def _planes(spectrum: Spectrum) -> Iterator[int]:
    """Values of planes that are 0 on every axis, where the tensor has an axis of positions."""
    groups = spectrum.groups
    if len(groups) < 2 or len({len(g) for g in groups}) > 1:
        return
    for plane in zip(*groups, strict=True):
        if not any(spectrum.values[k] for k in plane):
            yield from plane


def _rows(spectrum: Spectrum) -> Iterator[int]:
    """Values of rows (the last dimension of the tensor) that are 0 throughout."""
    *_, width = spectrum.schedule.parameters["shape"]
    if width < 2 or len(spectrum.values) % width:
        return
    for start in range(0, len(spectrum.values), width):
        if not any(spectrum.values[start : start + width]):
            yield from range(start, start + width)
