"""What can get lost between two schedules: one kind a file, found by folder.

A module has ``NAME``, the first words of its sentence and stable; ``GRAVE``, whether the loss is an
error at any phase drift; and ``detail(case)``, the rest of the sentence, or None.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module

from ropeaudit.diff.interface import Case, Loss, Lost


@cache
def kinds() -> tuple[Loss, ...]:
    """All modules of this package, by file name."""
    names = sorted(i.name for i in pkgutil.iter_modules(__path__) if not i.name.startswith("_"))
    return tuple(import_module(f"{__name__}.{name}") for name in names)


def find(case: Case) -> Iterator[Lost]:
    """Every kind of loss that the case shows, the grave ones first."""
    found = []
    for kind in kinds():
        said = kind.detail(case)
        if said is not None:
            found.append(Lost(kind.NAME, f"{kind.NAME}: {said}", kind.GRAVE))
    yield from sorted(found, key=lambda lost: not lost.grave)
