"""ERNIE 4.5 VL: one ladder, its fast channels dealt to height and width, its slow ones to time.

With sections (h, w, t), the first ``h + w`` channels are split into even and odd, the last ``t``
stay in order (transformers ``modeling_ernie4_5_vl_moe.py``).
"""

from __future__ import annotations

from ropeaudit.errors import unexpected
from ropeaudit.schedule.families.interface import Built, Inputs, geometric

NAMES = ("ernie_3d",)
REQUIRED: frozenset[str] = frozenset()
OPTIONAL = frozenset({"mrope_section"})

SECTIONS = (22, 22, 20)


def build(inputs: Inputs) -> Built:
    given = inputs.scaling.get("mrope_section")
    sections = SECTIONS if given is None else given
    ladder = geometric(inputs.rope_theta, inputs.rotary_dim)
    if (
        not isinstance(sections, list | tuple)
        or len(sections) != 3
        or not all(type(s) is int and s > 0 for s in sections)
        or sum(sections) != len(ladder)
    ):
        raise unexpected(
            "mrope_section",
            given,
            f"three positive numbers that add up to {len(ladder)}",
            where="mrope_section",
        )
    plane = len(ladder) - sections[2]
    return Built((*ladder[:plane][0::2], *ladder[:plane][1::2], *ladder[plane:]))
