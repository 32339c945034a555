"""Position interpolation: every frequency divided by ``factor`` (Chen et al., 2306.15595)."""

from __future__ import annotations

from ropeaudit.schedule.families.interface import Built, Inputs, geometric, scale

NAMES = ("linear",)
REQUIRED = frozenset({"factor"})
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    factor = inputs.positive("factor")
    table = scale(geometric(inputs.rope_theta, inputs.rotary_dim), factor)
    return Built(tuple(table), parameters={"factor": factor})
