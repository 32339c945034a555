"""Axial rotary with one ladder dealt out: even channels turn with the height, odd with the width.

The buffer holds the even channels first, then the odd ones (Pixtral, transformers
``modeling_pixtral.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.schedule.families.interface import Built, Inputs, geometric

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("axial_dealt",)
REQUIRED: frozenset[str] = frozenset()
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    ladder = geometric(inputs.rope_theta, inputs.rotary_dim)
    return Built((*ladder[0::2], *ladder[1::2]))


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from ropeaudit.schedule.families import _exact

    ladder = _exact.plain(inputs)
    return _exact.closed("axial_dealt", inputs, (*ladder[0::2], *ladder[1::2]))
