"""Where the rope dicts of a config stand: for whoever rewrites one."""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.document import Document
from ropeaudit.facts import Json
from ropeaudit.readers.transformers._dicts import Rope, Ropes
from ropeaudit.readers.transformers._node import Node
from ropeaudit.readers.transformers._rope import resolve
from ropeaudit.readers.transformers._walk import walk

__all__ = ["Node", "Rope", "Ropes", "loaded_original", "rope_dicts"]

_KEY = "original_max_position_embeddings"
_FIELD = frozenset({"phi3", "phi4_multimodal"})
"""Config classes with that field, so that it is there when the dict is standardised."""


def rope_dicts(document: Document) -> Iterator[tuple[Node, Ropes]]:
    """Every config object that turns, with its rope dicts as transformers standardises them.

    Raises InvalidValue where transformers would fail.
    """
    for node in walk(document).nodes:
        yield node, resolve(node)


def loaded_original(node: Node, rope: Rope) -> Json:
    """The original length in a flat dict of a config that is loaded, and no model built from it.

    A top-level one becomes an attribute only after the dict was standardised, which fills in the
    declared length; it gets into the dict when a model is built (``modeling_rope_utils.py`` 836).
    Engines that read the loaded config see the dict before that.
    """
    spelled = rope.outer.get("rope_type", rope.outer.get("type"))
    first = node.model_type in _FIELD and spelled != "su"  # that one is renamed afterwards
    if rope.label is not None or _KEY not in rope.values or first:
        return rope.values.get(_KEY)
    stated = rope.outer.get(_KEY)
    return node.value("max_position_embeddings") if stated is None else stated
