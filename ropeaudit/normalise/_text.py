"""Changing values inside a JSON text without touching anything else in it.

An object that changes is taken apart into its members and the raw text between them, and put
together again; every part that stays keeps its bytes. What is new is written as its neighbours are:
same line breaks, indentation, separators, and the same way of breaking lists.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from itertools import pairwise
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, TypeAlias

from ropeaudit.document import _end, _skip, unescape
from ropeaudit.facts import Json
from ropeaudit.records import record
from ropeaudit.schedule.keys import BASES, FRACTIONS

_RENAMED = ("type", "rope_type")
"""The two spellings of one key; one takes the other's place."""
_NEIGHBOURS = frozenset({
    "rope_scaling", "rope_parameters", "rope_local_base_freq", "max_position_embeddings",
    "head_dim", *BASES, *FRACTIONS,
})  # fmt: skip
"""Behind the last of these a new key is put where an object's keys are in no order."""
_SORTED_FROM = 3
"""Fewer keys are in order by chance."""


@record()
class Leaf:
    """A value to write: ``text`` as it is spelled elsewhere in the file, else made of ``value``.

    ``indent`` is that of the line on which ``text`` stood, so that lines in it can be moved.
    """

    value: Json
    text: str | None = None
    indent: str = ""


Settings: TypeAlias = Mapping[str, Leaf | None]
"""JSON pointers with what they are to hold; None removes the key."""
Tree: TypeAlias = "dict[str, Tree | Leaf | None]"


@record()
class _Style:
    """How a file is laid out; ``newline`` is None where all stands on one line."""

    newline: str | None
    unit: str
    comma: str
    colon: str
    open_objects: bool
    open_lists: bool


def rewrite(text: str, settings: Settings) -> str:
    """``text`` (a JSON object) with ``settings`` carried out, byte for byte elsewhere."""
    tree = _tree(settings)
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    style = _style(text, at)
    return text[:at] + _changed(text, at, tree, style, "") + text[_end(text, at) :]


def leaf_of(text: str, start: int, end: int, value: Json) -> Leaf:
    """The value at ``text[start:end]``, to be written elsewhere in the same spelling."""
    line = text.rfind("\n", 0, start) + 1
    match = re.match(r"[ \t]*", text[line:start])
    return Leaf(value, text[start:end], match.group() if match else "")


def alike(a: Json, b: Json) -> bool:
    """Equality in which true is no 1 and NaN is itself, whatever the spelling of numbers."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(v, b[k]) for k, v in a.items())
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b or (a != a and b != b))  # some files hold NaN


def _tree(settings: Settings) -> Tree:
    top: Tree = {}
    for pointer, leaf in settings.items():
        *path, last = (unescape(step) for step in pointer.split("/")[1:])
        node: Any = top
        for step in path:
            node = node.setdefault(step, {})
        node[last] = leaf
    return top


def _style(text: str, at: int) -> _Style:
    lead = text[at + 1 : _skip(text, at + 1)]
    first = next(_members(text, at), None)
    newline = "\r\n" if "\r\n" in lead else "\n" if "\n" in lead else None
    nested = re.search(r'[:\[,]\s*\{(\s*)"', text[at:])
    listed = re.search(r"\[([ \t\r\n]*)[^\]\s]", text[at:])
    return _Style(
        newline=newline,
        unit=lead.rsplit("\n", 1)[-1] if newline else "",
        comma=", " if ", " in text or newline else ",",
        colon=": " if first is None else text[first[1] : first[2]],
        open_objects=newline is not None and (nested is None or "\n" in nested[1]),
        open_lists=newline is not None and (listed is None or "\n" in listed[1]),
    )


def _members(text: str, at: int) -> Iterator[tuple[int, int, int, int]]:
    """Offsets of each member: key, behind the key, value, behind the value."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        behind = scanstring(text, at + 1)[1]
        value = _skip(text, _skip(text, behind) + 1)
        end = _end(text, value)
        yield at, behind, value, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


@record(frozen=False)
class _Object:
    """An object taken apart: ``between`` holds what stands between neighbours."""

    keys: list[str]
    raw: list[str]
    between: list[str]
    lead: str
    tail: str

    def remove(self, key: str) -> None:
        at = self.keys.index(key)
        del self.keys[at], self.raw[at]
        if self.between:
            del self.between[min(at, len(self.between) - 1)]

    def insert(self, at: int, key: str, raw: str, separator: str) -> None:
        if self.keys:
            self.between.insert(min(at, len(self.keys) - 1), separator)
        self.keys.insert(at, key)
        self.raw.insert(at, raw)

    def text(self) -> str:
        last = [""] if self.raw else []
        inner = "".join(a + b for a, b in zip(self.raw, [*self.between, *last], strict=True))
        return "{" + self.lead + inner + self.tail + "}"


