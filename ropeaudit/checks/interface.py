"""What a check module provides and what it is given."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from ropeaudit.document import Document
from ropeaudit.findings import Outcome
from ropeaudit.records import field, record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject
from ropeaudit.schedule.views import Beside

_NOTHING = Beside(why="no engine was looked at")


@record()
class Case:
    """One subject under judgement.

    ``lengths``: context lengths the user asked for (``--context``), empty when none; ``memo``: a
    scratch space in which checks of the same run share what is dear to compute; ``beside``: what
    other engines make of the same file.
    """

    subject: Subject
    lengths: tuple[int, ...] = ()
    memo: dict[Any, Any] = field(default_factory=dict)
    beside: Beside = _NOTHING

    @property
    def document(self) -> Document | None:
        """The config as it stands in the file; None for tables and GGUF metadata."""
        found = self.subject.reading.document if self.subject.reading else None
        return found if isinstance(found, Document) else None

    def lengths_for(self, schedule: Schedule) -> tuple[int, ...]:
        """Lengths to judge a text schedule at: trained, declared, asked for; sorted, unique.

        Sliding layers are judged at ``min(length, window)``: no query sees further.
        """
        context = schedule.context
        wanted = {context.trained, context.declared, *self.lengths} - {None}
        window = context.window
        return tuple(sorted({min(n, window) if window else n for n in wanted if n}))

    def trained(self, schedule: Schedule) -> int | None:
        """The trained length, limited by the sliding window; None if the input states none."""
        trained = schedule.context.trained
        window = schedule.context.window
        return min(trained, window) if trained and window else trained


class Check(Protocol):
    """A module of this package. ``Params`` is a record with a default for each field."""

    SLUG: str
    NEEDS: str
    """What must be there for it to run, once: ``schedule`` or ``encoding`` at least one of these,
    ``views`` a schedule and what other engines build, ``subject`` nothing. Checks of encodings
    stand in the folder ``encodings``."""
    Params: type

    def run(self, case: Case, params: Any) -> Iterator[Outcome]:
        """Yields at least one outcome; SKIP with a reason when its input is absent."""


@cache
def slugs() -> tuple[str, ...]:
    """Slugs of all checks of this package, sorted, without importing them."""
    return tuple(sorted(_modules()))


@cache
def load(slug: str) -> Check:
    """The check module for ``slug``; raises KeyError for an unknown one."""
    return import_module(_modules()[slug])


def module_name(slug: str) -> str:
    """Where the check for ``slug`` stands; raises KeyError for an unknown one."""
    return _modules()[slug]


def is_of_encodings(slug: str) -> bool:
    """Whether the check judges encodings only, told without importing it.

    Hardly any target has one, and auditing the others must not cost the imports.
    """
    return _modules()[slug].startswith(_ENCODINGS)


_ENCODINGS = f"{__package__}.encodings."


@cache
def _modules() -> dict[str, str]:
    import ropeaudit.checks as package

    folder = Path(package.__path__[0])
    found = {}
    for path, prefix in ((folder, f"{__package__}."), (folder / "encodings", _ENCODINGS)):
        for info in pkgutil.iter_modules([str(path)]):
            if not info.ispkg and info.name != "interface" and not info.name.startswith("_"):
                found[info.name.replace("_", "-")] = prefix + info.name
    return found
