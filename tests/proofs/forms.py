"""Closed forms by hand, as exhibits: default, NTK, longrope, llama3 and yarn tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction as F
from typing import Any

from ropeaudit.exact.enclosure import enclose
from ropeaudit.exact.terms import ZERO, ClosedForm, Cutoff, PiBlend, Power, Ramp, Term
from ropeaudit.proofs.interface import Exhibit
from ropeaudit.schedule.core import Axis, Schedule
from ropeaudit.schedule.float32 import f32

Number = int | str | F


def exhibit(
    terms: Iterable[Term],
    *,
    law: str = "default",
    static: Iterable[int] = (),
    axes: Sequence[Axis] | None = None,
    table: Sequence[float] | None = None,
    **kw: Any,
) -> Exhibit:
    """An exhibit of these terms; the table is theirs in float32 unless one is given."""
    held = tuple(terms)
    values = tuple(f32(_value(term)) for term in held) if table is None else tuple(table)
    schedule = Schedule(
        rope_type=law,
        rope_theta=None,
        head_dim=2 * len(values),
        rotary_dim=2 * len(values),
        inv_freq=values,
        static_channels=frozenset(static),
        axes=None if axes is None else tuple(axes),
    )
    return Exhibit(schedule=schedule, form=ClosedForm(law=law, parameters={}, terms=held), **kw)


def formless(table: Sequence[float], **kw: Any) -> Exhibit:
    """A table that nothing states a closed form for."""
    made = exhibit((), table=table)
    return Exhibit(schedule=made.schedule, form=None, why_not="no law is known", **kw)


def _value(term: Term) -> float:
    try:
        lo, hi = enclose(term, 64)
        return float((lo + hi) / 2)
    except (ValueError, OverflowError):
        return math.nan


def power(*factors: tuple[Number, Number], scale: Number = 1) -> Power:
    """``scale * prod radicand ** exponent``; text such as ``"1/3"`` and numbers alike."""
    return Power(F(scale), tuple((F(r), F(e)) for r, e in factors))


def default(base: Number, dim: int) -> list[Power]:
    """b**(-k/n)."""
    n = dim // 2
    return [power((base, F(-k, n))) for k in range(n)]


def ntk(base: Number, growth: Number, dim: int) -> list[Power]:
    """b**(-k/n) g**(-k/(n-1)): dynamic NTK."""
    n = dim // 2
    return [power((base, F(-k, n)), (growth, F(-k, n - 1))) for k in range(n)]


def longrope(base: Number, factors: Sequence[Number]) -> list[Power]:
    """b**(-k/n) / factor_k."""
    n = len(factors)
    scales = [1 / F(f) for f in factors]
    return [power((base, F(-k, n)), scale=s) for k, s in enumerate(scales)]


def proportional(base: Number, turning: int, still: int) -> list[Power]:
    """b**(-k/n) for the first channels, 0 for the others."""
    n = turning + still
    return [power((base, F(-k, n))) for k in range(turning)] + [ZERO] * still


def llama3(
    base: Number = 500_000,
    dim: int = 128,
    factor: int = 8,
    low: int = 1,
    high: int = 4,
    original: int = 8192,
) -> list[Term]:
    """Llama 3.1's three bands."""
    whole: list[Term] = []
    for theta in default(base, dim):
        turns = original * _value(theta) / (2 * math.pi)
        if turns < low:
            whole.append(Power(1 / F(factor), theta.factors))
        elif turns > high:
            whole.append(theta)
        else:
            share = 1 - 1 / F(factor)
            constant = 1 / F(factor) - low * share / (high - low)
            whole.append(PiBlend(theta, constant, original * share / (2 * (high - low))))
    return whole


def yarn(
    base: Number = 10_000, dim: int = 128, factor: Number = 4, original: int = 4096
) -> list[Term]:
    """YaRN without truncation: a ramp between logarithms."""
    b = F(base)
    low, high = (Cutoff(dim, F(original, beta), b) for beta in (32, 1))
    start, end = (
        dim * math.log(float(c.turns) / (2 * math.pi)) / (2 * math.log(float(b)))
        for c in (low, high)
    )
    terms: list[Term] = []
    for k, theta in enumerate(default(base, dim)):
        if k <= start:
            terms.append(theta)
        elif k >= end:
            terms.append(Power(1 / F(factor), theta.factors))
        else:
            terms.append(Ramp(theta, k, low, high, F(factor)))
    return terms


def disguised(theta: Power) -> Ramp:
    """7/4 theta, spelled with logarithms: with high = 2 low the ramp is -1 at channel 0."""
    low, high = (Cutoff(dim, F(50), F(10)) for dim in (64, 128))
    return Ramp(theta, 0, low, high, F(4))
