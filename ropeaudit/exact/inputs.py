"""The inputs of a scaling law as exact numbers, and how a text or a float becomes one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ropeaudit.errors import InvalidValue, unexpected
from ropeaudit.records import field, record

MAX_DIGITS = 400
"""Longest text that is taken for an exact number, and the largest exponent of ten in it; a float64
needs no more than 308 either way, and ``1e999999999`` would fill the memory."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?0*[0-9]{1,3})?")


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

    def positive(self, key: str, default: Fraction | None = None) -> Fraction:
        """As :meth:`number`, above zero."""
        value = self.number(key, default)
        if value <= 0:
            raise unexpected(key, float(value), "a number above 0", where=key)
        return value

    def flag(self, key: str, default: bool) -> bool:
        """True or false (1 and 0 too, null is false); raises InvalidValue for anything else."""
        value = self.scaling.get(key, default)
        if value is None or value in (0, 1):
            return bool(value)
        raise unexpected(key, str(value), "true or false", where=key)

    def numbers(self, key: str) -> tuple[Fraction, ...]:
        """A list of numbers; raises InvalidValue if it is none."""
        value = self.scaling.get(key)
        if not isinstance(value, tuple) or not all(isinstance(v, Fraction) for v in value):
            raise InvalidValue(f"{key} is no list of numbers; correct it", where=key)
        return value


def spelled(text: str | None, value: float) -> Fraction | None:
    """The rational that a JSON number spells; None unless ``text`` is one that reads as ``value``.

    Numbers beyond :data:`MAX_DIGITS` digits or powers of ten are None too.
    """
    if text is None or len(text) > MAX_DIGITS or not _NUMBER.fullmatch(text):
        return None
    if not math.isfinite(value) or float(text) != value:
        return None
    number = Decimal(text)
    if not number:
        return Fraction(0)
    return Fraction(number) if abs(number.adjusted()) <= MAX_DIGITS else None


def shortest(value: float) -> Fraction:
    """The shortest decimal that reads as ``value`` (0.1 and not the float beside it).

    Whole numbers are themselves. Raises InvalidValue for NaN and infinities.
    """
    if isinstance(value, int):
        return Fraction(value)
    if not math.isfinite(value):
        raise unexpected("a parameter", value, "a finite number", where=None)
    return Fraction(repr(value))


def dyadic(value: float) -> Fraction:
    """The float itself, for formats that store floats and no text (GGUF).

    Raises InvalidValue for NaN and infinities.
    """
    if not math.isfinite(value):
        raise unexpected("a parameter", value, "a finite number", where=None)
    return Fraction(value)
