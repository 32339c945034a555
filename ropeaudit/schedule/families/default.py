"""Plain RoPE: ``theta_k = base**(-2k/d)`` (Su et al., 2104.09864, eq. 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.schedule.families.interface import Built, Inputs, geometric

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("default",)
REQUIRED: frozenset[str] = frozenset()
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    return Built(tuple(geometric(inputs.rope_theta, inputs.rotary_dim)))


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from ropeaudit.schedule.families import _exact

    return _exact.closed("default", inputs, _exact.plain(inputs))
