"""Conversions: the source as operators, what a target form provides, and the door to all targets.

Whatever is converted is first a set of generators ``G`` (or maps ``W``): position p turns a head by
``exp(p G)``, or by ``W^p``. A target is a module of this package with ``NAME`` and ``convert``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ropeaudit.errors import UsageError, quoted, suggestion
from ropeaudit.facts import CONVERSION
from ropeaudit.records import field, record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Positions

SCHEMA = CONVERSION
CLOSE = 1e-9
"""A conversion is refused where its own result misses the source by more, relative to it."""


class Refused(UsageError):
    """There is no such conversion, for a reason of mathematics; the message says which."""

    kind = "refused"


@record(kw_only=True)
class Source:
    """What is converted.

    ``origin``: ``schedule``, ``encoding``, ``map``, ``generator``, ``parameter`` or ``conversion``.
    ``kind``: the rope type or the encoding's kind. ``generators``: (axes, layers, heads, n, n),
    one head (one layer) where all share it. ``maps``: (heads, n, n) where only the map of one step
    is known; then ``generators`` is None. ``heads``: heads of the model, if anybody says.
    ``integer``: whether positions are whole numbers. ``scale``: factor on both turned vectors
    (attention factor), no part of a rotation. ``axes`` and ``positions``: of an encoding; None
    where positions are whole numbers or nobody says.
    """

    target: str
    name: str
    origin: str
    kind: str
    generators: Array | None = field(default=None, compare=False)
    maps: Array | None = field(default=None, compare=False)
    heads: int | None = None
    key_heads: int | None = None
    layers: tuple[int, ...] | None = None
    unit: str = "rad/step"
    integer: bool = True
    axes: tuple[str, ...] | None = None
    positions: Positions | None = None
    scale: float = 1.0
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Channels of one head."""
        found = self.maps if self.generators is None else self.generators
        return 0 if found is None else int(found.shape[-1])


@record(kw_only=True)
class Converted:
    """What a conversion made.

    ``tensors`` under the target's public names; ``basis`` (layers, heads, n, n): its transpose goes
    into the projections of queries and keys, None where that is the identity. ``frequencies``:
    (axes, layers, heads, n//2), radians per unit. ``residual``: largest entry by which the
    generator (the map, where only that is known) made again from ``tensors`` misses the source's,
    relative to its largest; 0.0 where the conversion is exact.
    """

    to: str
    source: Source
    tensors: Mapping[str, Array] = field(compare=False)
    basis: Array | None = field(default=None, compare=False)
    frequencies: Array = field(compare=False)
    residual: float
    notes: tuple[str, ...] = ()


class Target(Protocol):
    """A module of this package."""

    NAME: str

    def convert(self, source: Source, *, heads: int | None = None) -> Converted:
        """``heads``: heads to write where the source does not say. Raises Refused, with the reason
        in mathematics, and UsageError for what the caller has to state."""


@cache
def targets() -> Mapping[str, Any]:
    """Every target by name, found by folder."""
    # By path, since ropeaudit.convert is the function of that name.
    own = {"interface", "reading"}
    names = (
        info.name
        for info in pkgutil.iter_modules([str(Path(__file__).parent)])
        if info.name[0] != "_" and info.name not in own
    )
    found = (import_module(f"{__package__}.{name}") for name in sorted(names))
    return {module.NAME: module for module in found}


def target(name: str) -> Target:
    """The target called ``name``; raises UsageError for an unknown one."""
    known = targets()
    if name not in known:
        said = suggestion(name, known) or f"; known: {', '.join(known)}"
        raise UsageError(f"nothing is converted to {quoted(name)}{said}")
    found: Target = known[name]
    return found
