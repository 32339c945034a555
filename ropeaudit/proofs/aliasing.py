"""Whether two channels look the same at all integer positions: equal modulo 2 pi, up to sign.

cos(m x) = cos(m y) for all integers m exactly when x - y or x + y is a multiple of 2 pi.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, islice

from ropeaudit.exact.enclosure import enclose, pi
from ropeaudit.exact.radicals import Vector
from ropeaudit.proofs._separation import decide, separated
from ropeaudit.proofs._shapes import (
    SAME_FORM,
    Kind,
    Shapes,
    decided,
    shapes,
    too_wide,
    without_form,
)
from ropeaudit.proofs.interface import Claim, Exhibit, Status

CLAIM = "aliasing"
MAX_PAIRS = 1 << 16
"""Pairs of equal channels that a certificate lists, and pairs that are compared one by one."""
_BY_PI = (
    "A sum or difference of channels is no multiple of 2 pi but 0, because pi is transcendental "
    "(Lindemann 1882); then it is a question of equal channels."
)
_METHODS = {
    Kind.ALGEBRAIC: _BY_PI,
    Kind.PI: _BY_PI,
    Kind.LOGARITHMS: (
        "Enclosures of the sums and differences of channels hold no multiple of 2 pi."
    ),
}


def prove(exhibit: Exhibit) -> Claim:
    """Pairs by vectors, where pi**1 has no part in any channel; ramps by enclosures."""
    found = shapes(exhibit)
    if found is None:
        return without_form(exhibit, CLAIM)
    method = _METHODS[found.kind]
    pairs = [list(pair) for pair in islice(_pairs(found), MAX_PAIRS)]
    if pairs:
        if found.kind is Kind.LOGARITHMS:
            method = SAME_FORM
        evidence = {"pairs": pairs}
        return decided(exhibit, CLAIM, Status.REFUTED, method, evidence)
    if found.kind is Kind.LOGARITHMS and not all(
        _apart(found, group, exhibit.bits) for group in found.groups
    ):
        return too_wide(exhibit, CLAIM)
    return decided(exhibit, CLAIM, Status.PROVED, method, {"channels": len(found.terms)})


def _pairs(found: Shapes) -> Iterator[tuple[int, int]]:
    """Channels that are equal, or each other's negative (a blend may be negative), ascending."""
    alike: dict[int, list[Sequence[int]]] = {}
    for group in found.groups:
        same: dict[object, list[int]] = {}
        for k in group:
            same.setdefault(found.keys[k], []).append(k)
        for k in group:
            sets = same[found.keys[k]], same.get(_opposite(found.vectors.get(k)), [])
            alike.setdefault(k, []).extend(members for members in sets if members != [k])
    for k in sorted(alike):
        yield from ((k, j) for j in sorted({j for members in alike[k] for j in members if j > k}))


def _opposite(vector: Vector | None) -> object:
    return frozenset((key, -value) for key, value in vector.items()) if vector else None


def _apart(found: Shapes, group: Sequence[int], limit: int) -> bool:
    """Whether no sum or difference that a ramp takes part in is a multiple of 2 pi."""
    if decide(lambda bits: _slow(found, group, bits), limit):
        # All in (0, pi): sums are below a turn, differences too, and 0 only where two are equal.
        return separated(found, group, limit)
    ramps = sum(1 for k in group if k not in found.vectors)
    if ramps * len(group) > MAX_PAIRS:
        return False
    mixed = (p for p in combinations(group, 2) if not all(k in found.vectors for k in p))
    return all(decide(_between_turns(found, i, j), limit) for i, j in mixed)


def _slow(found: Shapes, group: Sequence[int], bits: int) -> bool:
    half_turn = pi(bits)[0]
    bounds = (enclose(found.terms[k], bits) for k in group)
    return all(lo > 0 and hi < half_turn for lo, hi in bounds)


def _between_turns(found: Shapes, i: int, j: int) -> Callable[[int], bool | None]:
    """Asks whether enclosures keep both x - y and x + y strictly between two multiples of 2 pi."""

    def question(bits: int) -> bool | None:
        (a, b), (c, d) = enclose(found.terms[i], bits), enclose(found.terms[j], bits)
        turns = [2 * end for end in pi(bits)]
        sums = (a + c, b + d), (a - d, b - c)
        return True if all(_inside(lo, hi, turns) for lo, hi in sums) else None

    return question


def _inside(lo: Fraction, hi: Fraction, turns: Sequence[Fraction]) -> bool:
    """Whether n * turn < lo <= hi < (n + 1) * turn for an integer n, whichever the turn is."""
    n = lo // turns[0]
    return max(n * end for end in turns) < lo and hi < min((n + 1) * end for end in turns)
