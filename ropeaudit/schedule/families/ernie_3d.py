"""ERNIE 4.5 VL: one ladder, its fast channels dealt to height and width, its slow ones to time.

With sections (h, w, t), the first ``h + w`` channels are split into even and odd, the last ``t``
stay in order (transformers ``modeling_ernie4_5_vl_moe.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.errors import InvalidValue, unexpected
from ropeaudit.schedule.families.interface import Built, Inputs, geometric

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

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


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from fractions import Fraction

    from ropeaudit.schedule.families import _exact

    sections = tuple(map(Fraction, SECTIONS))
    if inputs.scaling.get("mrope_section") is not None:
        sections = inputs.numbers("mrope_section")
    ladder = _exact.plain(inputs)
    if len(sections) != 3 or sum(sections) != len(ladder) or min(sections) <= 0:
        raise InvalidValue(
            f"mrope_section is not three numbers that add up to {len(ladder)}; correct it",
            where="mrope_section",
        )
    plane = int(sections[0] + sections[1])
    terms = (*ladder[:plane][0::2], *ladder[:plane][1::2], *ladder[plane:])
    return _exact.closed("ernie_3d", inputs, terms, mrope_section=sections)
