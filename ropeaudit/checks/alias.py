"""Frequencies that whole positions cannot tell apart.

What it checks
    Pairs with ``|theta_i - theta_j - 2 pi m| L`` (m not 0) or ``|theta_i + theta_j - 2 pi m| L``
    below a phase tolerance, where L is the trained length; and single channels at a multiple of pi.

Why it matters
    Positions are integers, so a frequency counts only up to full turns, and a rotation by
    ``2 pi - theta`` is the one by ``theta`` run backwards, which the weights can absorb. Such
    channels look distinct in the table and are one in the model. A channel at ``2 pi m`` does not
    turn at all, one at ``pi m`` only flips its sign.

Passes when
    No frequency reaches pi, as in every table of a text model, or no two fold onto one another.

Fails when
    A pair, or one channel, folds onto the same phase within the tolerance.

Exactness
    float64 from the stored values; the tolerance is widened by half a step of the table's format
    for each value, since the table could not hold a closer one. Plain equality (m = 0, same sign)
    belongs to duplicate-frequency. Unknown when pairs come close and the input states no length.

Options
    phase: tolerance in radians over the trained length (default 1e-3).

References
    The sampling theorem: at one sample a position, nothing above pi radians is seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ropeaudit.checks._spectrum import (
    NO_TABLE,
    VECTORS,
    Spectrum,
    counted,
    passed,
    place,
    skipped,
    spectra,
    undecided,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.schedule.float32 import FORMATS
from ropeaudit.schedule.geometry import TWO_PI

SLUG = "alias"
NEEDS = "schedule"

_MEANINGFUL = 1e4
"""Above it float32 steps are a noticeable part of a turn; invalid-values names such frequencies."""
_WIDEST = 1e-3
"""Slack of two float32 values of that size; narrower formats are not searched further."""
_SHOWN = 32
"""Relations that the evidence lists."""


@dataclass(frozen=True, slots=True)
class Params:
    phase: float = 1e-3


@dataclass(frozen=True, slots=True)
class _Relation:
    """``theta_i - sign * theta_j = 2 pi m + residual``; i == j at a multiple of pi."""

    i: int
    j: int
    sign: int
    m: int
    residual: float
    slack: float = 0.0
    """What rounding to the table's format alone can leave as residual."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    none = True
    for spectrum in spectra(case):
        none = False
        yield _judge(case, spectrum, params)
    if none:
        yield skipped(NO_TABLE)


def _judge(case: Case, spectrum: Spectrum, params: Params) -> Outcome:
    values = spectrum.values
    # min and max see no NaN, so a table with NaN takes the long way.
    if spectrum.finite and values and min(values) >= 0 and max(values) < math.pi - 0.01:
        return passed(spectrum)
    if spectrum.many_vectors:
        return skipped(VECTORS, spectrum)
    positions = spectrum.schedule.parameters.get("positions")
    if not spectrum.schedule.is_text and positions != "integer":
        return skipped(
            f"positions of '{spectrum.schedule.component}' are not known to be whole numbers",
            spectrum,
        )
    length = case.trained(spectrum.schedule) or max(case.lengths, default=0)
    found: list[_Relation] = []
    for group in spectrum.groups:
        found.extend(_relations(spectrum, group, params.phase / (length or 1)))
    # Without a length, only what the table's format cannot hold any closer is certain.
    certain = found if length else [r for r in found if abs(r.residual) <= r.slack]
    if certain:
        return _folded(spectrum, certain, length)
    if found:
        return _unsure(spectrum, found)
    if not spectrum.finite:
        return undecided(spectrum, "Whether frequencies alias")
    return passed(spectrum)


