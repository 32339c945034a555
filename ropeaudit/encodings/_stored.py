"""Stored tensors as checked arrays, and the sentences for what cannot be a position encoding."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ropeaudit.errors import InvalidValue, quoted, quoted_path
from ropeaudit.facts import Fact, StoredTensor

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

MAX_PARAMETER = 1e6
"""No parameter of a position encoding is larger: radians per position, or raw values near 1."""
_NUMBER = re.compile(r"(?:^|\.)(\d{1,9})(?=\.)")


def finite(tensor: StoredTensor) -> Array:
    """The values of ``tensor``; raises InvalidValue for NaN, infinity and what is far too large.

    The message names the place of the first one.
    """
    import numpy as np

    values: Array = tensor.read()
    # NaN compares as False.
    sound = np.abs(values) <= MAX_PARAMETER
    if not sound.all():
        at = np.argwhere(~sound)[0].tolist()
        raise InvalidValue(
            f"{quoted_path(tensor.location.file)}: {quoted(tensor.name)} holds "
            f"{float(values[tuple(at)])} at {at}, expected finite numbers of a size below "
            f"{MAX_PARAMETER:g}; the training diverged or the file is damaged, take another "
            "checkpoint",
            where=tensor.name,
        )
    return values


def misshaped(tensor: StoredTensor, expected: str) -> InvalidValue:
    """The error for a tensor whose shape cannot belong to the encoding that its name claims."""
    return InvalidValue(
        f"{quoted_path(tensor.location.file)}: {quoted(tensor.name)} has the shape "
        f"{list(tensor.shape)}, expected {expected}",
        where=tensor.name,
    )


def numbers(name: str) -> tuple[int, ...]:
    """The counters in a name, outermost first: ``layers.2.blocks.1.attn.x`` has (2, 1)."""
    return tuple(int(n) for n in _NUMBER.findall(name))


def facts(tensors: Sequence[StoredTensor]) -> tuple[Fact, ...]:
    """Where each tensor stands, for the provenance of an encoding."""
    return tuple(
        Fact(t.name.rpartition(".")[2], f"{t.dtype}{list(t.shape)}", location=t.location)
        for t in tensors
    )
