"""A JSON document that remembers where each value stands.

Values are parsed strictly (duplicate keys are an error: two readers would take different ones);
positions are looked up only when somebody asks, because a clean audit never does.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from ropeaudit.errors import InvalidValue, TruncatedFile, quoted, quoted_path
from ropeaudit.facts import Json, Location
from ropeaudit.records import field, record

MAX_INTEGER_DIGITS = 400
"""No field of a config needs more; larger integers cost quadratic time to print."""

MAX_DEPTH = 100
"""Levels of nesting; real configs have at most six."""

_KINDS = {"list": "list", "str": "string", "bool": "boolean", "NoneType": "null"}
_CUT = re.compile(r"|t|tr|tru|f|fa|fal|fals|n|nu|nul|-|[.eE][+-]?")
"""What is left of a value at which a file was cut off."""
_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r"[^,\]}\s]+")


@record()
class Document:
    """``data`` is the parsed object; ``text`` the source it came from, None if there is none.

    ``overridden`` holds JSON pointers whose values came from the command line, each with all that
    lie below it.
    """

    file: str
    data: Mapping[str, Json]
    text: str | None = None
    overridden: frozenset[str] = frozenset()
    _spans: dict[str, tuple[int, int] | None] = field(default_factory=dict, compare=False)
    _inside: dict[int, dict[str, int]] = field(default_factory=dict, compare=False)
    _breaks: list[int] = field(default_factory=list, compare=False)

    def location(self, pointer: str) -> Location:
        """The place of ``pointer`` (RFC 6901), with its line where the text is known."""
        span = None if pointer in self.overridden else self._span(pointer)
        line = None if span is None else self._line(span[0])
        return Location(file=self.file, pointer=pointer, line=line)

    def spelling(self, pointer: str) -> str | None:
        """The value's own text (``"1e6"`` stays ``1e6``), for exact arithmetic; None if unknown."""
        span = None if pointer in self.overridden else self._span(pointer)
        return None if span is None or self.text is None else self.text[span[0] : span[1]]

    def with_overrides(self, values: Mapping[str, Json]) -> Document:
        """A copy in which each JSON pointer of ``values`` holds the given value."""
        data: Any = dict(self.data)
        for pointer, value in values.items():
            parts = [unescape(p) for p in pointer.split("/")[1:]]
            node = data
            for part in parts[:-1]:
                child = node.get(part)
                node[part] = dict(child) if isinstance(child, dict) else {}
                node = node[part]
            node[parts[-1]] = value
        places = {p for pointer, value in values.items() for p in _below(pointer, value)}
        return Document(self.file, data, self.text, self.overridden | places)

    def _span(self, pointer: str) -> tuple[int, int] | None:
        if self.text is None:
            return None
        if pointer not in self._spans:
            try:
                self._spans[pointer] = _find(self.text, pointer, self._inside)
            except (ValueError, IndexError, RecursionError):
                self._spans[pointer] = None
        return self._spans[pointer]

    def _line(self, at: int) -> int:
        if not self._breaks:
            self._breaks.append(-1)
            self._breaks.extend(m.start() for m in re.finditer("\n", self.text or ""))
        return bisect_left(self._breaks, at)


def parse(text: str, file: str) -> Document:
    """Parse a JSON object; raises InvalidValue or TruncatedFile with line and column."""
    data = loads(text, file)
    if not isinstance(data, dict):
        kind = _KINDS.get(type(data).__name__, "number")
        raise InvalidValue(
            f"{quoted_path(file)} holds a JSON {kind}, expected an object of settings"
        )
    return Document(file, data, text)


