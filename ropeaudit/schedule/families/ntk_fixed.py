"""Fixed NTK (GTE embedding models): a larger base and a smaller step, at every length.

    theta_k = (base * s) ** (-2k/d) / s ** (2/d)

which keeps channel 0 near 1 and divides the slowest channel by ``s``. The files spell it
``type: ntk``, a name that other models use for other laws, so only model types known to mean this
one are read by it. Sources: Su, kexue.fm/archives/9706; vLLM
``rotary_embedding/ntk_scaling_rope.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.errors import InvalidValue
from ropeaudit.schedule.families.interface import Built, Inputs, geometric, scale

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("ntk_fixed",)
REQUIRED = frozenset({"factor"})
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    factor = inputs.positive("factor")
    dim = inputs.rotary_dim
    base = inputs.rope_theta * factor
    if not 0 < base < float("inf"):
        raise InvalidValue("the NTK factor overflows the base; lower it", where="factor")
    table = scale(geometric(base, dim), factor ** (2 / dim))
    return Built(tuple(table), parameters={"factor": factor, "effective_rope_theta": base})


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from fractions import Fraction

    from ropeaudit.schedule.families import _exact

    factor, dim = inputs.positive("factor"), inputs.rotary_dim
    terms = [
        _exact.power(Fraction(1), *theta.factors, (factor, Fraction(-2, dim)))
        for theta in _exact.ladder(inputs.rope_theta * factor, dim)
    ]
    return _exact.closed("ntk_fixed", inputs, terms, factor=factor)
