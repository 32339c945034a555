"""Which digits of a published error are the fit's, and which are float32 arithmetic's.

The argument: the normal equations and the QR reference are two ways to one number. Where both agree
to the published digits in float64, that number is known. A published figure that differs is then
arithmetic, if float32 can have moved it that far: the coefficients of a fit by normal equations are
uncertain by ``condition * eps`` of their size (to first order), and the error follows.
"""

from __future__ import annotations

import math
from enum import StrEnum

from ropeaudit.records import record


class Agreement(StrEnum):
    """What became of a published figure."""

    AGREES = "agrees"
    FLOAT32_NOISE = "float32_noise"
    """Float64 decides another number, and float32 can have moved it as far as what is published."""
    UNEXPLAINED = "unexplained"
    """Float64 decides another number, out of the reach of float32."""
    UNDECIDED = "undecided"
    """The two float64 ways differ in the published digits."""


@record(kw_only=True)
class Comparison:
    """``published`` beside the reference.

    It has ``digits`` significant ones; ``agreeing`` are the same when both are rounded to as many.
    """

    published: float
    status: Agreement
    digits: int
    agreeing: int

    @property
    def is_decided(self) -> bool:
        return self.status is not Agreement.UNDECIDED


def compare(
    published: float, *, decimals: int, normal: float, reference: float, bound: float
) -> Comparison:
    """Judge ``published``, a mean squared error rounded to ``decimals``.

    ``bound`` is by how much float32 can move the root of the error.
    """
    half = 0.5 * 10.0**-decimals * (1 + 1e-9)
    root = math.sqrt(reference)
    least, most = math.sqrt(max(0.0, published - half)), math.sqrt(published + half)
    if not abs(normal - reference) <= half:
        status = Agreement.UNDECIDED
    elif abs(published - reference) <= half:
        status = Agreement.AGREES
    elif least <= root + bound and most >= root - bound:
        status = Agreement.FLOAT32_NOISE
    else:
        status = Agreement.UNEXPLAINED
    digits = len(f"{published:.{decimals}f}".replace(".", "").lstrip("0")) if published else 0
    if status is Agreement.AGREES:
        agreeing = digits
    else:
        same = (n for n in range(digits, 0, -1) if f"{published:.{n}g}" == f"{reference:.{n}g}")
        agreeing = next(same, 0)
    return Comparison(published=published, status=status, digits=digits, agreeing=agreeing)
