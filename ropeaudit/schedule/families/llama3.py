"""Llama 3.1 scaling: long wavelengths divided by ``factor``, a smooth blend between two bounds.

Wavelength above ``original / low_freq_factor``: divided; below ``original / high_freq_factor``:
kept; between: ``(1 - s) * theta / factor + s * theta`` with
``s = (original / wavelength - low) / (high - low)``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ropeaudit.schedule.families.interface import Built, Inputs, geometric
from ropeaudit.schedule.float32 import f32, f32s

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm, Term

NAMES = ("llama3",)
REQUIRED = frozenset(
    {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}
)
OPTIONAL: frozenset[str] = frozenset()


def build(inputs: Inputs) -> Built:
    original = inputs.positive("original_max_position_embeddings")
    factor = inputs.positive("factor")
    low, high = inputs.positive("low_freq_factor"), inputs.positive("high_freq_factor")
    table = geometric(inputs.rope_theta, inputs.rotary_dim)
    return Built(
        tuple(_scaled(table, factor, low, high, original)),
        parameters={
            "factor": factor,
            "low_freq_factor": low,
            "high_freq_factor": high,
            "original_max_position_embeddings": original,
        },
    )


def closed_form(inputs: ExactInputs) -> ClosedForm:
    """Wavelengths are compared as ``theta * original / (2 pi)`` with the two bounds: a rational
    multiple of pi is never an algebraic number, so enough digits always decide."""
    from ropeaudit.schedule.families import _exact

    original = inputs.positive("original_max_position_embeddings")
    factor = inputs.positive("factor")
    low, high = inputs.positive("low_freq_factor"), inputs.positive("high_freq_factor")
    gain = 1 - 1 / factor
    terms: list[Term] = []
    ladder = _exact.plain(inputs)
    for theta in ladder:
        if _exact.turns_below(theta, original, low, len(ladder)):
            terms.append(_exact.times(theta, 1 / factor))
        elif high <= low or not _exact.turns_below(theta, original, high, len(ladder)):
            terms.append(theta)
        else:
            constant = 1 / factor - low * gain / (high - low)
            slope = original * gain / (2 * (high - low))
            terms.append(_exact.blend(theta, constant, slope))
    return _exact.closed(
        "llama3",
        inputs,
        terms,
        factor=factor,
        low_freq_factor=low,
        high_freq_factor=high,
        original_max_position_embeddings=original,
    )


def _scaled(
    table: list[float], factor: float, low: float, high: float, original: float
) -> list[float]:
    two_pi, factor32, original32 = f32(2 * math.pi), f32(factor), f32(original)
    longest, shortest = f32(original / low), f32(original / high)
    low32, span = f32(low), f32(high - low)
    out = []
    for theta in table:
        # torch divides a scalar by a tensor as reciprocal times scalar: two roundings, not one.
        wavelength = f32(f32(1.0 / theta) * two_pi) if theta else math.inf
        if wavelength > longest:
            out.append(f32(theta / factor32))
        elif wavelength < shortest or span == 0:
            # low == high leaves no blend band: the engine's 0/0 is masked out unless a wavelength
            # falls exactly on the bound.
            out.append(theta)
        else:
            smooth = f32(f32(f32(f32(1.0 / wavelength) * original32) - low32) / span)
            divided = f32(f32(f32(1.0 - smooth) * theta) / factor32)
            out.append(f32(divided + f32(smooth * theta)))
    return f32s(out)
