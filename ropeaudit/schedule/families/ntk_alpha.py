"""NTK-alpha (Hunyuan, transformers ``compute_ntk_alpha_rope_parameters``): a fixed larger base.

    base' = base * alpha ** (d / (d - 2))

The files spell it ``type: dynamic`` with an ``alpha``.
"""

from __future__ import annotations

from ropeaudit.errors import InvalidValue
from ropeaudit.schedule.families.interface import Built, Inputs, geometric

NAMES = ("ntk_alpha",)
REQUIRED = frozenset({"alpha"})
OPTIONAL = frozenset({"factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"})


def build(inputs: Inputs) -> Built:
    alpha = inputs.positive("alpha")
    dim = inputs.rotary_dim
    if dim <= 2:
        raise InvalidValue(
            "NTK scaling needs a rotary width above 2; correct it", where="rotary_dim"
        )
    try:
        base = inputs.rope_theta * alpha ** (dim / (dim - 2))
    except OverflowError:
        raise InvalidValue("alpha overflows the base; lower it", where="alpha") from None
    return Built(
        tuple(geometric(base, dim)), parameters={"alpha": alpha, "effective_rope_theta": base}
    )
