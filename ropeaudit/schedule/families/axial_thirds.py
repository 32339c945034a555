"""Axial rotary over time, height and width: one ladder over a third of the head, used three times.

    theta_k = base**(-2k/s), s = 2 * (d // 3 // 2)

(MiniMax-M3's tower, transformers ``modeling_minimax_m3_vl.py``.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.schedule.families.interface import Built, Inputs, geometric

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("axial_thirds",)
REQUIRED: frozenset[str] = frozenset()
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    return Built(tuple(geometric(inputs.rope_theta, 2 * (inputs.rotary_dim // 3 // 2))))


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from ropeaudit.schedule.families import _exact

    terms = _exact.ladder(inputs.rope_theta, 2 * (inputs.rotary_dim // 3 // 2))
    return _exact.closed("axial_thirds", inputs, terms)
