"""One config object with the data about its model type: fields, places, facts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ropeaudit.document import Document, escape
from ropeaudit.errors import InvalidValue, unexpected
from ropeaudit.facts import Fact, Json, Location, Origin, as_number
from ropeaudit.records import field, record
from ropeaudit.schedule.model_types import Spec

MAX_COUNT = 100_000
"""Heads or layers above this are a corrupt number; no list of that length is ever made."""

MAX_WIDTH = 10**7
"""A hidden size above this is a corrupt number."""

MAX_KEYS = 1000
"""Keys in one rope dict; real files have a dozen."""

MAX_LABELS = 256
"""Schedules of one model: at most one a layer, and no model has more layers."""


@record(frozen=False)
class Node:
    """A config object: ``data`` at ``pointer`` of ``document``, read as ``model_type``."""

    document: Document
    data: Mapping[str, Json]
    pointer: str
    model_type: str | None
    component: str
    spec: Spec
    generic: bool = False
    present: bool = True
    """False where the file lacks the part and the class defaults stand in for it."""
    facts: list[Fact] = field(default_factory=list)
    """What decided every schedule of this node (widths, lengths, layers)."""

    @property
    def rope(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.spec["rope"]
        return found

    def find(self, name: str) -> tuple[Json, str | None]:
        """Value and pointer of a field; the class default with pointer None if it is not there."""
        data = self.data
        aliases = self.spec.get("aliases")
        for key in aliases[name] if aliases and name in aliases else (name,):
            if key in data:
                return data[key], f"{self.pointer}/{escape(key)}"
        return self.spec.get("defaults", {}).get(name), None

    def value(self, name: str) -> Json:
        return self.find(name)[0]

    def place(self, pointer: str) -> Location:
        """The location without its line, which is looked up only when a report prints it."""
        return Location(file=self.document.file, pointer=pointer)

    def fact(
        self, name: str, value: Json, pointer: str | None, origin: Origin | None = None
    ) -> Fact:
        """``value`` with its origin: the file, the command line, or the class default."""
        if pointer is None:
            return Fact(name, value, origin or Origin.DEFAULT)
        if origin is None:
            overridden = pointer in self.document.overridden
            origin = Origin.OVERRIDE if overridden else Origin.FILE
        return Fact(name, value, origin, self.place(pointer))

    def integer(self, name: str, low: int, high: int) -> int | None:
        """A whole number within bounds, recorded as a fact; None where it is null or absent."""
        value, pointer = self.find(name)
        if value is None:
            return None
        number = whole(value, name, pointer, low, high)
        self.facts.append(self.fact(name, number, pointer))
        return number


def whole(value: Json, name: str, pointer: str | None, low: int, high: int) -> int:
    """``value`` as an int; raises InvalidValue unless it is a whole number in [low, high]."""
    # type() and not isinstance: bool is an int to Python and never a size.
    if type(value) is int or (type(value) is float and value.is_integer()):
        number = int(value)
        if low <= number <= high:
            return number
    raise unexpected(name, value, f"a whole number from {low} to {high}", where=pointer or name)


def number(value: Json, name: str, pointer: str | None) -> float:
    """``value`` as a finite float; raises InvalidValue otherwise."""
    found = as_number(value)
    if found is not None and math.isfinite(found):
        return found
    raise unexpected(name, value, "a finite number", where=pointer or name)


def floor_division(node: Node, terms: list[Any]) -> int:
    """``terms[0] // (terms[1] * ...)``: names are fields, numbers stand for themselves.

    Raises InvalidValue where a field is missing or the result is no width.
    """
    values: list[int] = []
    for term in terms:
        if isinstance(term, str):
            high = MAX_WIDTH if not values else MAX_COUNT
            found = node.integer(term, 1, high)
            if found is None:
                raise InvalidValue(
                    f"{term} is missing, and the head width follows from it; add it",
                    where=f"{node.pointer}/{term}",
                )
            values.append(found)
        else:
            values.append(int(term))
    divisor: int = math.prod(values[1:])
    return values[0] // divisor


def head_width(node: Node, label: str | None) -> int:
    """The head width that tables are built for, with its facts recorded on the node.

    Raises InvalidValue where it is missing, zero or absurd.
    """
    own = node.spec.get("label_head_dim", {}).get(label)
    for term in node.spec["head_dim"] if own is None else own:
        if isinstance(term, list):
            return _derived_width(node, term)
        value, pointer = _width_term(node, term)
        if value is None or (value == 0 and type(value) is int):  # fall through, as in `or`
            continue
        width = whole(value, "head_dim", pointer, 1, MAX_WIDTH)
        node.facts.append(node.fact("head_dim", width, pointer))
        return width
    raise InvalidValue("head_dim is missing; add it", where=f"{node.pointer}/head_dim")


def _width_term(node: Node, term: Any) -> tuple[Json, str | None]:
    """A width from a field, a number, a path into a part, or the settings of single layers."""
    if isinstance(term, str):
        return node.find(term)
    if isinstance(term, int):
        return term, None
    if "sum" in term:
        return sum(floor_division(node, [name]) for name in term["sum"]), None
    if "path" in term:
        data: Json = node.data
        for step in term["path"]:
            data = data.get(step) if isinstance(data, dict) else None
        if data is None:
            return term["default"], None
        return data, node.pointer + "".join(f"/{escape(step)}" for step in term["path"])
    key, layers = term["per_layer"], node.data.get("per_layer_config")
    if not isinstance(layers, dict):
        return None, None
    for index, settings in layers.items():
        if isinstance(settings, dict) and settings.get(key) is not None:
            return settings[key], f"{node.pointer}/per_layer_config/{escape(index)}/{key}"
    return node.find(key)


def _derived_width(node: Node, terms: list[Any]) -> int:
    times, least = node.spec.get("head_dim_times", 1), node.spec.get("head_dim_least", 0)
    width = max(int(times) * floor_division(node, terms), int(least))
    if width < 1:
        raise InvalidValue(
            f"{' / '.join(map(str, terms))} gives a head width of {width}, expected at least 1; "
            "correct them",
            where=node.find(str(terms[-1]))[1] or str(terms[-1]),
        )
    node.facts.append(Fact("head_dim", width, Origin.DERIVED))
    return width
