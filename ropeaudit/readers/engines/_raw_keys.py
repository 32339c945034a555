"""A raw config as engines read it that never load transformers: key by key, with defaults.

What was read is remembered, so that an engine's reader can say which keys decided its tables and
which ones the engine passes over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from ropeaudit.document import Document, escape
from ropeaudit.errors import quoted, shown
from ropeaudit.facts import Fact, Json, Location, Note, Origin, as_number
from ropeaudit.readers.engines.interface import Refuses
from ropeaudit.records import field, record

MAX_LAYERS = 100_000
"""More layers are a corrupt number; no list of that length is made."""
MAX_WIDTH = 10**7

POSITIONAL = frozenset({
    "model_type", "text_config", "head_dim", "rope_theta", "rope_scaling", "rope_parameters",
    "partial_rotary_factor", "rotary_pct", "rotary_emb_base", "rotary_dim", "qk_rope_head_dim",
    "rope_local_base_freq", "swa_rope_theta", "no_rope_layers",
})  # fmt: skip
"""Keys whose absence counts in an excerpt too; others are taken to be in the whole file."""
EXCERPT = Note(
    "excerpt",
    "the file has no vocab_size, so it is read as an excerpt: keys that have nothing to do with "
    "positions are taken to be there",
)


@record(frozen=False)
class Raw:
    """One object of a config: ``data`` at ``pointer``, with what was read of the whole file.

    ``given`` are values that the engine fills in before it looks (class defaults).
    """

    document: Document
    data: Mapping[str, Json]
    pointer: str = ""
    given: Mapping[str, Json] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    facts: list[Fact] = field(default_factory=list)

    def place(self, key: str) -> str:
        """The JSON pointer of ``key`` here."""
        return f"{self.pointer}/{escape(key)}"

    def has(self, key: str) -> bool:
        return key in self.data

    def get(self, key: str, default: Json = None) -> Json:
        """The file's value, null included; else the class default, else ``default``."""
        if key in self.data:
            value = self.data[key]
            self._read(key, value)
            return value
        value = self.given.get(key, default)
        self.assume(key, value)
        return value

    def assume(self, key: str, value: Json) -> None:
        """Records ``value`` as the engine's own, where the file has none."""
        mark = f"default {self.place(key)}"
        if value is not None and not isinstance(value, dict | list) and mark not in self.seen:
            self.seen.add(mark)
            self.facts.append(Fact(key, value, Origin.DEFAULT))

    def need(self, key: str) -> Json:
        """The value of a key that the engine indexes; raises Refuses where it is not there."""
        if key not in self.data:
            where = self.pointer or "the config"
            raise Refuses(f"it needs {key} in {where}, which is missing")
        return self.get(key)

    def child(self, key: str) -> Raw | None:
        """The object at ``key``; None where it is absent or null, Refuses for anything else."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise Refuses(f"{key} is {shown(value)}, where it expects an object")
        return self.inside(key, value)

    def inside(self, key: str, value: Mapping[str, Json]) -> Raw:
        """``value`` as the object at ``key``, sharing what was read."""
        return Raw(self.document, value, self.place(key), seen=self.seen, facts=self.facts)

    def replaced(self, data: Mapping[str, Json]) -> Raw:
        """``data`` in the place of this object."""
        return Raw(self.document, data, self.pointer, self.given, self.seen, self.facts)

    def with_defaults(self, given: Mapping[str, Json]) -> Raw:
        return Raw(self.document, self.data, self.pointer, given, self.seen, self.facts)

    def number(self, key: str, default: Json = None) -> float:
        return number(self.get(key, default), key)

    def width(self, key: str, default: Json = None) -> int:
        return whole(self.get(key, default), key, MAX_WIDTH)

    def layers(self, key: str = "num_hidden_layers") -> int:
        return whole(self.get(key), key, MAX_LAYERS)

    def items(self, key: str, most: int | None = None) -> list[Json]:
        """A list that the engine indexes by layer; raises Refuses for anything else."""
        value = self.get(key)
        if not isinstance(value, list):
            raise Refuses(f"{key} is {shown(value)}, where it expects a list")
        if most is not None and len(value) < most:
            raise Refuses(f"{key} has {len(value)} entries for {most} layers")
        return value

    def _read(self, key: str, value: Json) -> None:
        pointer = self.place(key)
        if pointer in self.seen:
            return
        self.seen.add(pointer)
        if isinstance(value, dict):
            return
        origin = Origin.OVERRIDE if pointer in self.document.overridden else Origin.FILE
        where = Location(file=self.document.file, pointer=pointer)
        self.facts.append(Fact(key, value, origin, where))


def is_excerpt(root: Raw) -> bool:
    """Whether the file holds the position keys of a config only: no model is without a vocabulary.

    Engines would refuse it for keys that say nothing about positions.
    """
    parts = [root.data, *(v for v in root.data.values() if isinstance(v, dict))]
    return all("vocab_size" not in part for part in parts)


def architectures(config: Mapping[str, Json]) -> tuple[str, ...]:
    """The classes that the file names, in its order."""
    named = config.get("architectures")
    if isinstance(named, str):
        return (named,)
    return tuple(n for n in named if isinstance(n, str)) if isinstance(named, list) else ()


def number(value: Json, name: str) -> float:
    """``value`` as a finite float; raises Refuses for what no engine can compute with."""
    found = as_number(value)
    if found is None or not math.isfinite(found):
        raise Refuses(f"{quoted(name)} is {shown(value)}, where it computes with a number")
    return found


def whole(value: Json, name: str, most: int) -> int:
    """``value`` as an int from 1 to ``most``; raises Refuses otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise Refuses(f"{quoted(name)} is {shown(value)}, where it needs a whole number")
    if not 1 <= value <= most:
        raise Refuses(f"{quoted(name)} is {shown(value)}, outside of 1 to {most}")
    return int(value)


def portion(part: Json, width: int, name: str = "partial_rotary_factor") -> int:
    """``part`` of ``width`` in whole dimensions; raises Refuses where none, or no such, is left."""
    found = number(part, name)
    if abs(found) > MAX_WIDTH:
        raise Refuses(f"{quoted(name)} is {shown(part)}, which is no part of a head")
    return whole(int(found * width), "the rotary width", MAX_WIDTH)


def chunks(values: list[Json]) -> Iterator[tuple[Json, tuple[int, ...]]]:
    """Each distinct value with the indices that hold it, in order of appearance."""
    held: dict[str, tuple[Json, list[int]]] = {}
    for index, value in enumerate(values):
        held.setdefault(repr(value), (value, []))[1].append(index)
    for value, indices in held.values():
        yield value, tuple(indices)
