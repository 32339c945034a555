"""Two planes or blocks of one head are the same.

What it checks
    Within each head, pairs of planes whose frequency vectors are equal up to one sign for all axes;
    for damped encodings and Jordan blocks the pair (gamma, w). Axes that do not commute share no
    planes: there each axis, and in a tree each branch, has a list of its own.

Why it matters
    Equal planes carry the same position signal, so the head loses coordinates. Two equal Jordan
    blocks are one block of twice the multiplicity (derogatory), which no mixing of channels undoes.

Passes when
    All units of a head differ. Not counted: equal values on different axes, in different heads or
    layers, equal norms in other directions, the m planes inside one block of order m, planes that a
    damped encoding doubles by construction, and channels that never turn.

Fails when
    Two units coincide. As a warning where frequencies come out of a matrix and no set is larger
    than a pair: chance, or the initialisation of APE, leaves some. As info where axes do not
    commute: a repeated value on one axis is no plane that occurs twice.

Exactness
    Equality for stored and computed frequencies, up to 1e-12 of their size. Frequencies that come
    out of a matrix carry the rounding of its entries, about 4 eps of float32 (or float64) times its
    norm, and coincide below that where they are also within 1 % of each other. APE heads in which
    angles stand in twos belong to inherited-twins.

Options
    max_cluster: largest set that is accepted (default 1).

References
    Kogkalidis et al., 2312.16045; Ostmeier et al., 2406.10322; Heo et al., 2403.13298; Zhang,
    2605.04217.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks.encodings._look import BIAS, Look, each, passed, place, skipped
from ropeaudit.checks.encodings._pairs import (
    Cluster,
    clusters,
    evidence,
    groups,
    hard,
    inherited,
    words,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

SLUG = "duplicate-plane"
NEEDS = "encoding"


@record()
class Params:
    max_cluster: int = 1


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(look, params))


def _judge(look: Look, params: Params) -> Outcome:
    if look.is_bias:
        return skipped(look, BIAS)
    told_elsewhere = inherited(look)[..., None, None]
    found: list[Cluster] = []
    for group in groups(look):
        found += clusters(group, hard(look, group) & ~told_elsewhere)
    found = [c for c in found if len(c.units) > params.max_cluster]
    if not found:
        return passed(look)
    found.sort(key=lambda c: -len(c.units))
    severity = None
    if len(found[0].units) == 2 and all(look.noise[c.layer, c.head] > 0 for c in found):
        severity = Severity.WARNING
    by_design = not look.spectrum.joint and not look.is_tree
    blocks = look.spectrum.order > 1 and bool(look.rotary.all())
    what = "have the same damping and frequency" if look.is_damped else "have the same frequency"
    said = words(look, found, "block" if blocks else "value" if by_design else "plane")
    tail = "; the axes do not commute, so these are no planes that occur twice" * by_design
    tail += ", which makes the encoding derogatory" * blocks
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        severity=Severity.INFO if by_design else severity,
        message=f"{said} {what}{tail}.",
        evidence=evidence(look, found),
        location=place(look),
        fix="Nothing to do." if by_design else None,
    )
