"""What closed forms of several laws are made of; loaded only where somebody asks for one."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ropeaudit.errors import InvalidValue
from ropeaudit.exact.enclosure import MOST_BITS, affordable, enclose, pi
from ropeaudit.exact.inputs import ExactInputs
from ropeaudit.exact.terms import ClosedForm, PiBlend, Power, Term
from ropeaudit.schedule.families.interface import check_width

Parameter = Fraction | int | bool | str | tuple[Fraction, ...] | None
PRECISIONS = (64, 128, 256, 512, 1024, MOST_BITS)
"""Bits of the enclosures that are tried in turn; a real config is decided by the first."""


def power(coefficient: Fraction, *factors: tuple[Fraction, Fraction]) -> Power:
    """A Power as certificates spell it: factors that equal 1 are left out."""
    kept = tuple((r, e) for r, e in factors if e and r != 1)
    return Power(coefficient, kept if coefficient else ())


def times(term: Power, coefficient: Fraction) -> Power:
    """``term * coefficient``."""
    return power(term.coefficient * coefficient, *term.factors)


def ladder(base: Fraction, dim: int, count: int | None = None) -> list[Power]:
    """``base ** (-2k/dim)``, by default for the (dim + 1) // 2 channels of a table.

    Raises InvalidValue for a base that is not positive or a width that is none.
    """
    check_width(dim)
    if base <= 0:
        raise InvalidValue(
            f"rope_theta is {float(base)}, expected a positive number; correct it",
            where="rope_theta",
        )
    channels = (dim + 1) // 2 if count is None else count
    return [power(Fraction(1), (base, Fraction(-2 * k, dim))) for k in range(channels)]


def plain(inputs: ExactInputs) -> list[Power]:
    """The unscaled table of ``inputs``."""
    return ladder(inputs.rope_theta, inputs.rotary_dim)


def closed(
    law: str, inputs: ExactInputs, terms: Iterable[Term], **parameters: Parameter
) -> ClosedForm:
    """The form with the parameters that every law has and its own."""
    return ClosedForm(
        law=law,
        parameters={
            "rope_theta": inputs.rope_theta,
            "rotary_dim": inputs.rotary_dim,
            **parameters,
        },
        terms=tuple(terms),
    )


def require_two_radicals(dim: int) -> None:
    """Raises InvalidValue for a width at which ``d / (d - 2)`` does not exist."""
    if dim <= 2:
        raise InvalidValue(
            "NTK scaling needs a rotary width above 2; correct it", where="rotary_dim"
        )


def undecided(what: str, where: str) -> InvalidValue:
    return InvalidValue(f"{what} is not decided by {PRECISIONS[-1]} bits", where=where)


def turns_below(theta: Power, length: Fraction, bound: Fraction, channels: int) -> bool:
    """Whether ``theta * length / (2 pi) < bound``; never equal, since pi is transcendental.

    ``channels``: how many of the table this is asked of.
    """
    for bits in PRECISIONS:
        if bits > affordable(channels):
            break
        lo, hi = enclose(theta, bits)
        pi_lo, pi_hi = pi(bits)
        if hi * length < 2 * bound * pi_lo:
            return True
        if lo * length > 2 * bound * pi_hi:
            return False
    raise undecided("a wavelength", "original_max_position_embeddings")


def blend(theta: Power, constant: Fraction, slope: Fraction) -> Term:
    """``theta * (constant + slope * theta / pi)``; without a slope a plain Power."""
    return PiBlend(theta, constant, slope) if slope else times(theta, constant)
