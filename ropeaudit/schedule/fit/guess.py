"""A law with its parameters, and the table that it gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ropeaudit.errors import InvalidValue
from ropeaudit.records import field, record
from ropeaudit.schedule.families import Inputs, family
from ropeaudit.schedule.families.interface import powers, reciprocal, scale
from ropeaudit.schedule.fit.cells import Cells, agrees, steps
from ropeaudit.schedule.float32 import f32s

AXES = "axes_dims_rope"
"""Widths of ladders that follow each other, as image transformers spell them."""
ENGINES = 2.0
"""Float32 steps between two correct engines: their ``pow`` differs."""


@record(kw_only=True)
class Guess:
    """``rotary_dim``: d of the exponents 2k/d; the table has the first channels of that ladder."""

    rope_type: str
    rope_theta: float
    rotary_dim: int
    parameters: Mapping[str, Any] = field(default_factory=dict)


@record(kw_only=True)
class Match:
    """A guess beside a table: ``steps`` for each channel, ``fits`` when the tolerance covers it."""

    guess: Guess
    table: tuple[float, ...]
    steps: tuple[float, ...]
    fits: bool

    @property
    def max_ulp(self) -> float:
        return max(self.steps, default=0.0)


def match(guess: Guess, found: Cells, allowed: float) -> Match | None:
    """``guess`` compared with a table; None where the law refuses its parameters."""
    try:
        built = table(guess, len(found.values))
    except (InvalidValue, OverflowError, ZeroDivisionError):
        return None
    if len(built) != len(found.values):
        return None
    apart = steps(found.values, built, found.grid)
    return Match(
        guess=guess,
        table=tuple(built),
        steps=tuple(apart),
        fits=agrees(found, built, apart, allowed),
    )


def first_fit(guesses: Iterable[Guess], found: Cells, allowed: float) -> Match | None:
    """The first guess that is no further off than two engines are; else the closest that fits."""
    best: Match | None = None
    for guess in guesses:
        tried = match(guess, found, allowed)
        if tried is not None and tried.fits:
            if tried.max_ulp <= ENGINES:
                return tried
            if best is None or tried.max_ulp < best.max_ulp:
                best = tried
    return best


def exponents(dims: Sequence[int], channels: int) -> list[float]:
    """2k/d in float32 for the first ``channels``; where there are several widths, all channels of
    each, one ladder after another.
    """
    return f32s(2 * k / d for d in dims for k in range(d // 2 if len(dims) > 1 else channels))


def table(guess: Guess, channels: int) -> list[float]:
    """The first ``channels`` frequencies of a law; raises InvalidValue as the law does."""
    base, given = guess.rope_theta, guess.parameters
    if AXES in given:
        return [v for d in given[AXES] for v in reciprocal(powers(base, d))]
    if guess.rope_type in ("default", "linear"):
        plain = reciprocal(powers(base, guess.rotary_dim, channels))
        return scale(plain, given["factor"]) if "factor" in given else plain
    law = family(guess.rope_type)
    if law is None:
        raise InvalidValue(f"there is no law '{guess.rope_type}'; correct it", where="rope_type")
    inputs = Inputs(
        rope_theta=base,
        rotary_dim=guess.rotary_dim,
        head_dim=guess.rotary_dim,
        partial_rotary_factor=given.get("partial_rotary_factor", 1.0),
        scaling={k: v for k, v in given.items() if k != "partial_rotary_factor"},
    )
    return list(law.build(inputs).inv_freq)