def _relations(spectrum: Spectrum, group: Sequence[int], tolerance: float) -> Iterator[_Relation]:
    """Folds every frequency into 0..pi, where aliases are neighbours; O(n log n + hits)."""
    values = spectrum.values
    folded = sorted(
        (abs(values[k] - TWO_PI * round(values[k] / TWO_PI)), k)
        for k in group
        if abs(values[k]) <= _MEANINGFUL
    )
    for at, (r, i) in enumerate(folded):
        slack = _half_step(values[i], spectrum.schedule.dtype)
        off = min(r, math.pi - r)
        if abs(values[i]) > 1 and off <= tolerance / 2 + slack:
            yield _Relation(i, i, -1, round(values[i] / math.pi), 2 * off, 2 * slack)
            continue
        for s, j in folded[at + 1 :]:
            if s - r > tolerance + _WIDEST:
                break
            both = slack + _half_step(values[j], spectrum.schedule.dtype)
            relation = _relate(values, i, j)
            if relation is not None and abs(relation.residual) <= tolerance + both:
                yield replace(relation, slack=both)


def _relate(values: Sequence[float], i: int, j: int) -> _Relation | None:
    """The closer of both signs; None for plain closeness, which no folding made."""
    i, j = min(i, j), max(i, j)
    a, b = values[i], values[j]
    best: _Relation | None = None
    for sign in (1, -1):
        m = round((a - sign * b) / TWO_PI)
        residual = a - sign * b - TWO_PI * m
        if best is None or abs(residual) < abs(best.residual):
            best = _Relation(i, j, sign, m, residual)
    if best is None or (best.m == 0 and (best.sign == 1 or (a >= 0) == (b >= 0))):
        return None
    return best


def _half_step(value: float, dtype: str) -> float:
    """Half the distance to the next number of the format (float32 where it is unknown)."""
    fmt = FORMATS.get(dtype, FORMATS["float32"])
    return math.ldexp(0.5, max(math.frexp(value)[1] - 1, fmt.min_exponent) - fmt.precision + 1)


def _members(found: Sequence[_Relation]) -> list[list[int]]:
    """Relations joined into sets of channels that alias one another, largest first."""
    sets: list[set[int]] = []
    for relation in found:
        joined = {relation.i, relation.j}
        for other in [s for s in sets if s & joined]:
            joined |= other
            sets.remove(other)
        sets.append(joined)
    return sorted((sorted(s) for s in sets), key=lambda m: (-len(m), m))


def _evidence(found: Sequence[_Relation], length: int) -> dict[str, object]:
    members = _members(found)
    return {
        "max_cluster": len(members[0]),
        "clusters": members,
        "length": length or None,
        "relations": [
            {"i": r.i, "j": r.j, "sign": r.sign, "m": r.m, "phase": abs(r.residual) * (length or 1)}
            for r in found[:_SHOWN]
        ],
    }


def _describe(spectrum: Spectrum, relation: _Relation) -> str:
    value = spectrum.values[relation.i]
    if relation.i == relation.j:
        return f"channel {relation.i} turns by {value:.6g} rad a position, {relation.m} times pi"
    other = spectrum.values[relation.j]
    joint = "+" if relation.sign < 0 else "-"
    return (
        f"channels {relation.i} and {relation.j}: {value:.6g} {joint} {other:.6g} is "
        f"{relation.m} full turns"
    )


def _folded(spectrum: Spectrum, found: list[_Relation], length: int) -> Outcome:
    members = _members(found)
    more = f", and {len(found) - 1} more such relations" if len(found) > 1 else ""
    return Outcome(
        status=Status.FAIL,
        schedule=spectrum.schedule.name,
        severity=Severity.WARNING if spectrum.learned else None,
        message=f"{counted(members[0]).capitalize()} cannot be told apart at whole positions: "
        f"{_describe(spectrum, found[0])}{more}."
        if len(members[0]) > 1
        else f"{_describe(spectrum, found[0]).capitalize()}: it carries no order{more}.",
        evidence=_evidence(found, length),
        location=place(spectrum.schedule),
    )


def _unsure(spectrum: Spectrum, found: list[_Relation]) -> Outcome:
    return Outcome(
        status=Status.UNKNOWN,
        schedule=spectrum.schedule.name,
        message=f"Possible alias ({_describe(spectrum, found[0])}), and the input states no length "
        "over which to judge the phase.",
        evidence=_evidence(found, 0),
        location=place(spectrum.schedule),
        fix="Give the length with --context.",
    )
