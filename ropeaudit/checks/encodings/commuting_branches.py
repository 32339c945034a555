"""Branches of a tree encoding commute, so the order of turns on a path is lost.

What it checks
    ``||[B_1, B_2]||_F / (||B_1||_F ||B_2||_F)`` of the generators of each two branches, in each
    head.

Why it matters
    A node's map is the product of its branches from the root on. Where they commute, left then
    right is the same place as right then left.

Passes when
    Every two branches differ in their order, or the encoding is no tree.

Fails when
    Two branches commute, or one of them does nothing.

Exactness
    float64.

Options
    tolerance: largest relative commutator that counts as none (default 1e-6).

References
    Kogkalidis et al., 2312.16045, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ropeaudit.checks.encodings._look import Look, each, passed, place, rounded, several, skipped
from ropeaudit.checks.interface import Case
from ropeaudit.encodings._algebra import relative_commutator
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record

SLUG = "commuting-branches"
NEEDS = "encoding"


@record()
class Params:
    tolerance: float = 1e-6


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(look, params))


def _judge(look: Look, params: Params) -> Outcome:
    import numpy as np

    generators = look.generators
    if not look.is_tree or generators is None or len(generators) < 2:
        return skipped(look, "it has no branches")
    pairs = list(combinations(range(len(generators)), 2))
    sizes = np.stack([relative_commutator(generators[a], generators[b]) for a, b in pairs])
    commute = sizes <= params.tolerance
    if not commute.any():
        return passed(look)
    heads = commute.any(0)
    which = [[look.encoding.axes[i] for i in p] for p, c in zip(pairs, commute, strict=True)
             if c.any()]  # fmt: skip
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"The maps of {which[0][0]} and {which[0][1]} commute in "
        f"{several(int(heads.sum()), 'head')} of {heads.size}: the order of turns is lost.",
        evidence={
            "branches": which,
            "heads": look.heads(heads),
            "commutator": rounded(sizes.min(), 4),
        },
        location=place(look),
    )
