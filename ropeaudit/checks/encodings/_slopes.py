"""Slopes of what is added to the score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.checks.encodings._look import Look
from ropeaudit.encodings import _alibi

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

NO_BIAS = "nothing is added to its score"


def slopes(look: Look) -> Array | None:
    """(layers, heads): by how much a logit falls per position; None without a bias."""
    import numpy as np

    one = np.ones((1, 1))
    if look.module.bias(look.encoding, one, one) is None:
        return None
    return _alibi.of(look.encoding)
