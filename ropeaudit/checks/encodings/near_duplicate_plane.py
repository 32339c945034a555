"""Two planes of one head turn almost alike.

What it checks
    Within each head, pairs of planes whose frequency vectors, up to one sign for all axes, differ
    by less than 1 % of their size and by less than 0.1 rad over the largest distance in use.

Why it matters
    Learned frequencies are hardly ever exactly equal. Two planes that stay together over every
    distance in use are one plane for the model, whatever the last digits say.

Passes when
    No pair is that close. The relative clause keeps the slow end of geometric tables out.

Fails when
    A pair is. LieRE's own initialisation (uniform in a square) makes such pairs by chance.

Exactness
    float64. Pairs below the rounding of the spectrum belong to duplicate-plane, APE heads in which
    every angle stands twice to inherited-twins. Unknown when a pair is close in size, nobody
    says how far positions reach, and it parts within 1e5 units. Skipped where axes do not commute.

Options
    relative: difference as a part of the size (default 0.01).
    phase: radians over the largest distance (default 0.1).

References
    Kogkalidis et al., 2312.16045; Ostmeier et al., 2406.10322.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks.encodings._look import (
    BIAS,
    TREE,
    Look,
    counts_tokens,
    each,
    extents,
    passed,
    place,
    skipped,
)
from ropeaudit.checks.encodings._pairs import (
    Group,
    candidates,
    clusters,
    distances,
    evidence,
    groups,
    hard,
    inherited,
    sizes,
    smallest,
    words,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record

SLUG = "near-duplicate-plane"
NEEDS = "encoding"


_ANY_REACH = 1e5
"""What stays together over so many units does so over any distance in use."""


@record()
class Params:
    relative: float = 0.01
    phase: float = 0.1


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(case, look, params))


def _judge(case: Case, look: Look, params: Params) -> Outcome:
    if look.is_bias or look.is_tree:
        return skipped(look, BIAS if look.is_bias else TREE)
    if not look.spectrum.joint:
        return skipped(look, "its axes do not commute and share no planes")
    (group,) = groups(look)
    close = candidates(look, group) & ~hard(look, group) & ~inherited(look)[..., None, None]
    close &= distances(look, group) < params.relative * sizes(look, group)
    if not close.any():
        return passed(look)
    stated = extents(case, look)
    reach = [_ANY_REACH if r is None else r for r in stated]
    near = close & (distances(look, group, reach) < params.phase)
    if not near.any() and None in stated:
        return _doubtful(look, group, close)
    close = near
    found = clusters(group, close)
    if not found:
        return passed(look)
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"{words(look, found)} stay within {params.phase:g} rad of each other "
        "over all distances in use.",
        evidence={
            **evidence(look, found),
            "smallest_distance": smallest(distances(look, group), close),
            "extent": list(stated),
        },
        location=place(look),
    )


def _doubtful(look: Look, group: Group, close: object) -> Outcome:
    found = clusters(group, close)
    how = (
        "Give the longest length with --context."
        if counts_tokens(look)
        else "State the grid, as in --encoding grid=14x14."
    )
    return Outcome(
        status=Status.UNKNOWN,
        schedule=look.name,
        message=f"{words(look, found)} differ by less than 1 %, and the input does "
        "not say how far positions reach, which decides whether they stay together.",
        evidence=evidence(look, found),
        location=place(look),
        fix=how,
    )
