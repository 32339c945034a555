"""Sizes that the user states (``grid=14x14``, ``head-dim=64``) and the positions they make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ropeaudit.errors import UsageError, quoted

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Positions

GRID = "rows x columns of patches in training, such as 14x14"
TEST_GRID = "rows x columns of patches now, such as 28x28"
HEAD_DIM = "channels of one head, such as 64"
MAX_STEPS = 1 << 20
"""No axis is longer; a larger number is a slip."""

_SIZES = re.compile(r"\d{1,7}(?:[x×]\d{1,7}){0,2}")


def sizes(options: Mapping[str, str], name: str, axes: int) -> tuple[int, ...] | None:
    """The option ``name`` as one number of steps an axis, in the order written; None if absent.

    A single number stands for all axes. Raises UsageError for anything else.
    """
    text = options.get(name)
    if text is None:
        return None
    found = re.split("[x×]", text.lower()) if _SIZES.fullmatch(text.lower()) else []
    steps = tuple(int(n) for n in found)
    if len(steps) == 1:
        steps *= axes
    if len(steps) != axes or not all(0 < n <= MAX_STEPS for n in steps):
        shape = "x".join(("14", "14", "14")[:axes])
        raise UsageError(f"{name} is {quoted(text)}, expected {axes} sizes such as {shape}")
    return steps


def whole(options: Mapping[str, str], name: str, *, least: int = 1) -> int | None:
    """The option ``name`` as a whole number; None if absent. Raises UsageError."""
    text = options.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or not least <= int(text[:12]) <= MAX_STEPS:
        raise UsageError(f"{name} is {quoted(text)}, expected a whole number from {least}")
    return int(text)


def number(options: Mapping[str, str], name: str) -> float | None:
    """The option ``name`` as a number from 1e-6 to 1e15; None if absent. Raises UsageError."""
    text = options.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1e-6 <= value <= 1e15:
        raise UsageError(f"{name} is {quoted(text)}, expected a number from 1e-6 to 1e15")
    return value


def image(trained: tuple[int, int] | None, used: tuple[int, int] | None) -> Positions:
    """Positions of patches on an image, axes (x, y), whole numbers from 0.

    Sizes are (rows, columns); x counts columns.
    """
    from ropeaudit.encodings.core import Positions

    now = used or trained
    extent = (None, None) if now is None else (float(now[1] - 1), float(now[0] - 1))
    return Positions(
        step=(1.0, 1.0),
        extent=extent,
        integer=True,
        trained=None if trained is None else trained[::-1],
        used=None if used is None else used[::-1],
    )
