"""The axes do not commute, so the score is no function of the difference of positions.

What it checks
    ``||[A, B]||_F / (||A||_F ||B||_F)`` of the generators of each two axes. Where it is not 0, also
    the largest ``||M(a)^T M(b) - M(a+s)^T M(b+s)||_F`` over all points a, b and shifts s that stay
    on a grid of 5 x 5 neighbouring positions.

Why it matters
    ``M(a)^T M(b)`` depends on b - a alone if and only if the generators commute. With blocks wider
    than 2, LieRE gives that up on purpose: a patch is then seen differently from different places.

Passes when
    All pairs commute: exactly relative. One axis always is.

Fails when
    They do not. It is a property of the design, so it is information, with its size.

Exactness
    Commutators in float64, 0 up to 1e-7 (what float32 storage leaves of commuting matrices). The
    defect is taken in float32, good to about 1e-4 of itself; 2 sqrt(n) is the most it can be.

Options
    grid: positions along each axis (default 5).
    tolerance: largest commutator that counts as 0 (default 1e-7).

References
    Ostmeier et al., 2406.10322; Baker, Campbell and Hausdorff for small positions:
    ``M(a) M(b) - M(a+b)`` is about ``0.5 |a_0 b_1 - a_1 b_0| ||[A_0, A_1]||``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ropeaudit.checks.encodings._look import (
    BIAS,
    TREE,
    Look,
    each,
    passed,
    place,
    rounded,
    several,
    skipped,
)
from ropeaudit.checks.encodings._maps import relativity
from ropeaudit.checks.interface import Case
from ropeaudit.encodings._algebra import relative_commutator
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

SLUG = "not-relative"
NEEDS = "encoding"


@record()
class Params:
    grid: int = 5
    tolerance: float = 1e-7


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(look, params))


def _judge(look: Look, params: Params) -> Outcome:
    import numpy as np

    if look.is_bias or look.is_tree:
        return skipped(look, BIAS if look.is_bias else TREE)
    generators = look.generators
    if generators is None:
        return skipped(look, "it has no generators; contragredient judges it")
    if len(generators) < 2:
        return passed(look, "one axis: exactly relative")
    pairs = list(combinations(range(len(generators)), 2))
    sizes = np.stack([relative_commutator(generators[a], generators[b]) for a, b in pairs])
    if sizes.max() <= params.tolerance:
        return passed(look, "exactly relative")
    step = np.asarray(look.encoding.positions.step)[:, None, None, None, None]
    apart = [relativity((step * generators)[list(pair)], params.grid) for pair in pairs]
    return _found(look, sizes, np.stack(apart), params)


def _found(look: Look, sizes: Array, apart: Array, params: Params) -> Outcome:
    import numpy as np

    layer, head = look.worst(apart.max(0))
    crossing = (sizes > params.tolerance).any(0)
    largest = float(apart.max())
    of = 2 * np.sqrt(look.encoding.head_dim)
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        severity=Severity.INFO,
        message=f"The axes do not commute in {several(int(crossing.sum()), 'head')} of "
        f"{crossing.size}: commutator {sizes.mean():.3g} on average. On a grid of {params.grid} x "
        f"{params.grid} positions the map between two places changes by up to {largest:.3g} when "
        f"both move (of at most {of:.3g}).",
        evidence=_evidence(look, sizes, params)
        | {"relativity_defect": rounded(largest, 4), "worst": [look.layer(layer), look.head(head)]},
        location=place(look),
        fix="Nothing to do: it is the design.",
    )


def _evidence(look: Look, sizes: Array, params: Params) -> dict[str, Any]:
    return {
        "commutator": rounded(sizes.max(), 4),
        "commutator_mean": rounded(sizes.mean(), 4),
        "grid": [params.grid, params.grid],
        "step": list(look.encoding.positions.step),
        "axes": list(look.encoding.axes),
    }
