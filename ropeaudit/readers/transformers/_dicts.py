"""Rope dicts with the place of every value."""

from __future__ import annotations

from collections.abc import Mapping

from ropeaudit.document import escape
from ropeaudit.errors import InvalidValue, unexpected
from ropeaudit.facts import Json
from ropeaudit.readers.transformers._node import MAX_KEYS, Node
from ropeaudit.records import field, record


@record(frozen=False)
class Rope:
    """One standardised rope dict. ``places`` maps a key to its pointer; a default has none.

    ``outer`` is the dict that this one is nested in (itself when flat): yarn looks up ``truncate``
    there. ``origin`` is the pointer of the dict in the file, None where the class default stands.
    """

    label: str | None
    values: dict[str, Json]
    places: dict[str, str]
    origin: str | None = None
    outer: Mapping[str, Json] = field(default_factory=dict)
    original_defaulted: bool = False
    layers: tuple[int, ...] | None = None
    """Layers it serves, where a list of its own says so."""

    @property
    def type(self) -> Json:
        return self.values.get("rope_type")

    def set_default(self, key: str, value: Json, pointer: str | None) -> None:
        if key not in self.values:
            self.values[key] = value
            if pointer is not None:
                self.places[key] = pointer


@record(frozen=False)
class Ropes:
    """The rope dicts of a node and how they were come by."""

    found: list[Rope]
    stray: tuple[str, ...] = ()
    """Keys beside the nested dicts of a two-schedule model, which nothing reads."""
    stray_at: str | None = None
    silent: tuple[str, ...] = ()
    """Labels whose dict is null: layers without rotation."""


def open_dict(label: str | None, values: Mapping[str, Json], pointer: str | None) -> Rope:
    """``values`` as a rope dict whose keys stand at ``pointer``."""
    places = {} if pointer is None else {k: f"{pointer}/{escape(k)}" for k in values}
    return Rope(label, dict(values), places, pointer, values)


def dict_at(node: Node, key: str) -> Mapping[str, Json] | None:
    """The rope dict under ``key``; raises InvalidValue if something else stands there."""
    value = node.data.get(key)
    if isinstance(value, dict) and len(value) > MAX_KEYS:
        raise InvalidValue(
            f"{key} has {len(value)} keys, expected at most {MAX_KEYS}; remove what is no setting",
            where=f"{node.pointer}/{key}",
        )
    if value is None or isinstance(value, dict):
        return value
    if key == "rope_scaling" and not value:
        return None
    raise unexpected(key, value, "an object of settings", where=f"{node.pointer}/{key}")
