"""Whether all channels of the closed form differ, within each group of channels.

Where all terms are powers of one base b != 1 with different exponents this is no more than that
x -> b**x is strictly monotone; normal forms decide it for every other table as well.
"""

from __future__ import annotations

from ropeaudit.exact import encoding
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
    if found.kind is Kind.LOGARITHMS and not all(
        separated(found, group, exhibit.bits) for group in found.groups
    ):
        return too_wide(exhibit, CLAIM)
    return decided(exhibit, CLAIM, Status.PROVED, method, {"channels": len(found.terms)})
