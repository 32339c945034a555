"""Proportional RoPE (Gemma 4): the exponent runs over the whole head, and only the first
``partial_rotary_factor`` of the channels turn; the others are exactly zero by design.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ropeaudit.schedule.families.interface import (
    Built,
    Inputs,
    check_width,
    powers,
    reciprocal,
    scale,
)

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("proportional",)
REQUIRED: frozenset[str] = frozenset()
OPTIONAL = frozenset({"factor"})


def build(inputs: Inputs) -> Built:
    factor = inputs.positive("factor", 1.0)
    head_dim = inputs.head_dim
    check_width(head_dim)
    turning = max(0, min(int(inputs.partial_rotary_factor * head_dim // 2), head_dim // 2))
    table = reciprocal(powers(inputs.rope_theta, head_dim, turning))
    channels = head_dim // 2
    table = scale(table + [0.0] * (channels - turning), factor)
    return Built(
        tuple(table),
        parameters={"factor": factor, "partial_rotary_factor": inputs.partial_rotary_factor},
        static_channels=frozenset(range(turning, channels)),
    )


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from fractions import Fraction

    from ropeaudit.exact.terms import ZERO, ClosedForm
    from ropeaudit.schedule.families import _exact

    factor, head_dim = inputs.positive("factor", Fraction(1)), inputs.head_dim
    channels = head_dim // 2
    turning = max(0, min(math.floor(inputs.partial_rotary_factor * head_dim / 2), channels))
    ladder = _exact.ladder(inputs.rope_theta, head_dim, turning)
    terms = [_exact.times(theta, 1 / factor) for theta in ladder]
    return ClosedForm(
        law="proportional",
        parameters={
            "rope_theta": inputs.rope_theta,
            "head_dim": head_dim,
            "partial_rotary_factor": inputs.partial_rotary_factor,
            "factor": factor,
        },
        terms=(*terms, *(ZERO for _ in range(channels - turning))),
    )
