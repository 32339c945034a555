"""``--to FILE.npy``: one table as a NumPy array, shape (channels,), radians per position."""

from __future__ import annotations

from pathlib import Path

from ropeaudit.errors import UsageError, quoted, quoted_path
from ropeaudit.export import _table
from ropeaudit.export.interface import Request, Written, claim_suffix
from ropeaudit.schedule.core import Schedule

NAME = "npy"


def claims(spec: str) -> str | None:
    return claim_suffix(spec, ".npy")


def write(request: Request) -> Written:
    """The table alone; raises UsageError where there are several."""
    names = [s.name for s in request.variant.schedules]
    if len(names) > 1:
        raise UsageError(
            f"{quoted_path(request.path)} can hold one table, and the variant has {len(names)} "
            f"({', '.join(map(quoted, names[:4]))}{', …' if len(names) > 4 else ''}); write a "
            ".safetensors or .json file instead"
        )
    note = "an .npy file holds numbers alone: the recipe and the attention scaling are not in it"
    return _table.write(request, NAME, _save, (note,))


def _save(path: Path, document: str, schedules: list[Schedule]) -> None:
    import numpy as np

    kind = "<f4" if _table.single(schedules) else "<f8"
    with path.open("wb") as file:
        np.save(file, np.array(schedules[0].inv_freq, dtype=kind), allow_pickle=False)
