"""Which coordinate turns which channels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ropeaudit.facts import Json
from ropeaudit.schedule.core import Axis, axis_runs

SHARED = {"axial": ("h", "w"), "dinov3": ("h", "w"), "axial_thirds": ("t", "h", "w")}
"""Tables whose one ladder turns with each of several axes."""


def axes_of(
    kind: str, rule: Mapping[str, Any] | None, sections: Json, channels: int
) -> tuple[Axis, ...] | None:
    """Axes of a table, None for plain positions.

    ``rule`` is the entry's ``axes``: law and default sections. Sections that do not add up leave
    the axes unknown (None); the observation says so.
    """
    if kind in SHARED:
        return tuple(Axis(a, (0, channels - 1)) for a in SHARED[kind])
    if kind == "axial_dealt":
        half = (channels + 1) // 2
        return (Axis("h", (0, half - 1)), Axis("w", (half, channels - 1)))
    if rule is None:
        return None
    found = sections if sections is not None else rule.get("sections")
    if rule["law"] == "alternate":
        return _alternate(rule["names"], channels)
    widths = section_widths(found)
    if widths is None:
        return None
    return LAWS[rule["law"]](rule, widths, channels)


def section_widths(value: Json) -> list[int] | None:
    """Section widths as whole numbers; None if the value is no such list."""
    if not isinstance(value, list | tuple) or not value or len(value) > 16:
        return None
    if not all(type(v) in (int, float) and v >= 0 and v == v // 1 for v in value):
        return None
    return [int(v) for v in value]


def _names(rule: Mapping[str, Any], count: int) -> list[str]:
    named = list(rule.get("names", ("t", "h", "w")))
    return [named[i % len(named)] if i < len(named) else str(i) for i in range(count)]


def _blocks(rule: Mapping[str, Any], widths: list[int], channels: int) -> tuple[Axis, ...] | None:
    """Consecutive blocks, one per axis in turn (Qwen2-VL)."""
    if sum(widths) != channels:
        return None
    names, out, start = _names(rule, 3), [], 0
    for i, width in enumerate(widths):
        if width:
            out.append(Axis(names[i % 3], (start, start + width - 1)))
        start += width
    return tuple(out)


def _interleaved(
    rule: Mapping[str, Any], widths: list[int], channels: int
) -> tuple[Axis, ...] | None:
    """Channels dealt t, h, w, t, h, w, ... as far as the sections reach, then t (Qwen3-VL)."""
    if len(widths) != 3:
        return None
    axis = ["t"] * channels
    for offset, name in ((1, "h"), (2, "w")):
        for k in range(offset, min(widths[offset] * 3, channels), 3):
            axis[k] = name
    return axis_runs((name, k) for k, name in enumerate(axis))


def _doubled(rule: Mapping[str, Any], widths: list[int], channels: int) -> tuple[Axis, ...] | None:
    """Sections laid over both halves of the head: the halves turn with different axes
    (HunYuan-VL, where channel k of the second half pairs with channel k of the first)."""
    if sum(widths) != channels:
        return None
    out: list[tuple[str, int]] = []
    start = 0
    for i, width in enumerate(widths):
        out.extend((str(i), k % channels) for k in range(2 * start, 2 * (start + width)))
        start += width
    return axis_runs(out)


def _alternate(names: list[str], channels: int) -> tuple[Axis, ...]:
    """Channels dealt to the axes in turn (NeoMME)."""
    return axis_runs((names[k % len(names)], k) for k in range(channels))


LAWS = {"blocks": _blocks, "interleaved": _interleaved, "doubled": _doubled}
