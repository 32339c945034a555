"""Planes that turn with no axis.

What it checks
    Planes whose frequency is 0 on every axis: below 1e-12 of the fastest plane of their head, or,
    where a file holds matrices, below what rounding them leaves of 0.

Why it matters
    A plane that never turns says nothing of positions. Training hardly ever leaves an exact 0;
    quantisers do, starting with the slowest planes, and an empty tensor does for all of them. They
    are no cluster, so only this rule tells them.

Passes when
    Every plane turns. Channels that the design leaves alone (an odd one, those behind the last
    whole block, the blocks of a direct sum that do not turn) are not counted.

Fails when
    A plane stands still; where axes do not commute, when nothing at all turns in a head.

Exactness
    float64. Of a stored matrix A of n channels rounding leaves about eps |A| / sqrt(n) of a zero,
    with eps of float32 (float64): 2e-8 for 64 channels. Frequencies that are stored as they are
    have no such limit.

Options
    None.

References
    Su et al., 2104.09864, eq. 15, for what a plane is there for.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks._spectrum import counted
from ropeaudit.checks.encodings._look import (
    BIAS,
    LISTED,
    Look,
    each,
    passed,
    place,
    several,
    skipped,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record

SLUG = "still-plane"
NEEDS = "encoding"


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, _judge)


def _judge(look: Look) -> Outcome:
    if look.is_bias or not look.rotary.any():
        return skipped(look, BIAS if look.is_bias else "none of its blocks turns, by design")
    still = look.still[..., look.rotary]
    if not still.any():
        return passed(look)
    heads = still.any(-1)
    layer, head = look.worst(still.sum(-1))
    units = [[int(u) for u in look.rotary.nonzero()[0][row]] for row in still[heads]]
    listed = [[*at, u] for at, u in zip(look.heads(heads), units, strict=False)]
    own = [int(u) for u in look.rotary.nonzero()[0][still[layer, head]]]
    count = int(still.sum())
    verb = "turns" if count == 1 else "turn"
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"{several(count, 'plane')} of {still.size:,} {verb} with no axis, in "
        f"{several(int(heads.sum()), 'head')} of {heads.size}; {counted(own, 'plane')} of "
        f"{look.at(layer, head)} among them.",
        evidence={
            "planes": count,
            "of": int(still.size),
            "still": listed[:LISTED],
            "head_count": int(heads.sum()),
            "silent_heads": int(still.all(-1).sum()),
        },
        location=place(look),
    )
