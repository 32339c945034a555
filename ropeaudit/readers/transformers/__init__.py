"""What transformers 5.24 builds from a Hugging Face config: the reference reading.

The rules follow ``transformers/modeling_rope_utils.py`` (the standardisation of rope parameters and
the tables) and each config class's own conversion; what is special about a model type comes from
``ropeaudit.schedule.model_types``. A document is walked into nodes (the config and its parts), each
node's rope dict is standardised, and every dict is built into one or more schedules.
"""

from __future__ import annotations

from ropeaudit.facts import Note, Observation, Reading
from ropeaudit.readers.interface import Resolution
from ropeaudit.readers.transformers._build import build
from ropeaudit.readers.transformers._grid import claims
from ropeaudit.readers.transformers._grid import read as read_grid
from ropeaudit.readers.transformers._observe import observe
from ropeaudit.readers.transformers._refusals import refusals
from ropeaudit.readers.transformers._rope import resolve
from ropeaudit.readers.transformers._walk import walk
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule

NAME = "transformers-5.24"

__all__ = ["NAME", "read"]


def read(reading: Reading, lengths: tuple[int, ...] = ()) -> Resolution:
    """Schedules of ``reading.document``; ``lengths`` decide the variants of dynamic scaling.

    Raises InvalidValue for values from which no table can be built.
    """
    document = reading.document
    if document is None:
        return Resolution(notes=(Note("insufficient", "there is no config to read"),))
    if claims(document.data):
        return read_grid(document)
    found = walk(document)
    schedules: list[Schedule] = []
    observations: list[Observation] = list(found.observations)
    notes: list[Note] = list(found.notes)
    for node in found.nodes:
        ropes = resolve(node)
        built = build(node, ropes, lengths)
        schedules.extend(built.schedules)
        observations.extend(built.observations)
        observations.extend(observe(node, ropes, built.schedules))
        notes.extend(built.notes)
        notes.extend(refusals(node, ropes))
    return Resolution(
        model_type=found.model_type,
        schedules=_distinct(schedules),
        observations=tuple(observations),
        notes=tuple(notes) or _silence(schedules),
    )


def _silence(schedules: list[Schedule]) -> tuple[Note, ...]:
    if schedules:
        return ()
    return (Note("insufficient", "no rotary schedule can be derived from this config"),)


def _distinct(schedules: list[Schedule]) -> tuple[Schedule, ...]:
    """Schedules with unique names: two parts of one component get a running number."""
    seen: dict[str, int] = {}
    out = []
    for schedule in schedules:
        count = seen[schedule.name] = seen.get(schedule.name, 0) + 1
        if count > 1:
            schedule = replace(schedule, component=f"{schedule.component}_{count}")
        out.append(schedule)
    return tuple(out)
