"""Writing a variant: the one door to every kind of output."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path

from ropeaudit.errors import UsageError, quoted
from ropeaudit.export import _encodings
from ropeaudit.export.interface import Kind, Request, Written
from ropeaudit.perturb.variant import Variant
from ropeaudit.schedule.subject import Subject

EXPECTED = "hf=DIR, gguf=FILE.gguf, FILE.json, FILE.npy or FILE.safetensors"


@cache
def kinds() -> tuple[Kind, ...]:
    """Every kind of output, found by folder."""
    import ropeaudit.export as package

    names = sorted(
        info.name
        for info in pkgutil.iter_modules(package.__path__)
        if info.name[0] != "_" and info.name not in ("interface", "writing")
    )
    return tuple(import_module(f"{package.__name__}.{name}") for name in names)


def write(
    variant: Variant, spec: str, *, source: Subject, copy: bool = False, force: bool = False
) -> Written:
    """Write ``variant`` of ``source`` to where ``spec`` says, read it back and compare.

    Raises UsageError where nothing could be written; then nothing is left behind.
    """
    for kind in kinds():
        path = kind.claims(spec)
        if path is None:
            continue
        if not path or "\0" in path:
            raise UsageError(f"--to {quoted(spec)} names no possible path; expected {EXPECTED}")
        request = Request(variant=variant, source=source, path=Path(path), copy=copy, force=force)
        learned = variant.encodings
        if learned and (not variant.schedules or any(made.changed for made in learned)):
            return _encodings.write(request, kind.NAME)
        return kind.write(request)
    raise UsageError(f"--to {quoted(spec)} is no output that is known; expected {EXPECTED}")
