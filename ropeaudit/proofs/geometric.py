"""Whether neighbouring channels have one ratio, exactly: a geometric sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ropeaudit.exact import encoding
from ropeaudit.exact.enclosure import enclose
from ropeaudit.exact.terms import Power, Term
from ropeaudit.proofs._separation import decide
from ropeaudit.proofs._shapes import Kind, Shapes, decided, shapes, too_wide, without_form
from ropeaudit.proofs.interface import Claim, Exhibit, Status

CLAIM = "geometric"
_METHODS = {
    Kind.ALGEBRAIC: (
        "Unique factorisation: two ratios are equal exactly when their normal forms are."
    ),
    Kind.PI: (
        "Products of neighbours are compared as vectors over classes of radicals and powers of pi "
        "(Besicovitch 1940, Lindemann 1882)."
    ),
    Kind.LOGARITHMS: (
        "Ratios are equal by their normal forms or different by disjoint enclosures."
    ),
}


def prove(exhibit: Exhibit) -> Claim:
    """Follows the channels of each group that turn: theta_k over its next neighbour."""
    found = shapes(exhibit)
    if found is None:
        return without_form(exhibit, CLAIM)
    method = _METHODS[found.kind]
    steps = [(group, _same(found, group, exhibit.bits)) for group in found.groups]
    failures = (_failure(found, group, same) for group, same in steps)
    first = next((k for k in failures if k is not None), None)
    if first is not None:
        runs = [run for group, same in steps for run in _runs(group, same)]
        evidence: dict[str, Any] = {"ratio": None, "equal_runs": runs, "first": first}
        return decided(exhibit, CLAIM, Status.REFUTED, method, evidence)
    if any(equal is None for _, same in steps for equal in same):
        return too_wide(exhibit, CLAIM)
    ratios = [_ratio([found.terms[k] for k in group[:2]]) for group in found.groups]
    ratio = ratios[0] if len(ratios) == 1 else ratios or None
    return decided(exhibit, CLAIM, Status.PROVED, method, {"ratio": ratio})


def _same(found: Shapes, group: Sequence[int], limit: int) -> list[bool | None]:
    """For each inner channel, whether its two ratios are equal; None where nothing tells."""
    powers = {k: found.terms[k] for k in group if isinstance(found.terms[k], Power)}
    normal = {
        k: found.radicals.normal(_quotient(a, b))
        for k, j in pairwise(group)
        if isinstance(a := powers.get(k), Power) and isinstance(b := powers.get(j), Power)
        if b.coefficient
    }
    same: list[bool | None] = []
    for x, y, z in zip(group, group[1:], group[2:], strict=False):
        known = [found.vectors[k] for k in (x, y, z) if k in found.vectors]
        if not all(known):
            same.append(False)
        elif x in normal and y in normal:
            same.append(normal[x] == normal[y])
        elif len(known) == 3:
            product = found.radicals.product
            same.append(product(known[0], known[2]) == product(known[1], known[1]))
        else:
            same.append(decide(_different([found.terms[k] for k in (x, y, z)]), limit))
    return same


def _different(terms: Sequence[Term]) -> Callable[[int], bool | None]:
    """Asks whether enclosures show x z != y**2: False where they do, never that it is equal."""

    def question(bits: int) -> bool | None:
        (a, b), (c, d), (e, f) = (enclose(term, bits) for term in terms)
        outer = [p * q for p in (a, b) for q in (e, f)]
        inner = [p * q for p in (c, d) for q in (c, d)]
        return False if max(outer) < min(inner) or max(inner) < min(outer) else None

    return question


def _failure(found: Shapes, group: Sequence[int], same: Sequence[bool | None]) -> int | None:
    """The first channel whose ratio to the next is none, or is not the one before."""
    for k, j in pairwise(group):
        if found.vectors.get(k) == {} or found.vectors.get(j) == {}:
            return k
    return next((k for k, equal in zip(group[1:], same, strict=False) if equal is False), None)


def _runs(group: Sequence[int], same: Sequence[bool | None]) -> list[list[int]]:
    """Longest runs of at least three channels with one ratio inside, as [first, last]."""
    found: list[list[int]] = []
    for i, equal in enumerate(same):
        if equal and i and same[i - 1]:
            found[-1][1] = group[i + 2]
        elif equal:
            found.append([group[i], group[i + 2]])
    return found


def _ratio(pair: Sequence[Term]) -> dict[str, Any] | None:
    """The quotient of the first two terms as JSON; None unless both are Powers."""
    if len(pair) < 2 or not isinstance(pair[0], Power) or not isinstance(pair[1], Power):
        return None
    return encoding.power(_quotient(pair[0], pair[1]))


def _quotient(a: Power, b: Power) -> Power:
    """a/b, the radicands of ``a`` first; b is not zero."""
    exponents: dict[Fraction, Fraction] = {}
    for sign, power in ((1, a), (-1, b)):
        for radicand, exponent in power.factors:
            exponents[radicand] = exponents.get(radicand, Fraction(0)) + sign * exponent
    factors = tuple((r, e) for r, e in exponents.items() if e)
    return Power(a.coefficient / b.coefficient, factors)
