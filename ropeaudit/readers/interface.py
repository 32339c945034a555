"""What a reader returns."""

from __future__ import annotations

from typing import Protocol

from ropeaudit.facts import Note, Observation, Reading
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule


@record(kw_only=True)
class Resolution:
    """Schedules an engine builds from a Reading, with what was noticed on the way."""

    model_type: str | None = None
    schedules: tuple[Schedule, ...] = ()
    observations: tuple[Observation, ...] = ()
    notes: tuple[Note, ...] = ()


class Reader(Protocol):
    """A module of this package."""

    NAME: str

    def read(self, reading: Reading, lengths: tuple[int, ...]) -> Resolution:
        """``lengths``: context lengths asked for, which decide variants of length-dependent laws.

        Raises InvalidValue for values from which no table can be built.
        """
