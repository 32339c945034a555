"""The tensors of a conversion as they are written."""

from __future__ import annotations

from typing import Any

from ropeaudit.convert.interface import Converted


def stored(made: Converted) -> dict[str, Any]:
    """Float32, the format of the public code, where it holds every value; float64 elsewhere."""
    import numpy as np

    found = {}
    for name, values in made.tensors.items():
        with np.errstate(over="ignore"):
            narrow = values.astype(np.float32)
        exact = bool((narrow == values).all())
        found[name] = np.ascontiguousarray(narrow if exact else values)
    return found
