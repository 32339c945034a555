"""Planes that turn by more than half a turn from one position to the next.

What it checks
    ``|w_a| s_a > pi`` for each axis a, where s_a is the distance of neighbouring positions.

Why it matters
    Beyond half a turn a step looks like a smaller one backwards. At whole positions the plane is
    one with a slower frequency; on a grid that changes with the resolution it is one only as long
    as the resolution stays, and jumps when it changes.

Passes when
    Every plane turns by pi or less per step on every axis.

Fails when
    One turns faster. LieRE with large blocks starts this way: blocks of 64 begin at 10 rad per
    patch on 14 x 14 patches.

Exactness
    float64, from stored frequencies or eigenvalues of the generators. A generator keeps a frequency
    above pi, and so does this count; a matrix alone shows it folded.

Options
    limit: radians per step (default pi).

References
    The sampling theorem; Ostmeier et al., 2406.10322.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ropeaudit.checks.encodings._look import (
    BIAS,
    TREE,
    Look,
    axes,
    each,
    passed,
    place,
    rounded,
    several,
    skipped,
)
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record

SLUG = "step-alias"
NEEDS = "encoding"


@record()
class Params:
    limit: float = math.pi


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(look, params))


def _judge(look: Look, params: Params) -> Outcome:
    import numpy as np

    if look.is_bias or look.is_tree:
        return skipped(look, BIAS if look.is_bias else TREE)
    step = np.asarray(look.encoding.positions.step, dtype=float)
    turns = np.abs(look.spectrum.w) * step * look.rotary[:, None]
    fast = turns > params.limit
    if not fast.any():
        return passed(look)
    where = tuple(int(i) for i in np.unravel_index(int(turns.argmax()), turns.shape))
    layer, head, unit, axis = where
    which = [a for a in range(turns.shape[-1]) if fast[..., a].any()]
    units = int(fast.any(-1).sum())
    noun = "plane" if look.spectrum.joint else "frequency"
    turned = "turns" if units == 1 else "turn"
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"{units:,} of {fast[..., 0].size:,} {_plural(noun)} {turned} by more than half a "
        f"turn per step along {axes(look, which)}; the fastest by {turns.max():.4g} rad "
        f"({look.at(layer, head)}).",
        evidence={
            "planes": units,
            "heads": int(fast.any((-1, -2)).sum()),
            "largest_step": rounded(turns[where]),
            "fastest": [look.layer(layer), look.head(head), unit],
            "axis": look.encoding.axes[axis],
            "by_axis": {
                look.encoding.axes[a]: int(fast[..., a].sum()) for a in range(turns.shape[-1])
            },
            "step": [float(s) for s in step],
        },
        location=place(look),
    )


def _plural(noun: str) -> str:
    return several(2, noun).removeprefix("2 ").replace("frequencys", "frequencies")
