"""A Subject: one audited target with its schedules, and what was noticed on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit.facts import Note, Observation, Reading
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Encoding
    from ropeaudit.schedule.views import View


@record()
class Problem:
    """Why a target could not be read: ``kind`` is the error's, ``where`` a place inside it."""

    kind: str
    message: str
    where: str | None = None


@record(kw_only=True)
class Subject:
    """``schedules`` are what the engine builds; stored tables appear as variant ``stored``.

    ``encodings`` are those that are no single table; ``views`` what other engines make of the same
    target, where they were asked for. ``error`` is set only for input that cannot be read; a
    readable file without position encoding has ``error`` None, neither schedules nor encodings, and
    a note of kind ``no_rotary`` or ``insufficient``. ``lengths`` are the context lengths asked for,
    those that came as a run-time override included.
    """

    target: str
    format: str
    model_type: str | None = None
    schedules: tuple[Schedule, ...] = ()
    encodings: tuple[Encoding, ...] = ()
    views: tuple[View, ...] = ()
    observations: tuple[Observation, ...] = ()
    notes: tuple[Note, ...] = ()
    reading: Reading | None = None
    lengths: tuple[int, ...] = ()
    error: Problem | None = None

    def stored(self) -> tuple[Schedule, ...]:
        """Schedules that come from tensors or live buffers rather than from a config."""
        return tuple(s for s in self.schedules if s.variant == "stored")

    def built(self) -> tuple[Schedule, ...]:
        """Schedules that an engine builds from the config."""
        return tuple(s for s in self.schedules if s.variant != "stored")

    def built_for(self, held: Schedule) -> tuple[Schedule, ...]:
        """The schedules that an engine builds where the stored table ``held`` is kept.

        Same component, then same layer type or common layers; all of the component where the name
        of the tensor tells neither.
        """
        built = tuple(s for s in self.built() if s.component == held.component)
        kind = (held.layer_type or "").split(".")[0].removesuffix("_original")
        exact = tuple(s for s in built if kind and s.layer_type == kind)
        if exact:
            return exact
        if held.layers:
            layers = set(held.layers)
            common = tuple(s for s in built if s.layers and layers & set(s.layers))
            if common:
                return common
        return built
