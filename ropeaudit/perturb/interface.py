"""What a perturbation module provides and what it is given."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from ropeaudit.errors import UsageError
from ropeaudit.records import field, record
from ropeaudit.schedule.core import Schedule


class Refused(UsageError):
    """A perturbation that cannot be made of this schedule; the caller adds which one it is."""


@record(kw_only=True)
class Key:
    """One ``key=value`` of a recipe head.

    ``read`` turns the value's text into the parameter and raises ValueError, with what was
    expected as its message; ``write`` is its canonical text. ``always``: the canonical text names
    the key even where its value is the default. ``aliases``: other spellings, as configs have them.
    ``path``: the value names a file.
    """

    read: Callable[[str], Any]
    write: Callable[[Any], str] = str
    always: bool = True
    aliases: tuple[str, ...] = ()
    path: bool = False


@record(kw_only=True)
class Head:
    """One spelling of a perturbation: ``int8`` fixes ``bits`` and takes ``mode`` as a bare word.

    ``keys``: parameter -> Key, in canonical order; ``bare``: the parameter that may stand without
    its key, alone; ``fixed``: parameters that the head itself decides. ``usage``: as in the guide.
    """

    name: str
    usage: str
    keys: Mapping[str, Key] = field(default_factory=dict)
    bare: str | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)


@record(kw_only=True)
class Changed:
    """What a perturbation makes of one schedule.

    ``schedules``: nearly always one; longrope gives ``short`` and ``long``. ``found``: JSON values
    that the table decided and not the recipe's text, such as the channels of ``at=mid`` or a value
    that had to be moved.
    """

    schedules: tuple[Schedule, ...]
    found: Mapping[str, Any] = field(default_factory=dict)


class Perturbation(Protocol):
    """A module of ``ropeaudit.perturb.changes``.

    ``Params`` is a record with the defaults. ``RESCALES``: the module builds a table by a scaling
    law from parameters, whatever numbers the schedule holds; where an earlier step has moved
    values, these keep their ratio to the law's.
    """

    HEADS: tuple[Head, ...]
    RESCALES: bool
    Params: type

    def check(self, params: Any) -> None:
        """Raises ValueError, with a sentence, for parameters that no schedule could take."""

    def expect(self, params: Any, base: Schedule, made: Schedule) -> frozenset[str]:
        """Rules that must fire when ``made``, the outcome for ``base``, is audited beside it."""

    def apply(self, params: Any, schedule: Schedule) -> Changed:
        """The perturbed schedule, float32 values; raises Refused where it cannot be made."""


@cache
def modules() -> tuple[Perturbation, ...]:
    """Every perturbation, found by folder."""
    # Not "import ... as": the attribute ropeaudit.perturb is the function of the public interface.
    package = import_module("ropeaudit.perturb.changes")
    names = sorted(
        info.name for info in pkgutil.iter_modules(package.__path__) if info.name[0] != "_"
    )
    return tuple(import_module(f"{package.__name__}.{name}") for name in names)


@cache
def heads() -> Mapping[str, tuple[Head, Perturbation]]:
    """Every head by its name, with the module that carries it out."""
    return {head.name: (head, module) for module in modules() for head in module.HEADS}
