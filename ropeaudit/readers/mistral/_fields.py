"""Typed access to a ``params.json``, with a fact for every value that was used."""

from __future__ import annotations

from typing import Any

from ropeaudit.document import Document
from ropeaudit.errors import unexpected
from ropeaudit.facts import Fact, Json, Note, Observation, Oddity, Origin
from ropeaudit.records import field, record


@record(frozen=False)
class Fields:
    """The document with typed access; collects facts of the schedule being built."""

    document: Document
    facts: list[Fact] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @property
    def data(self) -> Any:
        return self.document.data

    def at(self, pointer: str) -> Json:
        """The value at a JSON pointer, None where there is none (JSON null counts as none)."""
        node: Json = self.data
        for step in pointer.split("/")[1:]:
            node = node.get(step) if isinstance(node, dict) else None
        return node

    def number(self, pointer: str, name: str, default: float | None = None) -> float | None:
        """A positive finite number, noted as a fact; ``default`` where the file states none."""
        value = self.at(pointer)
        if value is None:
            if default is not None:
                self.facts.append(Fact(name, default, Origin.DEFAULT))
            return default
        bad = isinstance(value, bool) or not isinstance(value, int | float)
        if bad or not 0 < value < 1e300:
            raise unexpected(pointer, value, "a positive number", where=pointer)
        self.facts.append(Fact(name, value, self._origin(pointer), self.document.location(pointer)))
        return float(value)

    def count(self, pointer: str, name: str) -> int | None:
        """A positive whole number (``128`` or ``128.0``)."""
        value = self.number(pointer, name)
        if value is not None and (value != int(value) or value > 2**40):
            raise unexpected(pointer, self.at(pointer), "a whole number", where=pointer)
        return None if value is None else int(value)

    def switch(self, pointer: str, name: str, default: bool) -> bool:
        value = self.at(pointer)
        if value is None:
            self.facts.append(Fact(name, default, Origin.DEFAULT))
            return default
        if not isinstance(value, bool):
            raise unexpected(pointer, value, "true or false", where=pointer)
        self.facts.append(Fact(name, value, self._origin(pointer), self.document.location(pointer)))
        return value

    def observe(self, kind: Oddity, message: str, pointer: str, **evidence: Json) -> None:
        self.observations.append(
            Observation(
                kind=kind,
                message=message,
                location=self.document.location(pointer),
                evidence=evidence,
            )
        )

    def _origin(self, pointer: str) -> Origin:
        return Origin.OVERRIDE if pointer in self.document.overridden else Origin.FILE
