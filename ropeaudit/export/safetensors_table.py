"""``--to FILE.safetensors``: one tensor a schedule, and the recipe in the file's metadata.

A tensor is called after its schedule, ``text.sliding_attention.inv_freq``; it holds radians per
position, shape (channels,). The metadata key ``ropeaudit`` holds the variant's document.
"""

from __future__ import annotations

from pathlib import Path

from ropeaudit.export import _table
from ropeaudit.export.interface import Request, Written, claim_suffix
from ropeaudit.schedule.core import Schedule

NAME = "safetensors"


def claims(spec: str) -> str | None:
    return claim_suffix(spec, ".safetensors")


def write(request: Request) -> Written:
    """A tensor for every schedule; raises UsageError."""
    return _table.write(request, NAME, _save)


def _save(path: Path, document: str, schedules: list[Schedule]) -> None:
    import numpy as np
    from safetensors.numpy import save_file

    kind = np.float32 if _table.single(schedules) else np.float64
    tensors = {
        f"{s.name.replace('.', '_').replace('/', '.')}.inv_freq": np.array(s.inv_freq, dtype=kind)
        for s in schedules
    }
    # One key: the library writes several in an order that changes from run to run.
    save_file(tensors, path, metadata={"ropeaudit": document})
