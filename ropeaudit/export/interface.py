"""What a kind of output provides and what it is given.

A *spec* is what follows ``--to``: ``hf=DIR``, ``gguf=FILE`` or a file whose suffix says the kind.
Kinds are found by folder; a module of this package with ``claims`` and ``write`` is one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ropeaudit.perturb.variant import Variant
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject


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


def claim_prefix(spec: str, prefix: str) -> str | None:
    """What follows ``prefix=``."""
    head, equals, path = spec.partition("=")
    return path if equals and head == prefix else None


def claim_suffix(spec: str, suffix: str) -> str | None:
    """The whole spec, where it is a path with ``suffix``."""
    return spec if spec.lower().endswith(suffix) else None
