"""What the algebraic claims share: the channels that turn, their vectors, and which are equal."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from fractions import Fraction
from typing import Any

from ropeaudit.exact.radicals import Radicals, Vector
from ropeaudit.exact.terms import ZERO, Cutoff, PiBlend, Power, Ramp, Term
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.records import record

NOT_NARROW = "The enclosures are not narrow enough to decide."
NO_FORM = "Nothing states a closed form."
SAME_FORM = "Channels with one closed form are equal."


class Kind(IntEnum):
    """What a table's terms are made of; each includes the ones before."""

    ALGEBRAIC = 0
    PI = 1
    LOGARITHMS = 2


_KINDS = {Power: Kind.ALGEBRAIC, PiBlend: Kind.PI, Ramp: Kind.LOGARITHMS}


@record()
class Shapes:
    """The closed form, channel by channel.

    ``groups``: the channels that turn, one tuple for each group of the schedule. ``terms``:
    simplified, by channel. ``vectors``: of every algebraic channel (Power or PiBlend). ``keys``:
    equal for two channels only if their values are; different only if their values are, unless one
    of them is a ramp.
    """

    kind: Kind
    groups: tuple[tuple[int, ...], ...]
    terms: dict[int, Term]
    radicals: Radicals
    vectors: dict[int, Vector]
    keys: dict[int, Any]

    def clusters(self) -> Iterator[list[int]]:
        """Channels of one group with equal keys, those with more than one."""
        for group in self.groups:
            found: dict[Any, list[int]] = {}
            for k in group:
                found.setdefault(self.keys[k], []).append(k)
            yield from (members for members in found.values() if len(members) > 1)


def turning(exhibit: Exhibit) -> tuple[tuple[int, ...], ...]:
    """The channels of each group that turn; groups without any are left out."""
    schedule = exhibit.schedule
    size, static = len(schedule.inv_freq), schedule.static_channels
    turn = (tuple(k for k in g if k < size and k not in static) for g in schedule.groups())
    return tuple(group for group in turn if group)


def shapes(exhibit: Exhibit) -> Shapes | None:
    """The exhibit's shapes, made once; None without a closed form for each channel."""
    if "shapes" not in exhibit.memo:
        exhibit.memo["shapes"] = _shapes(exhibit)
    found: Shapes | None = exhibit.memo["shapes"]
    return found


def _shapes(exhibit: Exhibit) -> Shapes | None:
    form = exhibit.form
    if form is None or _fault(exhibit):
        return None
    groups = turning(exhibit)
    terms = {k: simplified(form.terms[k]) for group in groups for k in group}
    radicals = Radicals(t if isinstance(t, Power) else t.theta for t in terms.values())
    vectors = {k: radicals.vector(t) for k, t in terms.items() if not isinstance(t, Ramp)}
    keys = {k: _key(radicals, t, vectors.get(k)) for k, t in terms.items()}
    kind = max(_KINDS[type(term)] for term in form.terms)
    return Shapes(kind, groups, terms, radicals, vectors, keys)


def _fault(exhibit: Exhibit) -> str | None:
    """Why the exhibit has no closed form to reason about, in one sentence."""
    if exhibit.form is None:
        return exhibit.why_not or NO_FORM
    terms, held = exhibit.form.terms, len(exhibit.schedule.inv_freq)
    if len(terms) != held or not held:
        return f"The closed form states {len(terms)} channels and the table holds {held}."
    powers = (t if isinstance(t, Power) else t.theta for t in terms)
    if any(radicand <= 0 for power in powers for radicand, _ in power.factors):
        return "The closed form has a radicand that is not positive."
    return None


def simplified(term: Term) -> Term:
    """A ramp that is rational after all as a Power, and factors that equal 1 left out."""
    if isinstance(term, Power):
        if not term.coefficient:
            return ZERO
        return Power(term.coefficient, tuple(f for f in term.factors if f[0] != 1 and f[1]))
    if isinstance(term, Ramp):
        share = _share(term)
        if share is None:
            return term
        return simplified(Power(term.theta.coefficient * share, term.theta.factors))
    return term


def _share(term: Ramp) -> Fraction | None:
    """``1 - rise + rise / factor`` where it is rational."""
    if term.factor == 1:
        return Fraction(1)
    if isinstance(term.low, Cutoff) or isinstance(term.high, Cutoff) or term.low == term.high:
        return None
    return 1 + (term.channel - term.low) / (term.high - term.low) * (1 / term.factor - 1)


def _key(radicals: Radicals, term: Term, vector: Vector | None) -> Any:
    if vector is not None:
        return frozenset(vector.items())
    assert isinstance(term, Ramp)
    return radicals.normal(term.theta), term.channel, term.low, term.high, term.factor


def decided(
    exhibit: Exhibit, claim: str, status: Status, method: str, evidence: dict[str, Any]
) -> Claim:
    """The claim about the exhibit's schedule."""
    name = exhibit.schedule.name
    return Claim(claim=claim, schedule=name, status=status, method=method, evidence=evidence)


def without_form(exhibit: Exhibit, claim: str) -> Claim:
    """The claim about a schedule whose closed form nothing states."""
    evidence = {"reason": _fault(exhibit)}
    return decided(exhibit, claim, Status.UNDECIDED, NO_FORM, evidence)


def too_wide(exhibit: Exhibit, claim: str) -> Claim:
    """The claim given up because enclosures were not narrow enough."""
    evidence = {"reason": NOT_NARROW, "bits": exhibit.bits}
    return decided(exhibit, claim, Status.UNDECIDED, NOT_NARROW, evidence)
