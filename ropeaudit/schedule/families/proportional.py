"""Proportional RoPE (Gemma 4): the exponent runs over the whole head, and only the first
``partial_rotary_factor`` of the channels turn; the others are exactly zero by design.
"""

from __future__ import annotations

from ropeaudit.schedule.families.interface import (
    Built,
    Inputs,
    check_width,
    powers,
    reciprocal,
    scale,
)

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
