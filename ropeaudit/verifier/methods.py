"""The sentences that a claim's ``method`` may be; the same as in docs/certificates.md."""

from __future__ import annotations

NO_FORM = "Nothing states a closed form."
NOT_NARROW = "The enclosures are not narrow enough to decide."
NO_THEOREM = "No theorem used here decides rational relations between logarithms."
NO_PARAMETERS = "No parameters that were tried reproduce the table within the tolerance."
ROUNDED = "The table's values are rounded to nearest even and compared."
PSLQ = "Integer relations that the stored floats nearly satisfy (PSLQ)."
PROVES_NOTHING = "A relation between floats proves nothing."
SAME_FORM = "Channels with one closed form are equal."
MONOTONE = (
    "Strict monotonicity: taken by size, from each channel to the next a coefficient or a power "
    "rises and none falls."
)
NO_RISE = (
    "With a base above 1 and, in yarn and llama3, a factor of at least 1, the frequencies of these "
    "laws never rise, and none is negative."
)

ALGEBRAIC, PI, LOGARITHMS = "algebraic", "pi", "logarithms"
"""What a table's terms are made of; each may hold the ones before."""

_FORM = (
    "Each stored value is compared with an enclosure of its closed form, narrow enough to decide."
)
_BY_PI = (
    "A sum or difference of channels is no multiple of 2 pi but 0, because pi is transcendental "
    "(Lindemann 1882); then it is a question of equal channels."
)
_RECOVERY = (
    "The table is computed again from these parameters in the engine's own order of float32 "
    "operations."
)
_METHODS = {
    ("form", ALGEBRAIC): _FORM,
    ("form", PI): _FORM,
    ("form", LOGARITHMS): _FORM,
    ("distinct", ALGEBRAIC): (
        "Unique factorisation: two channels are equal exactly when their normal forms are."
    ),
    ("distinct", PI): (
        "Unique factorisation, linear independence of radicals (Besicovitch 1940) and the "
        "transcendence of pi (Lindemann 1882): two channels are equal exactly when their vectors "
        "are."
    ),
    ("distinct", LOGARITHMS): "Enclosures of the channels are disjoint.",
    ("relations", ALGEBRAIC): (
        "Unique factorisation decides the ratios; radicals of different classes are linearly "
        "independent over Q (Besicovitch 1940), and of pi, which is transcendental (Lindemann "
        "1882)."
    ),
    ("relations", PI): (
        "Vectors over classes of radicals and powers of pi: linear independence of radicals "
        "(Besicovitch 1940) and the transcendence of pi (Lindemann 1882)."
    ),
    ("geometric", ALGEBRAIC): (
        "Unique factorisation: two ratios are equal exactly when their normal forms are."
    ),
    ("geometric", PI): (
        "Products of neighbours are compared as vectors over classes of radicals and powers of pi "
        "(Besicovitch 1940, Lindemann 1882)."
    ),
    ("geometric", LOGARITHMS): (
        "Ratios are equal by their normal forms or different by disjoint enclosures."
    ),
    ("aliasing", ALGEBRAIC): _BY_PI,
    ("aliasing", PI): _BY_PI,
    ("aliasing", LOGARITHMS): (
        "Enclosures of the sums and differences of channels hold no multiple of 2 pi."
    ),
}


def method(claim: str, kind: str, status: str) -> str:
    """The sentence of a claim about a closed form that is proved or refuted."""
    if kind == LOGARITHMS and status == "refuted" and claim in ("distinct", "aliasing"):
        return SAME_FORM
    return _METHODS[claim, kind]


def about_table(claim: str, status: str) -> str:
    """The sentence of a claim that needs no closed form."""
    if claim.startswith("distinct:"):
        return ROUNDED
    if claim == "candidates":
        return PSLQ
    return {"proved": _RECOVERY, "refuted": NO_RISE}.get(status, NO_PARAMETERS)
