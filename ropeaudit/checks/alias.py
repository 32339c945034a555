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
from ropeaudit.records import record, replace
from ropeaudit.schedule.float32 import FORMATS
from ropeaudit.schedule.geometry import TWO_PI

SLUG = "alias"
NEEDS = "schedule"

_MEANINGFUL = 1e4
"""Above it float32 steps are a noticeable part of a turn; invalid-values names such frequencies."""
_SHOWN = 32
"""Relations that the evidence lists."""


@record()
class Params:
    phase: float = 1e-3


@record()
class _Relation:
    """``theta_i - sign * theta_j = 2 pi m + residual``; i == j at a multiple of pi."""

    i: int
    j: int
    sign: int
    m: int
    residual: float
    slack: float = 0.0
    """What rounding to the table's format alone can leave as residual."""


_Found = list[tuple[list[int], list[_Relation]]]
"""Sets of aliasing channels, each with the relations that show it."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda spectrum: _judge(case, spectrum, params))


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
    found: _Found = []
    for group in spectrum.groups:
        found.extend(_chains(spectrum, group, params.phase / (length or 1)))
    found.sort(key=lambda f: (-len(f[0]), f[0]))
    # Without a length, only what the table's format cannot hold any closer is certain.
    certain = [f for f in found if length or any(abs(r.residual) <= r.slack for r in f[1])]
    if certain:
        return _folded(spectrum, certain, length)
    if found:
        return _unsure(spectrum, found)
    if not spectrum.finite:
        return undecided(spectrum, "Whether frequencies alias")
    return passed(spectrum)


def _chains(
    spectrum: Spectrum, group: Sequence[int], tolerance: float
) -> Iterator[tuple[list[int], list[_Relation]]]:
    """Sets of channels that alias, each with its relations between neighbours; O(n log n).

    Folding into 0..pi makes aliases neighbours. A set counts when not all of its members were
    folded alike; those that were are plain near-duplicates.
    """
    values, dtype = spectrum.values, spectrum.schedule.dtype
    folded = sorted(
        (abs(values[k] - TWO_PI * round(values[k] / TWO_PI)), k)
        for k in group
        if abs(values[k]) <= _MEANINGFUL
    )
    chain: list[int] = []
    relations: list[_Relation] = []
    last, last_slack = -math.inf, 0.0
    for r, k in folded:
        slack, off = _half_step(values[k], dtype), min(r, math.pi - r)
        if abs(values[k]) > 1 and off <= tolerance / 2 + slack:
            yield [k], [_Relation(k, k, -1, round(values[k] / math.pi), 2 * off, 2 * slack)]
            continue
        both = slack + last_slack
        if chain and r - last <= tolerance + both:
            relation = _relate(values, chain[-1], k)
            if relation is not None:
                relations.append(replace(relation, slack=both))
        else:
            if relations:
                yield sorted(chain), relations
            chain, relations = [], []
        chain.append(k)
        last, last_slack = r, slack
    if relations:
        yield sorted(chain), relations


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
    return FORMATS.get(dtype, FORMATS["float32"]).spacing(value) / 2


def _evidence(found: _Found, length: int) -> dict[str, object]:
    members = [f[0] for f in found]
    relations = [r for f in found for r in f[1]]
    return {
        "max_cluster": len(members[0]),
        "clusters": members,
        "length": length or None,
        "relations": [
            {"i": r.i, "j": r.j, "sign": r.sign, "m": r.m, "phase": abs(r.residual) * (length or 1)}
            for r in relations[:_SHOWN]
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
        f"{relation.m} full turn{'' if abs(relation.m) == 1 else 's'}"
    )


def _folded(spectrum: Spectrum, found: _Found, length: int) -> Outcome:
    members, first = found[0][0], found[0][1][0]
    count = sum(len(f[1]) for f in found)
    more = and_more(count - 1, "such relation")
    return Outcome(
        status=Status.FAIL,
        schedule=spectrum.schedule.name,
        severity=Severity.WARNING if spectrum.learned else None,
        message=f"{counted(members).capitalize()} cannot be told apart at whole positions: "
        f"{_describe(spectrum, first)}{more}."
        if len(members) > 1
        else f"{_describe(spectrum, first).capitalize()}: it carries no order{more}.",
        evidence=_evidence(found, length),
        location=place(spectrum.schedule),
    )


def _unsure(spectrum: Spectrum, found: _Found) -> Outcome:
    return Outcome(
        status=Status.UNKNOWN,
        schedule=spectrum.schedule.name,
        message=f"Possible alias ({_describe(spectrum, found[0][1][0])}), and the input states no "
        "length over which to judge the phase.",
        evidence=_evidence(found, 0),
        location=place(spectrum.schedule),
        fix="Give the length with --context.",
    )
