"""What a scaling law is given and what it returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ropeaudit.errors import InvalidValue, shown, unexpected
from ropeaudit.facts import as_number
from ropeaudit.records import field, record
from ropeaudit.schedule.float32 import Table, f32, f32s

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

MAX_CHANNELS = 65_536
"""Above this a rotary width is a corrupt number, not a model (the widest known is 512)."""


@record(kw_only=True)
class Inputs:
    """Resolved inputs of a law.

    ``rotary_dim``: channels x 2 that the exponent runs over. ``head_dim`` and
    ``partial_rotary_factor`` are kept apart for laws that pad (proportional). ``length``: the
    sequence length to build for (dynamic, longrope), None for the initial table. ``scaling``: the
    dict as read; ``max_position_embeddings``: the declared length.
    """

    rope_theta: float
    rotary_dim: int
    head_dim: int
    partial_rotary_factor: float = 1.0
    max_position_embeddings: int | None = None
    length: int | None = None
    scaling: Mapping[str, Any] = field(default_factory=dict)

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number from the scaling dict; raises InvalidValue if absent or not a number."""
        value = self.scaling.get(key)
        if value is None:
            value = default
        if value is None:
            raise InvalidValue(f"the scaling needs {key}, which is missing; add it", where=key)
        number = as_number(value)
        if number is None:
            raise unexpected(key, value, "a number", where=key)
        if not math.isfinite(number):
            raise unexpected(key, value, "a finite number", where=key)
        return number

    def positive(self, key: str, default: float | None = None) -> float:
        """As :meth:`number`, above zero and neither 0 nor infinite in float32."""
        value = self.number(key, default)
        if value <= 0:
            raise unexpected(key, value, "a number above 0", where=key)
        if not 0 < f32(value) < math.inf:
            raise InvalidValue(
                f"{key} is {shown(value)}, outside what float32 holds; correct it", where=key
            )
        return value

    def flag(self, key: str, default: bool) -> bool:
        """True or false (1 and 0 too, null is false); raises InvalidValue for anything else."""
        value = self.scaling.get(key, default)
        if value is None or value in (0, 1):
            return bool(value)
        raise unexpected(key, value, "true or false", where=key)

    def factors(self, key: str) -> list[float]:
        """A list of positive numbers, rounded to float32, one for each channel."""
        value = self.scaling.get(key)
        if not isinstance(value, list | tuple):
            raise unexpected(key, value, "a list of numbers", where=key)
        if any(isinstance(v, bool) or not isinstance(v, int | float) for v in value):
            raise InvalidValue(f"{key} holds something other than numbers; correct it", where=key)
        return f32s(float(v) if abs(v) < 1e300 else math.inf for v in value)


@record()
class Built:
    """What a law builds: the table, the factor on cos/sin, and its parameters after defaults."""

    inv_freq: Table
    attention_scaling: float = 1.0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    static_channels: frozenset[int] = frozenset()


class Family(Protocol):
    """A module of this package."""

    NAMES: tuple[str, ...]
    REQUIRED: frozenset[str]
    OPTIONAL: frozenset[str]

    def build(self, inputs: Inputs) -> Built:
        """Raises InvalidValue when a key is missing or out of range."""

    def closed_form(self, inputs: ExactInputs) -> ClosedForm:
        """What ``build`` rounds: one exact term for each channel, in the table's order.

        Raises InvalidValue as ``build`` does, and for a table that no term spells. It imports what
        it needs itself, so that building a table never loads exact arithmetic.
        """


def powers(base: float, dim: int, count: int | None = None) -> list[float]:
    """``base ** (2k/dim)`` as torch computes it: exponent in float32, power rounded to float32.

    ``count`` channels are built (default dim/2, rounded up as ``arange(0, dim, 2)`` does). Raises
    InvalidValue for a base that is not a positive number or a width that is no width.
    """
    check_width(dim)
    base32 = check_base(base)
    exponents = f32s(2 * k / dim for k in range((dim + 1) // 2 if count is None else count))
    return f32s(base32**e for e in exponents)


def check_base(base: float) -> float:
    """``base`` in float32; raises InvalidValue unless it is positive and finite there."""
    if not (base > 0 and math.isfinite(base)):
        raise unexpected("rope_theta", base, "a positive finite number", where="rope_theta")
    base32 = f32(base)
    if not 0 < base32 < math.inf:
        raise InvalidValue(
            f"rope_theta is {shown(base)}, outside what float32 holds; correct it",
            where="rope_theta",
        )
    return base32


def check_width(dim: int) -> None:
    """Raises InvalidValue unless 0 < dim <= 2 * MAX_CHANNELS."""
    if dim <= 0 or dim > 2 * MAX_CHANNELS:
        raise unexpected("the rotary width", dim, f"2 to {2 * MAX_CHANNELS}", where="rotary_dim")


def reciprocal(values: list[float]) -> list[float]:
    """1/x in float32."""
    return f32s(1.0 / v if v else math.inf for v in values)


def geometric(base: float, dim: int) -> list[float]:
    """The plain schedule ``1 / base**(2k/dim)`` (Su et al., 2104.09864, eq. 15)."""
    return reciprocal(powers(base, dim))


def scale(values: list[float], factor: float) -> list[float]:
    """``values / factor`` in float32, the factor rounded first as torch does with a scalar."""
    divisor = f32(factor)
    return f32s(v / divisor for v in values)
