"""Axial rotary for images: one ladder over half the head, used once for each of two axes.

    theta_k = base**(-2k/s), s = d // 2

The table holds the ladder once; height and width turn by the same frequencies (Qwen2-VL, Gemma 4,
SAM 2 and most vision towers; transformers ``compute_axial_rope_parameters``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.schedule.families.interface import Built, Inputs, geometric

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("axial",)
REQUIRED: frozenset[str] = frozenset()
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    return Built(tuple(geometric(inputs.rope_theta, inputs.rotary_dim // 2)))


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from ropeaudit.schedule.families import _exact

    terms = _exact.ladder(inputs.rope_theta, inputs.rotary_dim // 2)
    return _exact.closed("axial", inputs, terms)
