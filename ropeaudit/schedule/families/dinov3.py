"""DINOv3: exponents 0, 4/d, 8/d, ... below 1, one ladder shared by height and width.

    theta_k = base**(-4k/d), k = 0 .. d/4 - 1

Positions are coordinates in [-1, 1] times 2 pi and not pixel counts (transformers
``modeling_dinov3_vit.py``).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ropeaudit.schedule.families.interface import Built, Inputs, check_base, check_width, reciprocal
from ropeaudit.schedule.float32 import f32s

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("dinov3",)
REQUIRED: frozenset[str] = frozenset()
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    check_width(inputs.rotary_dim)
    base = check_base(inputs.rope_theta)
    step = 4 / inputs.rotary_dim
    exponents = f32s(k * step for k in range(math.ceil(1 / step)))
    return Built(tuple(reciprocal(f32s(base**e for e in exponents))))


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from fractions import Fraction

    from ropeaudit.schedule.families import _exact

    dim = inputs.rotary_dim
    ladder = _exact.ladder(inputs.rope_theta, dim, math.ceil(Fraction(dim, 4)))
    terms = [_exact.power(t.coefficient, *((r, 2 * e) for r, e in t.factors)) for t in ladder]
    return _exact.closed("dinov3", inputs, terms)
