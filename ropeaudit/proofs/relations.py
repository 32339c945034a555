"""Which ratios between channels are rational, and how many dimensions the channels span."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from ropeaudit.exact.radicals import Vector, rank, ratio
from ropeaudit.proofs._shapes import Kind, decided, shapes, without_form
from ropeaudit.proofs.interface import Claim, Exhibit, Status

CLAIM = "relations"
_METHODS = {
    Kind.ALGEBRAIC: (
        "Unique factorisation decides the ratios; radicals of different classes are linearly "
        "independent over Q (Besicovitch 1940), and of pi, which is transcendental (Lindemann "
        "1882)."
    ),
    Kind.PI: (
        "Vectors over classes of radicals and powers of pi: linear independence of radicals "
        "(Besicovitch 1940) and the transcendence of pi (Lindemann 1882)."
    ),
}
_OPEN = "No theorem used here decides rational relations between logarithms."


def prove(exhibit: Exhibit) -> Claim:
    """All rational ratios, by class; the span over Q; the torus that integer positions fill.

    The phases at integer positions are dense in a union of tori whose dimension is that of
    span{theta, 2 pi}, less one (Kronecker).
    """
    found = shapes(exhibit)
    if found is None:
        return without_form(exhibit, CLAIM)
    if found.kind is Kind.LOGARITHMS:
        return decided(exhibit, CLAIM, Status.UNDECIDED, _OPEN, {"reason": _OPEN})
    vectors = {k: found.vectors[k] for k in sorted(found.vectors)}
    classes = _classes(vectors)
    full_turn: Vector = {(found.radicals.one, 1): Fraction(2)}
    evidence = {
        "q_span_dimension": rank(vectors.values()),
        "torus_dimension": rank([full_turn, *vectors.values()]) - 1,
        "classes": classes,
        "generators": [_generator(vectors, k, j) for c in classes for k, j in pairwise(c)],
    }
    return decided(exhibit, CLAIM, Status.PROVED, _METHODS[found.kind], evidence)


def _classes(vectors: dict[int, Vector]) -> list[list[int]]:
    """Channels with rational ratios, those with more than one, by channel."""
    by_ray: dict[Any, list[int]] = {}
    for k, vector in vectors.items():
        if vector:
            first = vector[min(vector)]
            ray = frozenset((key, value / first) for key, value in vector.items())
            by_ray.setdefault(ray, []).append(k)
    return [members for members in by_ray.values() if len(members) > 1]


def _generator(vectors: dict[int, Vector], k: int, j: int) -> dict[str, Any]:
    quotient = ratio(vectors[k], vectors[j])
    assert quotient is not None
    return {"k": k, "j": j, "ratio": f"{quotient.numerator}/{quotient.denominator}"}
