"""The maps of an orthogonal encoding are not orthogonal, or lose it by repeated multiplication.

What it checks
    ``||M^T M - I||_F / sqrt(n)`` at one step; ``||B + B^T||_F / ||B||_F`` of the generators; the
    determinant; for APE sequences and grids also ``W^L``, built in float32 by repeated doubling as
    the public code builds it, at the largest distance L.

Why it matters
    Orthogonal maps keep the length of queries and keys, and only for them the product of two maps
    depends on the difference of positions. A generator that is not skew makes scores grow or fade
    with position. A reflection (determinant -1) has no generator.

Passes when
    The defect stays below 1e-12 in float64, and that of ``W^L`` below 1e-5 in float32. Damped
    encodings and Jordan blocks are not orthogonal by design and are not asked.

Fails when
    A map or generator breaks the limit. As a warning: only ``W^L`` does, or a reflection.

Exactness
    float64 for M and B; ``W^L`` in float32 because that is what is judged.

Options
    tolerance: limit in float64 (default 1e-12).
    drift: limit of W^L in float32 (default 1e-5).

References
    Kogkalidis et al., 2312.16045; ape/nn/position/algebraic.py of its public code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ropeaudit.checks.encodings._look import (
    BIAS,
    Look,
    each,
    extents,
    passed,
    place,
    rounded,
    several,
    skipped,
)
from ropeaudit.checks.encodings._maps import power, skewness
from ropeaudit.checks.interface import Case
from ropeaudit.encodings._algebra import orthogonality_defect
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

SLUG = "orthogonality"
NEEDS = "encoding"


@record()
class Params:
    tolerance: float = 1e-12
    drift: float = 1e-5


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(case, look, params))


def _judge(case: Case, look: Look, params: Params) -> Outcome:
    if look.is_bias or look.is_damped:
        return skipped(look, BIAS if look.is_bias else "damped and sheared maps are not orthogonal")
    generators = look.generators
    if generators is not None and (skew := skewness(generators)).max() > params.tolerance:
        layer, head = look.worst(skew.max(0))
        return Outcome(
            status=Status.FAIL,
            schedule=look.name,
            message=f"A generator is not skew: its symmetric part is {skew.max():.3g} of it "
            f"({look.at(layer, head)}), so lengths change with position.",
            evidence={"skewness": rounded(skew.max(), 4), "worst": _where(look, layer, head)},
            location=place(look),
        )
    maps = one_step(look)
    off = orthogonality_defect(maps).max(0)
    if not off.max() <= params.tolerance:
        return _not_orthogonal(look, off, params)
    return _reflection(look, maps) or _drift(case, look, maps, params) or passed(look)


def one_step(look: Look) -> Array:
    """(axes, layers, heads, n, n): the map of one step along each axis or branch."""
    import numpy as np

    step = np.diag(np.asarray(look.encoding.positions.step, dtype=float))
    if look.is_tree:
        step = np.arange(len(step), dtype=float)[:, None]  # paths of one branch
    return look.module.operators(look.encoding, step)[0]


def _not_orthogonal(look: Look, off: Array, params: Params) -> Outcome:
    layer, head = look.worst(off)
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"The map of one step is not orthogonal: the defect is {off.max():.3g} "
        f"({look.at(layer, head)}), beyond {params.tolerance:g} in "
        f"{several(int((off > params.tolerance).sum()), 'head')}.",
        evidence={"defect": rounded(off.max(), 4), "worst": _where(look, layer, head)},
        location=place(look),
    )


def _reflection(look: Look, maps: Array) -> Outcome | None:
    import numpy as np

    if look.generators is not None:
        return None  # the exponential of a real matrix has a positive determinant
    mirrored = (np.linalg.slogdet(maps)[0] < 0).any(0)
    if not mirrored.any():
        return None
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        severity=Severity.WARNING,
        message=f"The map of one step is a reflection (determinant -1) in "
        f"{several(int(mirrored.sum()), 'head')}: no generator gives it, and no conversion to a "
        "rotation exists.",
        evidence={"determinant": -1, "heads": look.heads(mirrored)},
        location=place(look),
    )


def _drift(case: Case, look: Look, maps: Array, params: Params) -> Outcome | None:
    import numpy as np

    if look.encoding.kind not in ("ape-sequence", "ape-grid"):
        return None  # other code takes cosines and sines of each position
    reach = extents(case, look)
    lengths = [None if r is None else round(r) for r in reach]
    worst, at = 0.0, (0, 0, 0)
    for axis, length in enumerate(lengths):
        if not length:
            continue
        off = orthogonality_defect(power(maps[axis].astype(np.float32), length))
        if off.max() > worst:
            layer, head = look.worst(off)
            worst, at = float(off.max()), (axis, layer, head)
    if worst <= params.drift:
        return None
    axis, layer, head = at
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        severity=Severity.WARNING,
        message=f"W^{lengths[axis]}, built in float32 by repeated doubling, is off orthogonal by "
        f"{worst:.2g} ({look.at(layer, head)}); one step alone is off by "
        f"{orthogonality_defect(maps.astype(np.float32)).max():.1g}.",
        evidence={
            "drift": rounded(worst, 2),
            "length": lengths[axis],
            "worst": _where(look, layer, head),
        },
        location=place(look),
    )


def _where(look: Look, layer: int, head: int) -> list[int | None]:
    return [look.layer(layer), look.head(head)]
