"""Whether all channels of the closed form differ, within each group of channels.

For b > 0 other than 1, x -> b**x is strictly monotone. Where the channels, taken by size, have
coefficients and powers that rise or stay, that is all it takes: most tables are such chains. Normal
forms decide about every other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from ropeaudit.exact import encoding
from ropeaudit.exact.terms import Power, Term
from ropeaudit.proofs._separation import separated
from ropeaudit.proofs._shapes import (
    SAME_FORM,
    Kind,
    decided,
    shapes,
    too_wide,
    without_form,
)
from ropeaudit.proofs.interface import Claim, Exhibit, Status

CLAIM = "distinct"
_MONOTONE = (
    "Strict monotonicity: taken by size, from each channel to the next a coefficient or a power "
    "rises and none falls."
)
_METHODS = {
    Kind.ALGEBRAIC: (
        "Unique factorisation: two channels are equal exactly when their normal forms are."
    ),
    Kind.PI: (
        "Unique factorisation, linear independence of radicals (Besicovitch 1940) and the "
        "transcendence of pi (Lindemann 1882): two channels are equal exactly when their vectors "
        "are."
    ),
    Kind.LOGARITHMS: "Enclosures of the channels are disjoint.",
}


def prove(exhibit: Exhibit) -> Claim:
    """Equal terms are found by normal forms, ramps kept apart by enclosures."""
    found = shapes(exhibit)
    if found is None:
        return without_form(exhibit, CLAIM)
    method = _METHODS[found.kind]
    duplicates = sorted(found.clusters(), key=lambda members: (-len(members), members))
    if duplicates:
        if found.kind is Kind.LOGARITHMS:
            method = SAME_FORM
        assert exhibit.form is not None
        stated = exhibit.form.terms
        terms = [[encoding.term(stated[k]) for k in members] for members in duplicates]
        evidence = {"duplicates": duplicates, "terms": terms}
        return decided(exhibit, CLAIM, Status.REFUTED, method, evidence)
    if all(_is_chain([found.terms[k] for k in group]) for group in found.groups):
        method = _MONOTONE
    elif found.kind is Kind.LOGARITHMS and not all(
        separated(found, group, exhibit.bits) for group in found.groups
    ):
        return too_wide(exhibit, CLAIM)
    return decided(exhibit, CLAIM, Status.PROVED, method, {"channels": len(found.terms)})


def _is_chain(terms: Sequence[Term]) -> bool:
    """Whether the powers, in one order, have coefficients and factors that rise or stay.

    Both ends of each step differ in one of them at least, so in the product.
    """
    if not all(isinstance(term, Power) for term in terms):
        return False
    powers = [term for term in terms if isinstance(term, Power)]
    radicands = sorted({r for p in powers for r, _ in p.factors})
    sizes = sorted((p.coefficient, *_sizes(p, radicands)) for p in powers)
    return all(
        a != b and all(x <= y for x, y in zip(a, b, strict=True)) for a, b in pairwise(sizes)
    )


def _sizes(power: Power, radicands: Sequence[Fraction]) -> list[Fraction]:
    """Exponents, their sign turned for a radicand below 1: the larger, the larger its power."""
    return [
        sum((e if r > 1 else -e for r, e in power.factors if r == radicand), Fraction(0))
        for radicand in radicands
    ]
