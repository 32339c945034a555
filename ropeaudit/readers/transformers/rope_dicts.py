"""Where the rope dicts of a config stand: for whoever rewrites one."""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.document import Document
from ropeaudit.readers.transformers._dicts import Rope, Ropes
from ropeaudit.readers.transformers._node import Node
from ropeaudit.readers.transformers._rope import resolve
from ropeaudit.readers.transformers._walk import walk

__all__ = ["Node", "Rope", "Ropes", "rope_dicts"]


def rope_dicts(document: Document) -> Iterator[tuple[Node, Ropes]]:
    """Every config object that turns, with its rope dicts as transformers standardises them.

    Raises InvalidValue where transformers would fail.
    """
    for node in walk(document).nodes:
        yield node, resolve(node)
