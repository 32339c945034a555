"""Closed forms of rotary tables in float64, one schedule at a time.

Written for the expectations of ``fixtures/zoo`` alone: this file shares no code with the package,
so a mistake in the package cannot repeat itself here.
"""

from __future__ import annotations

import math
from typing import Any

# ---------------------------------------------------------------- closed forms, all in float64


def ladder(base: float, dim: int) -> list[float]:
    return [base ** (-2 * k / dim) for k in range(dim // 2)]


def divided(values: list[float], factor: float) -> list[float]:
    return [v / factor for v in values]


def yarn_table(
    base: float,
    dim: int,
    factor: float,
    original: float,
    fast: float = 32,
    slow: float = 1,
    truncate: bool = True,
) -> list[float]:
    def channel(turns: float) -> float:
        return dim * math.log(original / (2 * math.pi * turns)) / (2 * math.log(base))

    low, high = channel(fast), channel(slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    out = []
    for k, theta in enumerate(ladder(base, dim)):
        drop = min(max((k - low) / (high - low), 0.0), 1.0)
        out.append(drop * theta / factor + (1 - drop) * theta)
    return out


def llama3_table(
    base: float, dim: int, factor: float, low: float, high: float, original: float
) -> list[float]:
    out = []
    for theta in ladder(base, dim):
        wavelength = 2 * math.pi / theta
        if wavelength < original / high:
            out.append(theta)
        elif wavelength > original / low:
            out.append(theta / factor)
        else:
            keep = (original / wavelength - low) / (high - low)
            out.append((1 - keep) * theta / factor + keep * theta)
    return out


def magnitude(factor: float, weight: float = 1.0) -> float:
    return 0.1 * weight * math.log(factor) + 1.0


# ------------------------------------------------------------------------- one schedule


def schedule(name: str, values: list[float], dim: int, base: float, **more: Any) -> dict[str, Any]:
    """``name`` with its first, second and last frequency; more: attention, softmax, layers, ..."""
    return {
        "name": name,
        "rotary_dim": dim,
        "rope_theta": base,
        "channels": len(values),
        "first": values[0],
        "second": values[1],
        "last": values[-1],
        "attention_scaling": more.pop("attention", 1.0),
        "softmax_scale": more.pop("softmax", 1.0),
        **more,
    }


def plain(base: float, dim: int, name: str = "text", **more: Any) -> dict[str, Any]:
    return schedule(name, ladder(base, dim), dim, base, **more)


def linear(base: float, dim: int, factor: float, name: str = "text", **more: Any) -> dict[str, Any]:
    return schedule(name, divided(ladder(base, dim), factor), dim, base, **more)


def yarn(base: float, dim: int, factor: float, original: float, **more: Any) -> dict[str, Any]:
    name = more.pop("name", "text")
    form = {k: more.pop(k) for k in ("fast", "slow", "truncate") if k in more}
    more.setdefault("attention", magnitude(factor))
    return schedule(name, yarn_table(base, dim, factor, original, **form), dim, base, **more)


def llama3(base: float, dim: int, factor: float, low: float, high: float, **more: Any) -> Any:
    return schedule("text", llama3_table(base, dim, factor, low, high, 8192), dim, base, **more)


def dynamic(base: float, dim: int, factor: float, declared: int) -> list[dict[str, Any]]:
    """At the declared length, and at twice that, where the base has grown."""
    grown = base * (factor * 2 - (factor - 1)) ** (dim / (dim - 2))
    return [
        schedule(f"text/@{declared}", ladder(base, dim), dim, base),
        schedule(f"text/@{2 * declared}", ladder(grown, dim), dim, base),
    ]


def longrope(base: float, dim: int, config: dict[str, Any], attention: float) -> list[Any]:
    out = []
    for name in ("short", "long"):
        factors = config["rope_scaling"][f"{name}_factor"]
        values = [t / f for t, f in zip(ladder(base, dim), factors, strict=True)]
        out.append(schedule(f"text/{name}", values, dim, base, attention=attention))
    return out


def square(base: float, head: int, name: str = "vision") -> dict[str, Any]:
    """A vision tower: one ladder over half the head, used once for rows and once for columns."""
    return schedule(name, ladder(base, head // 2), head, base, axes=2)


def pixtral(base: float, head: int) -> dict[str, Any]:
    """One ladder over the head, dealt in turn to rows and columns: nothing repeats."""
    whole = ladder(base, head)
    return schedule("vision", whole[::2] + whole[1::2], head, base, axes=2)


def grid(base: float, widths: list[int], name: str = "transformer") -> dict[str, Any]:
    """Independent ladders, one an axis, concatenated."""
    values = [v for width in widths for v in ladder(base, width)]
    return schedule(name, values, sum(widths), base, axes=len(widths))


def every_fourth_left_out(layers: int) -> list[int]:
    return [i for i in range(layers) if i % 4 != 3]


def only(layers: int, kept: range) -> list[int]:
    return [i for i in range(layers) if i in kept]