def _changed(text: str, at: int, tree: Tree, style: _Style, indent: str) -> str:
    """The object at ``at`` with ``tree`` carried out; ``indent`` is that of its own line."""
    spans = list(_members(text, at))
    end = _end(text, at)
    if not spans:
        return _rendered({k: v for k, v in tree.items() if v is not None}, style, indent)
    keys = [scanstring(text, key + 1)[0] for key, *_ in spans]
    lead = text[at + 1 : spans[0][0]]
    inner = lead.rsplit("\n", 1)[-1] if "\n" in lead else indent
    found = _Object(
        keys=keys,
        raw=[text[key:stop] for key, _, _, stop in spans],
        between=[text[a[3] : b[0]] for a, b in pairwise(spans)],
        lead=lead,
        tail=text[spans[-1][3] : end - 1],
    )
    places = dict(zip(keys, spans, strict=True))
    separator = found.between[0] if found.between else _separator(lead, style)
    for key, wanted in _renamed(found, tree):
        if wanted is None:
            if key in found.keys:
                found.remove(key)
        elif key in places:
            index, (start, behind, value, stop) = found.keys.index(key), places[key]
            new = _replaced(text, value, stop, wanted, style, inner)
            found.raw[index] = text[start:behind] + text[behind:value] + new
        elif key in found.keys:  # renamed
            index = found.keys.index(key)
            found.raw[index] = json.dumps(key) + style.colon + _rendered(wanted, style, inner)
        else:
            raw = json.dumps(key) + style.colon + _rendered(wanted, style, inner)
            found.insert(_position(found.keys, tree, key), key, raw, separator)
    return found.text()


def _separator(lead: str, style: _Style) -> str:
    return f",{lead}" if "\n" in lead else style.comma


def _renamed(found: _Object, tree: Tree) -> Iterator[tuple[str, Tree | Leaf | None]]:
    """Members of ``tree``; where one spelling of a key goes and the other comes, in its place."""
    for old, new in (_RENAMED, _RENAMED[::-1]):
        goes = old in tree and tree[old] is None and old in found.keys
        if goes and tree.get(new) is not None and new not in found.keys:
            found.keys[found.keys.index(old)] = new
            yield from ((k, v) for k, v in tree.items() if k != old)
            return
    yield from tree.items()


def _position(keys: list[str], tree: Tree, key: str) -> int:
    """Where a new key goes: by order where keys are sorted, else beside what it belongs to."""
    if len(keys) >= _SORTED_FROM and keys == sorted(keys):
        return bisect(keys, key)
    order = list(tree)
    at = order.index(key)
    for near in reversed(order[:at]):
        if near in keys:
            return keys.index(near) + 1
    for near in order[at + 1 :]:
        if near in keys:
            return keys.index(near)
    known = [i for i, k in enumerate(keys) if k in _NEIGHBOURS]
    return known[-1] + 1 if known else len(keys)


def _replaced(
    text: str, start: int, stop: int, wanted: Tree | Leaf, style: _Style, indent: str
) -> str:
    """The value at ``start`` as wanted; its own text where it says the same already."""
    if isinstance(wanted, dict):
        if text[start] == "{":
            return _changed(text, start, wanted, style, indent)
        return _rendered(wanted, style, indent)
    old = text[start:stop]
    return old if alike(json.loads(old), wanted.value) else _rendered(wanted, style, indent)


def _rendered(wanted: Tree | Leaf, style: _Style, indent: str) -> str:
    """The text of something new on a line with ``indent``."""
    if isinstance(wanted, Leaf) and wanted.text is not None:
        return wanted.text.replace(f"\n{wanted.indent}", f"\n{indent}")
    if isinstance(wanted, Leaf) and isinstance(wanted.value, list):
        parts = [json.dumps(v) for v in wanted.value]
        return _wrapped("[]", parts, style, indent, broken=style.open_lists)
    if isinstance(wanted, Leaf):
        return json.dumps(wanted.value)
    inner = indent + style.unit if style.open_objects else indent
    parts = [
        json.dumps(key) + style.colon + _rendered(value, style, inner)
        for key, value in wanted.items()
        if value is not None
    ]
    return _wrapped("{}", parts, style, indent, broken=style.open_objects)


def _wrapped(brackets: str, parts: list[str], style: _Style, indent: str, *, broken: bool) -> str:
    if not broken or not parts:
        return brackets[0] + style.comma.join(parts) + brackets[1]
    line = f"{style.newline}{indent}{style.unit}"
    return brackets[0] + line + f",{line}".join(parts) + f"{style.newline}{indent}" + brackets[1]
