"""Fixed NTK (GTE embedding models): a larger base and a smaller step, at every length.

    theta_k = (base * s) ** (-2k/d) / s ** (2/d)

which keeps channel 0 near 1 and divides the slowest channel by ``s``. The files spell it
``type: ntk``, a name that other models use for other laws, so only model types known to mean this
one are read by it. Sources: Su, kexue.fm/archives/9706; vLLM
``rotary_embedding/ntk_scaling_rope.py``.
"""

from __future__ import annotations

from ropeaudit.errors import InvalidValue
from ropeaudit.schedule.families.interface import Built, Inputs, geometric, scale

NAMES = ("ntk_fixed",)
REQUIRED = frozenset({"factor"})
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    factor = inputs.positive("factor")
    dim = inputs.rotary_dim
    base = inputs.rope_theta * factor
    if not 0 < base < float("inf"):
        raise InvalidValue("the NTK factor overflows the base; lower it", where="factor")
    table = scale(geometric(base, dim), factor ** (2 / dim))
    return Built(tuple(table), parameters={"factor": factor, "effective_rope_theta": base})
