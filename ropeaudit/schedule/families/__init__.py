"""Scaling laws, one module each; found by folder, so adding one is adding a file.

Each module has NAMES (the ``rope_type`` spellings it answers to), REQUIRED and OPTIONAL (keys of
the scaling dict) and ``build(inputs) -> Built``. The arithmetic follows
``transformers/modeling_rope_utils.py`` (5.24), operation by operation in float32.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from ropeaudit.schedule.families.interface import Built, Family, Inputs

__all__ = ["Built", "Family", "Inputs", "family", "names"]


@cache
def _modules() -> dict[str, Family]:
    found: dict[str, Family] = {}
    for info in pkgutil.iter_modules(__path__):
        if info.name.startswith("_") or info.name == "interface":
            continue
        module = import_module(f"{__name__}.{info.name}")
        for name in module.NAMES:
            found[name] = module
    return found


def family(rope_type: str) -> Family | None:
    """The law that answers to ``rope_type``, or None if there is none."""
    return _modules().get(rope_type)


def names() -> tuple[str, ...]:
    """Every ``rope_type`` spelling that has a law, sorted."""
    return tuple(sorted(_modules()))
