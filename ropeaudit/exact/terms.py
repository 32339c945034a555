"""Closed forms: what one frequency is before anything is rounded.

Four shapes cover every scaling law. :class:`Power` is algebraic; the other two carry pi (llama3's
blend band) or logarithms (yarn's ramp where its ends are not truncated).
"""

from __future__ import annotations

from fractions import Fraction

from ropeaudit.records import record


@record()
class Power:
    """``coefficient * prod(radicand ** exponent)``, a positive real number, or zero.

    ``factors`` are (radicand, exponent) pairs with radicand > 0; zero is ``Power(Fraction(0))``.
    """

    coefficient: Fraction
    factors: tuple[tuple[Fraction, Fraction], ...] = ()


@record()
class PiBlend:
    """``theta * (constant + slope * theta / pi)``: llama3 between its two wavelengths."""

    theta: Power
    constant: Fraction
    slope: Fraction


@record()
class Cutoff:
    """``dim * ln(turns / (2 pi)) / (2 ln base)``: the channel where yarn's ramp starts or ends.

    ``turns`` is the original length over beta (Peng et al., 2309.00071, eq. 17 solved for the
    channel).
    """

    dim: int
    turns: Fraction
    base: Fraction


@record()
class Ramp:
    """``theta * (1 - rise + rise / factor)``, ``rise = (channel - low) / (high - low)``.

    Only where an end is a :class:`Cutoff` and ``0 < rise < 1``; with rational ends the same value
    is a :class:`Power`.
    """

    theta: Power
    channel: int
    low: Fraction | Cutoff
    high: Fraction | Cutoff
    factor: Fraction


Term = Power | PiBlend | Ramp
ZERO = Power(Fraction(0))


@record(kw_only=True)
class ClosedForm:
    """The terms of one schedule, channel by channel in the engine's order.

    ``law`` names the scaling law (a module of ``schedule.families``), ``parameters`` its exact
    inputs after defaults, by the names of the config.
    """

    law: str
    parameters: dict[str, Fraction | int | bool | str | tuple[Fraction, ...] | None]
    terms: tuple[Term, ...]
