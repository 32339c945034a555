"""Typed access to GGUF metadata: each value with its place, each wrong type as one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ropeaudit.errors import InvalidValue, quoted, shown
from ropeaudit.facts import Fact, Location, Origin, Reading, as_number


class Keys:
    """Keys of the file's own architecture, named without their prefix.

    ``facts`` collects what was read, in order. Getters raise InvalidValue for values of a type that
    the engine does not take, for NaN and for infinities; an absent key is None.
    """

    def __init__(self, reading: Reading) -> None:
        self._metadata: Mapping[str, Any] = reading.metadata or {}
        self._overridden = reading.overridden
        self.file = reading.files[0].path if reading.files else reading.target
        name = self._metadata.get("general.architecture")
        self.architecture = name if isinstance(name, str) else ""
        self.facts: list[Fact] = []

    def __contains__(self, name: str) -> bool:
        return self._path(name) in self._metadata

    def _path(self, name: str) -> str:
        return f"{self.architecture}.{name}"

    def names(self, start: str) -> list[str]:
        """Keys below ``start``, without the architecture, in the file's order."""
        prefix = self._path("")
        return [k[len(prefix) :] for k in self._metadata if k.startswith(prefix + start)]

    def raw(self, name: str) -> Any:
        return self._metadata.get(self._path(name))

    def place(self, name: str) -> Location:
        return Location(file=self.file, key=self._path(name))

    def number(self, name: str, field: str | None = None) -> float | None:
        """A finite number; recorded as a fact under ``field``."""
        value = self.raw(name)
        if name not in self:
            return None
        number = as_number(value)
        if number is None:
            raise self._wrong(name, value, "a number")
        if not math.isfinite(number):
            raise self._wrong(name, value, "a finite number")
        self._record(field, value, name)
        return number

    def count(self, name: str, field: str | None = None, *, limit: int = 2**31 - 1) -> int | None:
        """An integer from 0 to ``limit``; recorded as a fact under ``field``."""
        value = self.raw(name)
        if name not in self:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= limit:
            raise self._wrong(name, value, f"an integer from 0 to {limit}")
        self._record(field, value, name)
        return value

    def text(self, name: str, field: str | None = None) -> str | None:
        value = self.raw(name)
        if name not in self:
            return None
        if not isinstance(value, str):
            raise self._wrong(name, value, "a text")
        self._record(field, value, name)
        return value

    def flag(self, name: str) -> bool | None:
        value = self.raw(name)
        if name not in self:
            return None
        if not isinstance(value, bool):
            raise self._wrong(name, value, "true or false")
        return value

    def integers(self, name: str) -> int | list[int] | None:
        """A count, or a list of integers (one a layer, or one a section)."""
        value = self.raw(name)
        if name not in self:
            return None
        if isinstance(value, list):
            if not all(isinstance(v, int) for v in value):
                raise self._wrong(name, value, "integers")
            return [int(v) for v in value]
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(name, value, "an integer or a list of at most 4096")
        return value

    def default(self, field: str, value: Any) -> None:
        """Records that ``value`` is not in the file."""
        self.facts.append(Fact(field, value, Origin.DEFAULT))

    def derived(self, field: str, value: Any, location: Location | None = None) -> None:
        self.facts.append(Fact(field, value, Origin.DERIVED, location))

    def fact(self, field: str, name: str, value: Any) -> Fact:
        """``value`` of the key ``name`` as a fact, without recording it."""
        overridden = self._path(name) in self._overridden
        origin = Origin.OVERRIDE if overridden else Origin.FILE
        return Fact(field, value, origin, self.place(name))

    def _record(self, field: str | None, value: Any, name: str) -> None:
        if field is not None:
            self.facts.append(self.fact(field, name, value))

    def _wrong(self, name: str, value: Any, expected: str) -> InvalidValue:
        found = "a text or list too long to keep" if value is None else shown(value)
        return InvalidValue(
            f"{quoted(self._path(name))} is {found}, expected {expected}; "
            "set the key again or convert the model again",
            where=self._path(name),
        )
