"""YAML as plain mappings, lists and strings: no tags, no aliases, no guessed types."""

from __future__ import annotations

from typing import Any

import yaml

from ropeaudit.errors import PackError, quoted, quoted_path

MAX_DEPTH = 20

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class Lined(dict[str, Any]):
    """A mapping that knows on which line each of its keys stands."""

    lines: dict[str, int]


def parse(data: bytes, file: str) -> Any:
    """The document's tree; raises PackError with file and line for anything out of the ordinary."""
    try:
        node = yaml.compose(data.decode("utf-8"), Loader=_LOADER)
    except UnicodeDecodeError:
        raise PackError(f"{quoted_path(file)} is not UTF-8 text") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not valid YAML"
        if "another document" in problem:
            problem = "a second document begins; write one document a file"
        raise PackError(f"{quoted_path(file)}{line}: {quoted(problem)}") from None
    except RecursionError:
        raise PackError(f"{quoted_path(file)} is nested too deeply") from None
    return None if node is None else _plain(node, file, set(), 0)


def _plain(node: yaml.Node, file: str, seen: set[int], depth: int) -> Any:
    where = f"{quoted_path(file)}, line {node.start_mark.line + 1}"
    if id(node) in seen:
        raise PackError(f"{where}: anchors and aliases are not read; write the value out")
    seen.add(id(node))
    if depth > MAX_DEPTH:
        raise PackError(f"{where}: nested deeper than {MAX_DEPTH} levels")
    if isinstance(node, yaml.ScalarNode):
        return node.value
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, file, seen, depth + 1) for item in node.value]
    found = Lined()
    found.lines = {}
    for key_node, value in node.value:
        key, line = key_node.value, key_node.start_mark.line + 1
        if not isinstance(key, str):
            raise PackError(f"{where}: a key must be plain text")
        if key in found:
            raise PackError(f"{quoted_path(file)}, line {line}: the key {quoted(key)} stands twice")
        found.lines[key] = line
        found[key] = _plain(value, file, seen, depth + 1)
    return found
