"""Independent ladders one after another, one for each coordinate (diffusers' image transformers).

    theta_k = base**(-2k/w) for each width w of ``axes_dim``, k = 0 .. w/2 - 1

(diffusers ``models/embeddings.py``, ``get_1d_rotary_pos_embed`` once an axis.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.errors import InvalidValue, unexpected
from ropeaudit.schedule.families.interface import Built, Inputs, geometric

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("ladders",)
REQUIRED = frozenset({"axes_dim"})
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    widths = inputs.scaling.get("axes_dim")
    if not isinstance(widths, list | tuple) or not all(type(w) is int for w in widths):
        raise unexpected("axes_dim", widths, "a list of widths", where="axes_dim")
    table = tuple(v for width in widths for v in geometric(inputs.rope_theta, width))
    return Built(table, parameters={"axes_dim": widths})


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from ropeaudit.exact.terms import ClosedForm
    from ropeaudit.schedule.families import _exact

    widths = inputs.numbers("axes_dim")
    if any(w.denominator != 1 for w in widths):
        raise InvalidValue("axes_dim holds a width that is not whole; correct it", where="axes_dim")
    return ClosedForm(
        law="ladders",
        parameters={"rope_theta": inputs.rope_theta, "axes_dim": widths},
        terms=tuple(t for w in widths for t in _exact.ladder(inputs.rope_theta, int(w))),
    )
