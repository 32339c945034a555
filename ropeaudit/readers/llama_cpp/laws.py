"""Which scaling law a ``ggml_rope_ext`` call amounts to, where it is one of them by itself.

The engine lets everything be mixed: a factor tensor, a linear factor, a ramp with any weight, a
grown base. Files hold one of these at a time, and then the call is a law with a name.
"""

from __future__ import annotations

from typing import Any

from ropeaudit.readers.llama_cpp.arithmetic import Rotation
from ropeaudit.readers.llama_cpp.scaling import Scaling
from ropeaudit.schedule.families import Inputs
from ropeaudit.schedule.float32 import f32


def law_of(
    rotation: Rotation, base: float, alpha: float | None, settled: Scaling, original: float | None
) -> tuple[str | None, Inputs | None]:
    """The law's name with its inputs; (None, None) for a mixture.

    ``base`` and ``alpha``: before the base is grown; ``original``: the length that the ramp is
    placed by.
    """
    named = _named(rotation, base, alpha, settled, original)
    if named is None:
        return None, None
    law, scaling = named
    inputs = Inputs(
        rope_theta=base, rotary_dim=rotation.dim, head_dim=rotation.dim, scaling=scaling
    )
    return law, inputs


def _named(
    r: Rotation, base: float, alpha: float | None, settled: Scaling, original: float | None
) -> tuple[str, dict[str, Any]] | None:
    ramped = r.ext != 0 and r.factor != 1  # with factor 1 the ramp mixes equal values
    if r.base != base:
        alone = r.divisors is None and r.factor == 1
        return ("ntk_alpha", {"alpha": alpha}) if alone and alpha is not None else None
    if r.divisors is not None:
        # Two float32 numbers multiply exactly in float64.
        exact = not ramped and f32(r.factor) == r.factor
        return ("longrope", {"short_factor": [v * r.factor for v in r.divisors]}) if exact else None
    if ramped:
        low, high = r.ramp
        # A ramp that runs backwards is a step in llama.cpp and a falling ramp in the paper's law.
        if r.ext != 1 or high < low:
            return None
        return "yarn", {
            "factor": r.factor,
            "original_max_position_embeddings": original,
            "beta_fast": settled.beta_fast,
            "beta_slow": settled.beta_slow,
        }
    return ("linear", {"factor": r.factor}) if r.factor != 1 else ("default", {})
