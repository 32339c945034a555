"""Position interpolation: every frequency divided by ``factor`` (Chen et al., 2306.15595)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.schedule.families.interface import Built, Inputs, geometric, scale

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("linear",)
REQUIRED = frozenset({"factor"})
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    factor = inputs.positive("factor")
    table = scale(geometric(inputs.rope_theta, inputs.rotary_dim), factor)
    return Built(tuple(table), parameters={"factor": factor})


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from ropeaudit.schedule.families import _exact

    factor = inputs.positive("factor")
    terms = [_exact.times(theta, 1 / factor) for theta in _exact.plain(inputs)]
    return _exact.closed("linear", inputs, terms, factor=factor)
