"""Reading a certificate strictly: JSON, digest, and the shape of every value."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from hashlib import sha256
from typing import Any

from ropeaudit.verifier import numbers
from ropeaudit.verifier.formats import Value

SCHEMA = "ropeaudit/certificate/"
VERSION = "1"
MAX_CHARACTERS = 64 << 20
MAX_DEPTH = 24
MAX_SHOWN = 80
LONGEST_WORD = 8
"""Above the characters of ``false`` and of an escape, at which a file may end."""


class Refused(Exception):
    """The certificate is wrong: one sentence, with the JSON pointer of the place."""


class Unreadable(Exception):
    """There is no certificate that this verifier can read."""


def shown(value: object) -> str:
    """A value as JSON, short and printable."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, list | dict) and len(value) > MAX_SHOWN:
        return f"a {'list' if isinstance(value, list) else 'object'} of {len(value)} entries"
    cut = value[: MAX_SHOWN + 1] if isinstance(value, str) else value
    text = json.dumps(cut, ensure_ascii=True)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def refuse(where: str, expected: str, found: object) -> Refused:
    """The refusal that says what was expected at a place and what stands there."""
    return Refused(f"{where or 'the certificate'}: expected {expected}, found {shown(found)}")


def pointer(where: str, key: str | int) -> str:
    """The JSON pointer of an entry; a key from the file is cut and made printable."""
    name = str(key)[:MAX_SHOWN].replace("~", "~0").replace("/", "~1")
    return f"{where}/{json.dumps(name)[1:-1]}"


def parse(text: str) -> dict[str, Any]:
    """The document in ``text``, its digest checked. Raises Refused or Unreadable."""
    document = _json(text)
    if not isinstance(document, dict):
        raise Unreadable("the file holds no JSON object, so it is no certificate")
    _check_schema(document)
    _check_depth(document)
    found = document.get("sha256")
    try:
        digest = sha256(canonical(document)).hexdigest()
    except UnicodeEncodeError:
        raise Refused("the certificate holds text that UTF-8 cannot spell") from None
    if found != digest:
        raise refuse("/sha256", f"the digest of the canonical form, {digest}", found)
    return document


def canonical(document: dict[str, Any]) -> bytes:
    """The bytes that the digest is of."""
    bare = {key: value for key, value in document.items() if key != "sha256"}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8")


def _json(text: str) -> Any:
    if len(text) > MAX_CHARACTERS:
        raise Unreadable(f"the file has more than {MAX_CHARACTERS} characters")
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        # What the decoder lacks stands behind the last character, but for strings and words.
        inside = text.startswith("{") and len(text) - error.pos < LONGEST_WORD
        unended = error.msg.startswith("Unterminated string")
        if inside or unended or error.pos >= len(text.rstrip()):
            raise Unreadable(f"the file is cut off or empty ({place})") from None
        raise Unreadable(f"the file is not JSON ({error.msg.lower()}, {place})") from None
    except RecursionError:
        raise Unreadable("the file is nested too deeply to be a certificate") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Refused(f"an object has the key {shown(twice)} twice; expected it once")
    return found


def _integer(text: str) -> int:
    if len(text) > numbers.MAX_DIGITS:
        raise Refused(f"the file holds an integer of {len(text)} digits; no certificate needs it")
    return int(text)


def _float(text: str) -> float:
    value = float(text) if len(text) <= numbers.MAX_DIGITS else math.inf
    if math.isinf(value):
        raise Refused(f"the file holds the number {shown(text)}, which float64 cannot")
    return value


def _constant(text: str) -> float:
    raise Refused(f"the file holds {text}, which is no JSON; expected a number or text")


def _check_schema(document: dict[str, Any]) -> None:
    schema = document.get("schema")
    if schema == SCHEMA + VERSION:
        return
    version = schema.removeprefix(SCHEMA) if isinstance(schema, str) else ""
    if isinstance(schema, str) and schema.startswith(SCHEMA) and version.isdecimal():
        raise Unreadable(
            f"the certificate is of version {shown(version)[1:-1]}, and this ropeaudit reads "
            f"version {VERSION}; check it with a newer one"
        )
    raise Unreadable(f"/schema: expected {SCHEMA}{VERSION}, found {shown(schema)}")


def _check_depth(document: dict[str, Any]) -> None:
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    if level:
        raise Refused(f"the certificate is nested more than {MAX_DEPTH} levels deep")


def keyed(value: Any, keys: Iterable[str], where: str) -> dict[str, Any]:
    """``value`` as an object with exactly these keys."""
    names = set(keys)
    if not isinstance(value, dict):
        raise refuse(where, "an object", value)
    for key in sorted(value.keys() - names):
        raise Refused(f"{pointer(where, key)}: this key has no meaning here; expected none")
    for key in sorted(names - value.keys()):
        raise Refused(f"{pointer(where, key)}: expected this key, found none")
    return value


def listed(value: Any, where: str) -> list[Any]:
    """``value`` as a list."""
    if not isinstance(value, list):
        raise refuse(where, "a list", value)
    return value


def worded(value: Any, where: str) -> str:
    """``value`` as text that is not empty."""
    if not isinstance(value, str) or not value:
        raise refuse(where, "text", value)
    return value


def counted(value: Any, where: str, least: int = 0, most: int = 1 << 53) -> int:
    """``value`` as a JSON integer in a range."""
    if type(value) is not int or not least <= value <= most:
        raise refuse(where, f"an integer from {least} to {most}", value)
    return value


def exact(value: Any, where: str) -> Fraction:
    """``value`` as a rational in text."""
    found = numbers.exact(value) if isinstance(value, str) else None
    if found is None:
        raise refuse(where, 'an exact number in lowest terms such as "3/4"', value)
    return found


def positive(value: Any, where: str) -> Fraction:
    """As :func:`exact`, above 0."""
    found = exact(value, where)
    if found <= 0:
        raise refuse(where, "a number above 0", value)
    return found


def held(value: Any, where: str) -> Value:
    """A value of a table."""
    return value if value in ("nan", "inf", "-inf") else exact(value, where)


def same(expected: Any, found: Any, where: str) -> None:
    """Refuses unless ``found`` equals ``expected`` in every type, key and entry."""
    if type(found) is not type(expected):
        raise refuse(where, shown(expected), found)
    if isinstance(expected, dict):
        keyed(found, expected, where)
        for key, value in expected.items():
            same(value, found[key], pointer(where, key))
    elif isinstance(expected, list):
        if len(found) != len(expected):
            raise Refused(f"{where}: expected {len(expected)} entries, found {len(found)}")
        for place, value in enumerate(expected):
            same(value, found[place], pointer(where, place))
    elif expected != found or repr(expected) != repr(found):  # -0.0 equals 0.0
        raise refuse(where, shown(expected), found)


def one_of(value: Any, known: Sequence[str], where: str) -> str:
    """``value`` as one of the known words."""
    if value not in known:
        raise refuse(where, " or ".join(known), value)
    return str(value)
