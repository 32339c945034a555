"""Closed forms made by a law and evaluated by mpmath, which shares no code with this package."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath

from ropeaudit.exact.inputs import ExactInputs
from ropeaudit.exact.terms import ClosedForm, Cutoff, PiBlend, Power, Term
from ropeaudit.schedule.families import family

DIGITS = 60
mp: Any = mpmath.MPContext()
mp.dps = DIGITS


def number(value: Fraction | float) -> Any:
    exact = Fraction(value)
    return mp.mpf(exact.numerator) / exact.denominator


def value(term: Term) -> Any:
    """The term's value to about :data:`DIGITS` digits."""
    if isinstance(term, Power):
        out = number(term.coefficient)
        for radicand, exponent in term.factors:
            out *= number(radicand) ** number(exponent)
        return out
    theta = value(term.theta)
    if isinstance(term, PiBlend):
        return theta * (number(term.constant) + number(term.slope) * theta / mp.pi)
    low, high = _end(term.low), _end(term.high)
    rise = (term.channel - low) / (high - low)
    assert 0 < rise < 1, "a ramp is only stated between its ends"
    return theta * (1 - rise + rise / number(term.factor))


def _end(end: Fraction | Cutoff) -> Any:
    if isinstance(end, Fraction):
        return number(end)
    turns = mp.log(number(end.turns) / (2 * mp.pi))
    return end.dim * turns / (2 * mp.log(number(end.base)))


def close(a: Any, b: Any, digits: int = 45) -> bool:
    """Whether two values agree to ``digits`` significant digits."""
    return bool(abs(a - b) <= mp.mpf(10) ** -digits * max(abs(a), abs(b)))


def form(law: str, base: Fraction | int, dim: int, /, **extra: Any) -> ClosedForm:
    """The closed form that a law states for a base, a width and a scaling dict."""
    known = ("head_dim", "partial_rotary_factor", "max_position_embeddings", "length")
    given = {k: extra.pop(k) for k in known if k in extra}
    scaling = {k: Fraction(v) if type(v) in (int, float) else v for k, v in extra.items()}
    module = family(law)
    assert module is not None
    return module.closed_form(
        ExactInputs(
            rope_theta=Fraction(base), rotary_dim=dim, **{"head_dim": dim, **given}, scaling=scaling
        )
    )
