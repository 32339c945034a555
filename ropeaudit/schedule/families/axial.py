"""Axial rotary for images: one ladder over half the head, used once for each of two axes.

    theta_k = base**(-2k/s), s = d // 2

The table holds the ladder once; height and width turn by the same frequencies (Qwen2-VL, Gemma 4,
SAM 2 and most vision towers; transformers ``compute_axial_rope_parameters``).
"""

from __future__ import annotations

from ropeaudit.schedule.families.interface import Built, Inputs, geometric

NAMES = ("axial",)
REQUIRED: frozenset[str] = frozenset()
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    return Built(tuple(geometric(inputs.rope_theta, inputs.rotary_dim // 2)))
