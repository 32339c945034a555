"""The claim ``form``: how far each stored value is from its closed form, in ulp."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ropeaudit.verifier import numbers, terms
from ropeaudit.verifier.formats import Value, binade, spacing, unit
from ropeaudit.verifier.numbers import Enclosure
from ropeaudit.verifier.schedules import Schedule
from ropeaudit.verifier.terms import Term
from ropeaudit.verifier.vectors import Space

Distance = float | str


def form(schedule: Schedule) -> tuple[str, dict[str, Any]]:
    """Status and evidence. Raises Undecided, also by way of a missing form."""
    assert schedule.terms is not None
    found = [
        distance(value, term, schedule)
        for value, term in zip(schedule.table, schedule.terms, strict=True)
    ]
    distances = [d for d, _ in found]
    worst = max(range(len(found)), key=lambda k: (_size(distances[k]), -k))
    evidence: dict[str, Any] = {
        **schedule.stated,
        "max_ulp": distances[worst],
        "channel": worst,
        "tolerance": schedule.tolerance,
        "dtype": schedule.dtype,
        "ulp": distances,
    }
    if all(within for _, within in found):
        return "proved", evidence
    evidence["witness"] = {
        "channel": worst,
        "stored": str(schedule.table[worst]),
        "closed_form": terms.spelled(schedule.terms[worst]),
        "ulp": distances[worst],
    }
    return "refuted", evidence


def _size(distance: Distance) -> float:
    return math.inf if isinstance(distance, str) else distance


def distance(value: Value, term: Term, schedule: Schedule) -> tuple[Distance, bool]:
    """The distance rounded half up to three decimals, and whether it is within the tolerance."""
    dtype, tolerance = schedule.dtype, schedule.tolerance
    if isinstance(value, str):
        return "inf", False
    rational = _rational(term, schedule.space)
    if rational is not None:
        ulps = abs(value - rational) / unit(rational, dtype)
        return _written(math.floor(1000 * ulps + Fraction(1, 2))), ulps <= tolerance
    for bits in numbers.precisions(schedule.bits):
        ends = _ulps(value, term, dtype, bits)
        if ends is None:
            continue
        lo, hi = (math.floor(1000 * end + Fraction(1, 2)) for end in ends)
        within = [end <= tolerance for end in ends]
        if lo == hi and within[0] == within[1]:
            return _written(lo), within[0]
    raise AssertionError


def _rational(term: Term, space: Space) -> Fraction | None:
    """The term's value where it is rational, which enclosures would never decide."""
    vector = space.vector(term)
    if vector is None or any(axis != space.trivial for axis in vector):
        return None
    return vector.get(space.trivial, Fraction(0))


def _ulps(value: Fraction, term: Term, dtype: str, bits: int) -> Enclosure | None:
    """The distance in ulp; None while the enclosure of the term holds a power of two."""
    try:
        lo, hi = terms.enclosure(term, bits)
    except numbers.Undecided:
        return None
    if lo <= 0 or binade(lo) != binade(hi):
        return None
    step = spacing(binade(lo), dtype)
    ends = sorted((abs(value - lo), abs(value - hi)))
    least = Fraction(0) if lo <= value <= hi else ends[0]
    return least / step, ends[1] / step


def _written(thousandths: int) -> Distance:
    """Thousandths as the float64 nearest to them, ``"inf"`` beyond its range."""
    try:
        return thousandths / 1000
    except OverflowError:
        return "inf"
