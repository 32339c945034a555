"""Jordan blocks without shear: equal rotary planes that were meant to differ.

What it checks
    ``|eta| tau(L)`` of every block, the shear that it reaches at the largest distance L.

Why it matters
    Without shear a block of order m is m planes with one frequency: it carries what one plane
    carries and takes the channels of m. Public code starts every block that way (eta 0) and has to
    learn the shear.

Passes when
    Every block reaches a shear above 0.001, or the encoding has no blocks by design.

Fails when
    One does not.

Exactness
    float64. Skipped where nobody says how far positions reach.

Options
    tolerance: smallest shear (default 0.001).

References
    Zhang, 2605.04217, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ropeaudit.checks.encodings._lags import reach
from ropeaudit.checks.encodings._look import (
    BIAS,
    NO_LENGTH,
    Look,
    each,
    passed,
    place,
    rounded,
    several,
    skipped,
)
from ropeaudit.checks.encodings.jordan_growth import jets, shear
from ropeaudit.checks.interface import Case
from ropeaudit.encodings._growth import tau
from ropeaudit.encodings._jordan import coefficients
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

SLUG = "degenerate-block"
NEEDS = "encoding"


@record()
class Params:
    tolerance: float = 1e-3


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(case, look, params))


def _judge(case: Case, look: Look, params: Params) -> Outcome:
    if look.is_bias or look.spectrum.order < 2:
        return skipped(look, BIAS if look.is_bias else "it has no Jordan blocks")
    furthest = reach(case, look)
    if furthest is None:
        return skipped(look, NO_LENGTH)
    reached = _reached(look, float(furthest))
    flat = reached < params.tolerance
    if not flat.any():
        return passed(look)
    start = bool((reached == 0).all())
    count = int(flat.sum())
    order = look.spectrum.order
    what = "is" if count == 1 else "are"
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"{several(count, 'block')} of {flat.size:,} reach a shear below "
        f"{params.tolerance:g} within {furthest:,} positions and {what} {order} equal planes each"
        f"{'; all have eta 0, as at initialisation' if start else ''}.",
        evidence={
            "blocks": count,
            "of": int(flat.size),
            "as_initialised": start,
            "largest_shear": rounded(reached.max()),
            "heads": look.heads(flat.any(-1)),
        },
        location=place(look),
    )


def _reached(look: Look, distance: float) -> Array:
    """(layers, heads, blocks): the shear at a distance; of jets the largest of their powers."""
    import numpy as np

    own = jets(look)
    if own is None:
        eta, length = shear(look)
        return np.asarray(np.abs(eta)[..., look.blocks] * tau(distance, length))
    powers = np.abs(coefficients(own, np.array([distance])))[:, 0]
    return np.asarray((powers[1:] / np.where(powers[0] > 0, powers[0], 1.0)).max(0))
