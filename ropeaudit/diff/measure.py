"""Numbers of a pair: channel by channel, clusters, scalings, and the lengths to judge at."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from ropeaudit.diff.interface import ARITHMETIC_ULP, Channel
from ropeaudit.diff.law import is_bare
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import ulp_distance
from ropeaudit.schedule.geometry import clusters, dlog, phase_drift

REFERENCE_LENGTH = 4096
"""Where nothing states a length of a text schedule."""
REFERENCE_GRID = 1024
"""The same for towers, whose positions are rows and columns of a grid."""


def channels(a: Schedule, b: Schedule, length: int) -> tuple[Channel, ...]:
    """All channels of either side; ``length`` in positions."""
    left, right = a.inv_freq, b.inv_freq
    common = min(len(left), len(right))
    found = [_channel(k, left[k], right[k], length) for k in range(common)]
    found += [
        Channel(k, left[k], None, None, dlog(left[k], 0.0), phase_drift(left[k], 0.0, length))
        for k in range(common, len(left))
    ]
    found += [
        Channel(k, None, right[k], None, dlog(0.0, right[k]), phase_drift(0.0, right[k], length))
        for k in range(common, len(right))
    ]
    return tuple(found)


def _channel(k: int, a: float, b: float, length: int) -> Channel:
    if a == b or (a != a and b != b):
        return Channel(k, a, b, 0, 0.0, 0.0)
    return Channel(k, a, b, ulp_distance(a, b), dlog(a, b), phase_drift(a, b, length))


def same_bits(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether two tables hold the same values, NaN and signed zeros told apart by their bits."""
    return a is b or array("d", a).tobytes() == array("d", b).tobytes()


def within(a: float | None, b: float | None, tolerance: int) -> bool:
    """Whether two scalings agree to ``tolerance`` float32 steps; what is not told agrees."""
    if a is None or b is None or a == b:
        return True
    distance = ulp_distance(a, b)
    return distance is not None and distance <= tolerance


def new_clusters(a: Schedule, b: Schedule) -> tuple[tuple[int, ...], ...]:
    """Sets of channels that are equal in B and were not all equal in A, largest first."""
    held = a.inv_freq
    found = []
    for members in clusters(b.inv_freq, b.groups()):
        before = {held[k] if k < len(held) else None for k in members}
        if len(before) > 1:
            found.append(tuple(members))
    return tuple(found)


def attention(a: Schedule, b: Schedule) -> tuple[float | None, float | None]:
    """Factors on cos and sin; None for a bare table whose holder does not tell."""
    return _attention(a), _attention(b)


def _attention(schedule: Schedule) -> float | None:
    silent = is_bare(schedule) and schedule.fact("attention_scaling") is None
    return None if silent else schedule.attention_scaling


def softmax(a: Schedule, b: Schedule) -> tuple[float | None, float | None]:
    """Factors on the logits; None for bare tables."""
    return (
        None if is_bare(a) else a.softmax_scale,
        None if is_bare(b) else b.softmax_scale,
    )


def tolerance(a: Schedule, b: Schedule, ulp: int | None, *, other_arithmetic: bool) -> int:
    """Float32 steps that count as equivalent; ``ulp`` is what the user asked for, if anything."""
    from ropeaudit.diff.interface import ULP

    if ulp is not None:
        return ulp
    rows = any(s.parameters.get("role") == "cos_sin_cache" for s in (a, b))
    return ARITHMETIC_ULP if other_arithmetic or rows else ULP


def default_length(a: Schedule, b: Schedule) -> tuple[int, str]:
    """The length at which severity is decided, and what it is.

    A dynamic table serves the length it is named after, a ``long`` one what lies beyond the trained
    length up to the declared one, any other the trained length. Limited by the attention window
    where both sides have one.
    """
    for schedule in (a, b):
        variant = schedule.variant or ""
        if variant.startswith("@") and variant[1:].isdigit():
            return _in_window(int(variant[1:]), a, b), "variant"
    trained, declared = _first(a, b, "trained"), _first(a, b, "declared")
    assumed = a.context.assumed if a.context.trained else b.context.assumed
    if "long" in (a.variant, b.variant) and trained and declared and declared > trained:
        return _in_window(declared, a, b), "declared"
    if trained:
        return _in_window(trained, a, b), "declared" if assumed else "trained"
    if declared:
        return _in_window(declared, a, b), "declared"
    return REFERENCE_LENGTH if a.is_text or b.is_text else REFERENCE_GRID, "reference"


def lengths(a: Schedule, b: Schedule, asked: Sequence[int]) -> tuple[tuple[int, str], ...]:
    """Lengths to report at: those asked for that this pair serves, else the default one."""
    length, source = default_length(a, b)
    variants = {a.variant, b.variant}
    if not asked or source == "variant":
        return ((length, source),)
    trained = _first(a, b, "trained") or math.inf
    served = [
        n
        for n in asked
        if not ("short" in variants and n > trained) and not ("long" in variants and n <= trained)
    ]
    found = dict.fromkeys(_in_window(n, a, b) for n in served)
    return tuple((n, "given") for n in found) or ((length, source),)


def _first(a: Schedule, b: Schedule, name: str) -> int | None:
    found: int | None = getattr(a.context, name) or getattr(b.context, name)
    return found


def _in_window(length: int, a: Schedule, b: Schedule) -> int:
    windows = [s.context.window for s in (a, b) if not is_bare(s)]
    if not windows or None in windows:
        return length
    return min(length, max(w for w in windows if w is not None))
