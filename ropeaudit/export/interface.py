"""Writing a variant: what a kind of output provides, and the one door to all of them.

A *spec* is what follows ``--to``: ``hf=DIR``, ``gguf=FILE`` or a file whose suffix says the kind.
Kinds are found by folder; a module of this package with ``claims`` and ``write`` is one.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol

from ropeaudit.errors import UsageError, quoted
from ropeaudit.perturb.variant import Variant
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject

EXPECTED = "hf=DIR, gguf=FILE.gguf, FILE.json, FILE.npy or FILE.safetensors"


@record(kw_only=True)
class Request:
    """One order: the variant, where it came from, and where it goes.

    ``copy``: full copies instead of links to the weights. ``force``: an existing output is
    replaced.
    """

    variant: Variant
    source: Subject
    path: Path
    copy: bool = False
    force: bool = False


@record(kw_only=True)
class Written:
    """What was written and what an engine makes of it.

    ``schedules``: the variant's, with the tables that the engine rebuilds from the output, float32
    radians per position. Written again, they give the same output. ``max_ulp``: largest distance
    from the wanted tables in float32 steps. ``document``: the same tables and the recipe as JSON
    text, schema ``ropeaudit/variant/1``. ``notes``: sentences on what is inexact, which engines
    refuse or misread the output, and what it depends on.
    """

    kind: str
    path: str
    schedules: tuple[Schedule, ...]
    max_ulp: int = 0
    document: str = ""
    notes: tuple[str, ...] = ()


class Kind(Protocol):
    """A module of this package."""

    NAME: str

    def claims(self, spec: str) -> str | None:
        """The path in ``spec`` if it asks for this kind."""

    def write(self, request: Request) -> Written:
        """Raises UsageError, with the next step, for what this kind cannot hold or write."""


@cache
def kinds() -> tuple[Kind, ...]:
    """Every kind of output, found by folder."""
    import ropeaudit.export as package

    names = sorted(
        info.name
        for info in pkgutil.iter_modules(package.__path__)
        if info.name[0] != "_" and info.name != "interface"
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
            from ropeaudit.export import _encodings

            return _encodings.write(request, kind.NAME)
        return kind.write(request)
    raise UsageError(f"--to {quoted(spec)} is no output that is known; expected {EXPECTED}")


def claim_prefix(spec: str, prefix: str) -> str | None:
    """What follows ``prefix=``."""
    head, equals, path = spec.partition("=")
    return path if equals and head == prefix else None


def claim_suffix(spec: str, suffix: str) -> str | None:
    """The whole spec, where it is a path with ``suffix``."""
    return spec if spec.lower().endswith(suffix) else None
