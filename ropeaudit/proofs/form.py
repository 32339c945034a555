"""Whether every value of a table is its closed form, up to a few units in the last place.

The unit of a channel is the spacing of the table's dtype at the exact value. Distances are taken
between the stored float, which is a rational, and an enclosure of the closed form that is narrow
enough to fix the binade, the third decimal and the side of the tolerance; where the closed form is
rational, it is taken as it is.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ropeaudit.exact import encoding
from ropeaudit.exact.enclosure import enclose
from ropeaudit.exact.radicals import rational_value
from ropeaudit.exact.terms import ClosedForm, Power, Term
from ropeaudit.proofs._shapes import decided, too_wide, without_form
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.records import record
from ropeaudit.schedule.float32 import FORMATS

CLAIM = "form"
METHOD = (
    "Each stored value is compared with an enclosure of its closed form, narrow enough to decide."
)
START_BITS = 96
"""Enough for any float32 table that is near its closed form: 24 bits of the value, 10 of the
decimals, and room for ties that are nearly met."""

_GRIDS = {name: (f.precision, f.min_exponent) for name, f in FORMATS.items()} | {
    "float64": (53, -1022)
}


@record()
class _Distance:
    """Thousandths of an ulp, rounded half up (None: infinite), and the side of the tolerance."""

    thousandths: int | None
    above: bool

    @property
    def ulp(self) -> float | str:
        """As certificates write it."""
        if self.thousandths is None:
            return "inf"
        try:
            return self.thousandths / 1000
        except OverflowError:
            return "inf"


def prove(exhibit: Exhibit) -> Claim:
    """Proved where no channel is further than ``exhibit.ulp`` units from its closed form.

    Undecided without a closed form for each channel, in an unknown dtype, and where no enclosure
    within ``exhibit.bits`` bits decides.
    """
    schedule, form = exhibit.schedule, exhibit.form
    stored = schedule.inv_freq
    unknown = schedule.dtype not in _GRIDS
    if form is None or unknown or not stored or len(form.terms) != len(stored):
        return without_form(exhibit, CLAIM)
    distances = [
        _distance(value, term, schedule.dtype, exhibit)
        for value, term in zip(stored, form.terms, strict=True)
    ]
    found = [d for d in distances if d is not None]
    if len(found) < len(distances):
        return too_wide(exhibit, CLAIM)
    return _judged(exhibit, form, found)


def _judged(exhibit: Exhibit, form: ClosedForm, found: list[_Distance]) -> Claim:
    ulp = [d.ulp for d in found]
    sizes = [math.inf if isinstance(u, str) else u for u in ulp]
    channel = sizes.index(max(sizes))
    evidence: dict[str, Any] = {
        "law": form.law,
        "parameters": encoding.parameters(form),
        "max_ulp": ulp[channel],
        "channel": channel,
        "tolerance": exhibit.ulp,
        "dtype": exhibit.schedule.dtype,
        "ulp": ulp,
    }
    if not any(d.above for d in found):
        return decided(exhibit, CLAIM, Status.PROVED, METHOD, evidence)
    evidence["witness"] = {
        "channel": channel,
        "stored": encoding.value(exhibit.schedule.inv_freq[channel]),
        "closed_form": encoding.term(form.terms[channel]),
        "ulp": ulp[channel],
    }
    return decided(exhibit, CLAIM, Status.REFUTED, METHOD, evidence)


def _distance(stored: float, term: Term, dtype: str, exhibit: Exhibit) -> _Distance | None:
    """None where the most precise enclosure does not decide."""
    if not math.isfinite(stored):
        return _Distance(None, True)
    held = Fraction(stored)
    exact = rational_value(term) if isinstance(term, Power) else None
    if exact is not None:
        return _between(held, exact, exact, dtype, exhibit.ulp)
    bits = min(START_BITS, exhibit.bits)
    while True:
        try:
            found = _between(held, *enclose(term, bits), dtype, exhibit.ulp)
        except ValueError:  # a term without a value
            return None
        if found is not None or bits >= exhibit.bits:
            return found
        bits = min(2 * bits, exhibit.bits)


def _between(
    held: Fraction, lo: Fraction, hi: Fraction, dtype: str, tolerance: int
) -> _Distance | None:
    """The distance of ``held`` from a value in [lo, hi]; None where that is not narrow enough."""
    unit = _unit(lo, dtype)
    if hi is not lo and _unit(hi, dtype) != unit:
        return None
    # The unit is a power of two, so both are integers over a common power of two.
    ends = [abs(held - end) / unit for end in ((lo,) if hi is lo else (lo, hi))]
    near = Fraction(0) if lo <= held <= hi and hi is not lo else min(ends)
    far = max(ends)
    rounded = [_thousandths(d) for d in (near, far)]
    if rounded[0] != rounded[1] or (near > tolerance) != (far > tolerance):
        return None
    return _Distance(rounded[0], near > tolerance)


def _unit(value: Fraction, dtype: str) -> Fraction:
    """Spacing of ``dtype`` in the binade of ``value``; the smallest one at 0 and below normals."""
    precision, lowest = _GRIDS[dtype]
    exponent = max(_binade(value), lowest) if value else lowest
    shift = exponent - precision + 1
    return Fraction(1 << shift) if shift >= 0 else Fraction(1, 1 << -shift)


def _binade(value: Fraction) -> int:
    """e with ``2**e <= |value| < 2**(e + 1)``."""
    top, bottom = abs(value.numerator), value.denominator
    e = top.bit_length() - bottom.bit_length()
    reached = top >= bottom << e if e >= 0 else top << -e >= bottom
    return e if reached else e - 1


def _thousandths(distance: Fraction) -> int:
    """Rounded half up."""
    return (2000 * distance.numerator + distance.denominator) // (2 * distance.denominator)
