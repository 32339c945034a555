"""Dynamic NTK: the base grows with the sequence once it exceeds the declared length.

    base' = base * (s * L / L0 - (s - 1)) ** (d / (d - 2)),  L >= L0 = max_position_embeddings

A config with ``alpha`` (Hunyuan) is not dynamic at all: base' = base * alpha ** (d / (d - 2)) at
every length; that law is ``ntk_alpha``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ropeaudit.errors import InvalidValue
from ropeaudit.schedule.families.interface import Built, Inputs, geometric

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("dynamic",)
REQUIRED = frozenset({"factor"})
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    factor = inputs.positive("factor")
    declared = inputs.max_position_embeddings
    if not declared or declared <= 0:
        raise InvalidValue(
            "dynamic scaling needs max_position_embeddings, which is missing; add it",
            where="max_position_embeddings",
        )
    base = grown_base(inputs.rope_theta, inputs.rotary_dim, factor, declared, inputs.length)
    return Built(
        tuple(geometric(base, inputs.rotary_dim)),
        parameters={"factor": factor, "effective_rope_theta": base},
    )


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from fractions import Fraction

    from ropeaudit.schedule.families import _exact

    factor, dim = inputs.positive("factor"), inputs.rotary_dim
    declared = inputs.max_position_embeddings
    if not declared or declared <= 0:
        raise InvalidValue(
            "dynamic scaling needs max_position_embeddings, which is missing; add it",
            where="max_position_embeddings",
        )
    _exact.require_two_radicals(dim)
    reached = max(Fraction(inputs.length or declared), declared)
    growth = factor * reached / declared - (factor - 1)
    if growth <= 0:
        raise InvalidValue("dynamic scaling gives a negative base; correct it", where="factor")
    terms = [
        _exact.power(Fraction(1), *theta.factors, (growth, Fraction(-2 * k, dim - 2)))
        for k, theta in enumerate(_exact.plain(inputs))
    ]
    return _exact.closed(
        "dynamic",
        inputs,
        terms,
        factor=factor,
        max_position_embeddings=declared,
        length=math.floor(reached),
    )


def grown_base(base: float, dim: int, factor: float, declared: int, length: int | None) -> float:
    """The base at ``length`` (at least ``declared``); raises InvalidValue for dim <= 2."""
    if dim <= 2:
        raise InvalidValue(
            "dynamic scaling needs a rotary width above 2; correct it", where="rotary_dim"
        )
    reached = max(length or declared, declared)
    growth = factor * reached / declared - (factor - 1)
    if growth <= 0:
        raise InvalidValue(
            f"dynamic scaling by {factor} gives a negative base; correct it", where="factor"
        )
    try:
        return float(base * growth ** (dim / (dim - 2)))
    except OverflowError:
        raise InvalidValue(
            "dynamic scaling overflows the base; lower its factor", where="factor"
        ) from None
