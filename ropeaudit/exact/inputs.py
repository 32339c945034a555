"""The inputs of a scaling law as exact numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ropeaudit.errors import InvalidValue, unexpected
from ropeaudit.records import field, record


@record(kw_only=True)
class ExactInputs:
    """As ``schedule.families.Inputs``, every number the rational that the file's text spells.

    ``scaling`` holds Fractions, tuples of Fractions, booleans, strings and None.
    """

    rope_theta: Fraction
    rotary_dim: int
    head_dim: int
    partial_rotary_factor: Fraction = Fraction(1)
    max_position_embeddings: Fraction | None = None
    length: int | None = None
    scaling: Mapping[str, Any] = field(default_factory=dict)

    def number(self, key: str, default: Fraction | None = None) -> Fraction:
        """A number of the scaling dict; raises InvalidValue if absent or not a number."""
        value = self.scaling.get(key)
        if value is None:
            value = default
        if value is None:
            raise InvalidValue(f"the scaling needs {key}, which is missing; add it", where=key)
        if not isinstance(value, Fraction):
            raise unexpected(key, value, "a number", where=key)
        return value
