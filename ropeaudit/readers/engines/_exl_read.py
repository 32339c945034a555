"""How both ExLlama engines read one value of config.json.

ExLlamaV3 1.6.5 ``util/file.py`` 50-127, ExLlamaV2 0.3.2 ``config.py`` 12-52: the first of several
keys that is there and not null; an integer stands for a number, a number without fraction for an
integer; any other type stops loading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ropeaudit.errors import shown
from ropeaudit.facts import MAX_LENGTH, Json
from ropeaudit.readers.engines._raw_keys import MAX_WIDTH, Raw, number, whole
from ropeaudit.readers.engines.interface import Refuses

KINDS: Mapping[str, tuple[type, ...]] = {
    "float": (float, int), "int": (int, float), "dict": (dict,), "list": (list,), "str": (str,),
}  # fmt: skip


def read(raw: Raw, kind: str, *keys: str, default: Json = None, lenient: bool = False) -> Json:
    """The first of ``keys`` with a value, where ``a->b`` looks inside ``a``.

    Raises Refuses for a value of another type, unless ``lenient`` takes it for missing.
    """
    for key in keys:
        node, last = _inside(raw, key)
        if node is None or node.data.get(last) is None:
            continue
        value = node.data[last]
        if _is(value, kind):
            return node.get(last)
        if not lenient:
            raise Refuses(f"{key} is {shown(value)}, where it expects {_NAMED[kind]}")
    raw.assume(keys[0], default)
    return default


_NAMED = {
    "float": "a number", "int": "a whole number", "dict": "an object", "list": "a list",
    "str": "text",
}  # fmt: skip


def _is(value: Json, kind: str) -> bool:
    if not isinstance(value, KINDS[kind]):
        return False
    return kind != "int" or number(value, kind).is_integer()


def _inside(raw: Raw, key: str) -> tuple[Raw | None, str]:
    *steps, last = key.split("->")
    node: Raw = raw
    for step in steps:
        value = node.data.get(step)
        if not isinstance(value, dict) or not value:
            return None, last
        node = node.inside(step, value)
    return node, last


def stated(raw: Raw, key: str) -> Json:
    """The value at ``key`` (``a->b`` looks inside ``a``), None where it is not there."""
    node, last = _inside(raw, key)
    return None if node is None else node.data.get(last)


def require(raws: Sequence[Raw], keys: Sequence[str]) -> None:
    """Raises Refuses for keys that loading needs and that none of ``raws`` has."""
    missing = [key for key in keys if all(stated(raw, key) is None for raw in raws)]
    if missing:
        named = ", ".join(missing[:4]) + (" and more" if len(missing) > 4 else "")
        raise Refuses(f"it needs {named.replace('->', '.')}, which the file lacks")


def size(raw: Raw, *keys: str, default: Json = None) -> int:
    """A whole number that must be there."""
    value = read(raw, "int", *keys, default=default)
    if value is None:
        raise Refuses(f"it needs {keys[0].replace('->', '.')}, which the file lacks")
    return whole(value, keys[0], MAX_WIDTH)


def length(value: Json) -> int | None:
    """A context length for display, None for what is none."""
    found = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if found and 1 <= value <= MAX_LENGTH else None


def decimal(value: Json, name: str, default: Json = None) -> float:
    return number(default if value is None else value, name)


def sole_architecture(root: Raw, file: str) -> str:
    """The one architecture that the file names; raises Refuses otherwise."""
    if file.replace("\\", "/").rsplit("/", 1)[-1] == "params.json":
        raise Refuses("it looks for config.json, and there is params.json only")
    named = root.data.get("architectures")
    if not isinstance(named, list) or len(named) != 1 or not isinstance(named[0], str):
        raise Refuses(f"architectures is {shown(named)}, where it expects exactly one")
    return named[0]
