"""NTK-alpha (Hunyuan, transformers ``compute_ntk_alpha_rope_parameters``): a fixed larger base.

    base' = base * alpha ** (d / (d - 2))

The files spell it ``type: dynamic`` with an ``alpha``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.errors import InvalidValue
from ropeaudit.schedule.families.interface import Built, Inputs, geometric

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("ntk_alpha",)
REQUIRED = frozenset({"alpha"})
OPTIONAL = frozenset({"factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"})


def build(inputs: Inputs) -> Built:
    alpha = inputs.positive("alpha")
    dim = inputs.rotary_dim
    if dim <= 2:
        raise InvalidValue(
            "NTK scaling needs a rotary width above 2; correct it", where="rotary_dim"
        )
    try:
        base = inputs.rope_theta * alpha ** (dim / (dim - 2))
    except OverflowError:
        raise InvalidValue("alpha overflows the base; lower it", where="alpha") from None
    return Built(
        tuple(geometric(base, dim)), parameters={"alpha": alpha, "effective_rope_theta": base}
    )


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from fractions import Fraction

    from ropeaudit.schedule.families import _exact

    alpha, dim = inputs.positive("alpha"), inputs.rotary_dim
    _exact.require_two_radicals(dim)
    terms = [
        _exact.power(Fraction(1), *theta.factors, (alpha, Fraction(-2 * k, dim - 2)))
        for k, theta in enumerate(_exact.plain(inputs))
    ]
    return _exact.closed("ntk_alpha", inputs, terms, alpha=alpha)