def loads(text: str, file: str) -> Json:
    """Any JSON value, parsed as strictly; raises InvalidValue or TruncatedFile, naming ``file``."""
    try:
        data = json.loads(
            text.removeprefix("\ufeff"), object_pairs_hook=_unique, parse_int=_integer
        )
    except json.JSONDecodeError as error:
        if not text.strip():
            raise TruncatedFile(f"{quoted_path(file)} is empty, expected a JSON object") from None
        rest = text[error.pos :].strip()
        ended = error.msg.startswith("Unterminated") or _CUT.fullmatch(rest) is not None
        kind = TruncatedFile if ended else InvalidValue
        what = "ends in the middle of its JSON" if ended else f"is not valid JSON: {error.msg}"
        raise kind(
            f"{quoted_path(file)} {what} (line {error.lineno}, column {error.colno}); "
            "restore the file from its source",
            where=f"line {error.lineno}",
        ) from None
    except RecursionError:
        raise InvalidValue(
            f"{quoted_path(file)} is nested deeper than any config ({MAX_DEPTH} levels)"
        ) from None
    except InvalidValue as error:
        raise InvalidValue(f"{quoted_path(file)}: {error}", where=error.where) from None
    if text.count("{") + text.count("[") > MAX_DEPTH and isinstance(data, dict | list):
        _require_shallow(data, file)
    return data


def _below(pointer: str, value: Json) -> Iterator[str]:
    """``pointer`` and those of everything inside its value."""
    pending = [(pointer, value)]
    while pending:
        at, node = pending.pop()
        yield at
        if isinstance(node, dict):
            pending += ((f"{at}/{escape(k)}", v) for k, v in node.items())
        elif isinstance(node, list):
            pending += ((f"{at}/{i}", v) for i, v in enumerate(node))


def _require_shallow(data: Json, file: str) -> None:
    """Raises InvalidValue for nesting on which code that walks a config would run out of stack."""
    level, depth = [data], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise InvalidValue(
                f"{quoted_path(file)} is nested deeper than any config ({MAX_DEPTH} levels)"
            )
        level = [
            v
            for node in level
            for v in (node.values() if isinstance(node, dict) else node)
            if isinstance(v, dict | list)
        ]


def escape(key: str) -> str:
    """A key as one step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def unescape(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise InvalidValue(
            f"the key {quoted(twice)} appears twice in one object, and readers differ on which "
            "counts; keep one",
            where=twice,
        )
    return found


def _integer(digits: str) -> int:
    if len(digits) > MAX_INTEGER_DIGITS:
        raise InvalidValue(
            f"an integer of {len(digits)} digits, expected at most {MAX_INTEGER_DIGITS}"
        )
    return int(digits)


def _find(text: str, pointer: str, inside: dict[int, dict[str, int]]) -> tuple[int, int] | None:
    """Start and end offset of the value at ``pointer``; None if it is not there."""
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    for step in pointer.split("/")[1:]:
        if at not in inside:
            # Kept: a file with 50,000 odd keys would otherwise be scanned 50,000 times.
            inside[at] = dict(_members(text, at) if text[at] == "{" else _items(text, at))
        found = inside[at].get(unescape(step))
        if found is None:
            return None
        at = found
    return at, _end(text, at)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _members(text: str, at: int) -> Iterator[tuple[str, int]]:
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = scanstring(text, at + 1)
        at = _skip(text, _skip(text, at) + 1)
        yield key, at
        at = _next(text, _end(text, at))


def _items(text: str, at: int) -> Iterator[tuple[str, int]]:
    if text[at] != "[":
        return
    at, index = _skip(text, at + 1), 0
    while text[at] != "]":
        yield str(index), at
        at, index = _next(text, _end(text, at)), index + 1


def _next(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _end(text: str, at: int) -> int:
    """Offset just behind the value that starts at ``at``; iterative, so depth costs no stack."""
    depth = 0
    while True:
        char = text[at]
        if char == '"':
            at = scanstring(text, at + 1)[1]
        elif char in "{[":
            depth, at = depth + 1, at + 1
        elif char in "}]":
            depth, at = depth - 1, at + 1
        elif depth and char in ",: \t\n\r":
            at += 1
        else:
            match = _SCALAR.match(text, at)
            if match is None:
                raise ValueError(at)
            at = match.end()
            if depth:  # a scalar inside a container may have swallowed a colon-free tail only
                continue
        if not depth:
            return at
