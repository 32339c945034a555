"""LongRoPE (Ding et al., 2402.13753): each channel divided by its own factor.

Two lists: ``short_factor`` up to the original length, ``long_factor`` beyond. cos and sin are
multiplied by ``attention_factor``, by default ``sqrt(1 + ln(factor) / ln(original))`` with
``factor`` = declared / original where it is not given.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ropeaudit.errors import InvalidValue
from ropeaudit.schedule.families.interface import Built, Inputs, powers, reciprocal
from ropeaudit.schedule.float32 import f32s

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("longrope", "su")
REQUIRED = frozenset({"short_factor", "long_factor", "original_max_position_embeddings"})
OPTIONAL = frozenset({"factor", "attention_factor"})


def build(inputs: Inputs) -> Built:
    original = inputs.positive("original_max_position_embeddings")
    long = inputs.length is not None and inputs.length > original
    factors = inputs.factors("long_factor" if long else "short_factor")
    turns = powers(inputs.rope_theta, inputs.rotary_dim)
    if len(factors) != len(turns):
        name = "long_factor" if long else "short_factor"
        raise InvalidValue(
            f"{name} has {len(factors)} entries, expected rotary_dim/2 = {len(turns)}; correct it",
            where=name,
        )
    # A factor of zero would make an infinite frequency; the table keeps it, RA105 names it.
    table = reciprocal(f32s(f * t for f, t in zip(factors, turns, strict=True)))
    factor = _factor(inputs, original)
    return Built(
        tuple(table),
        attention_scaling=_attention(inputs, factor, original),
        parameters={"factor": factor, "original_max_position_embeddings": original, "long": long},
    )


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from ropeaudit.schedule.families import _exact

    name = "short_factor"
    if inputs.length is not None:
        original = inputs.positive("original_max_position_embeddings")
        name = "long_factor" if inputs.length > original else name
    factors, ladder = inputs.numbers(name), _exact.plain(inputs)
    if len(factors) != len(ladder) or not all(f > 0 for f in factors):
        raise InvalidValue(
            f"{name} is no list of {len(ladder)} numbers above 0; correct it", where=name
        )
    terms = [_exact.times(theta, 1 / f) for f, theta in zip(factors, ladder, strict=True)]
    return _exact.closed("longrope", inputs, terms, factors=factors)


def _factor(inputs: Inputs, original: float) -> float:
    if inputs.scaling.get("factor") is not None:
        return inputs.positive("factor")
    if inputs.max_position_embeddings is None:
        raise InvalidValue(
            "longrope needs factor or max_position_embeddings, and both are missing; add one",
            where="factor",
        )
    return inputs.max_position_embeddings / original


def _attention(inputs: Inputs, factor: float, original: float) -> float:
    if inputs.scaling.get("attention_factor") is not None:
        return inputs.number("attention_factor")
    return attention_of(factor, original)


def attention_of(factor: float, original: float) -> float:
    """``sqrt(1 + ln(factor) / ln(original))``, and 1 where nothing is extended.

    Raises InvalidValue for an original length without a positive logarithm.
    """
    if factor <= 1.0:
        return 1.0
    if not original > 1.0:
        raise InvalidValue(
            "longrope needs an original length above 1; correct it",
            where="original_max_position_embeddings",
        )
    return math.sqrt(1 + math.log(factor) / math.log(original))
