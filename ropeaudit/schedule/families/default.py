"""Plain RoPE: ``theta_k = base**(-2k/d)`` (Su et al., 2104.09864, eq. 15)."""

from __future__ import annotations

from ropeaudit.schedule.families.interface import Built, Inputs, geometric

NAMES = ("default",)
REQUIRED: frozenset[str] = frozenset()
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    return Built(tuple(geometric(inputs.rope_theta, inputs.rotary_dim)))
