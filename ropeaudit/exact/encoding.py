"""Closed forms as a certificate writes them: JSON in which every exact number is text.

The format is docs/certificates.md. Nothing here rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from ropeaudit.exact.terms import ClosedForm, Cutoff, PiBlend, Power, Term

_WORDS = {math.inf: "inf", -math.inf: "-inf"}


def number(value: Fraction | int) -> str:
    """``1000000`` or ``-1/64``: lowest terms, the denominator left out when it is 1."""
    return str(Fraction(value))


def value(held: float) -> str:
    """A value of a table, exactly as the float is; ``nan``, ``inf`` and ``-inf`` as words."""
    if held != held:
        return "nan"
    return _WORDS.get(held) or str(Fraction(held))


def table(values: Iterable[float]) -> list[str]:
    """All values of a table, channel by channel."""
    return [value(v) for v in values]


def term(shape: Term) -> dict[str, Any]:
    """A term by the keys of its shape."""
    if isinstance(shape, Power):
        return power(shape)
    if isinstance(shape, PiBlend):
        return {
            "theta": power(shape.theta),
            "constant": number(shape.constant),
            "slope": number(shape.slope),
        }
    return {
        "theta": power(shape.theta),
        "channel": shape.channel,
        "low": end(shape.low),
        "high": end(shape.high),
        "factor": number(shape.factor),
    }


def power(shape: Power) -> dict[str, Any]:
    """``coefficient`` and ``factors``; what equals 1 is left out, and zero has no factors."""
    factors = [
        [number(radicand), number(exponent)]
        for radicand, exponent in shape.factors
        if shape.coefficient and exponent and radicand != 1
    ]
    return {"coefficient": number(shape.coefficient), "factors": factors}


def read_power(written: dict[str, Any]) -> Power:
    """The Power that :func:`power` wrote."""
    return Power(
        Fraction(written["coefficient"]),
        tuple((Fraction(r), Fraction(e)) for r, e in written["factors"]),
    )


def end(shape: Fraction | Cutoff) -> str | dict[str, Any]:
    """Where yarn's ramp starts or ends."""
    if isinstance(shape, Cutoff):
        return {"dim": shape.dim, "turns": number(shape.turns), "base": number(shape.base)}
    return number(shape)


def parameters(form: ClosedForm) -> dict[str, Any]:
    """The law's inputs: Fractions as text, counts, flags and words as they are."""
    return {name: _parameter(given) for name, given in form.parameters.items()}


def _parameter(given: Any) -> Any:
    if isinstance(given, Fraction):
        return number(given)
    if isinstance(given, tuple | list):
        return [_parameter(item) for item in given]
    return given
