"""Files that transformers 5.24 refuses to load, although the tables can be said.

Earlier versions and other engines load them, so the schedules are shown and a note says who stops.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.errors import quoted
from ropeaudit.facts import Note
from ropeaudit.readers.transformers._dicts import Ropes
from ropeaudit.readers.transformers._node import Node

_READ_ONLY = {"falcon": "head_dim"}
"""Fields that a config class computes and does not take (``configuration_falcon.py``)."""
_TYPED = frozenset({"modernbert", "modernbert-decoder", "neomme"})
"""Model types whose ``rope_parameters`` are declared as nested, so that a flat dict fails."""

_NO_HEAD = frozenset(
    {"hunyuan_v1_dense", "hunyuan_v1_moe", "hunyuan_vl_text", "minimax", "ministral", "mixtral"}
)
"""Model types whose ``head_dim`` stays None when the file has none; three laws multiply by it."""
_MULTIPLY = frozenset({"yarn", "dynamic", "longrope"})


def refusals(node: Node, ropes: Ropes) -> Iterator[Note]:
    """One note for each reason why loading the config, or building its model, stops."""
    for rope in ropes.found:
        spelled = rope.outer.get("rope_type", rope.outer.get("type"))
        if spelled == "su" and "original_max_position_embeddings" not in rope.outer:
            yield _note("type 'su' with original_max_position_embeddings only on the top level")
    headless = node.model_type in _NO_HEAD and node.data.get("head_dim") is None
    if headless and any(rope.type in _MULTIPLY for rope in ropes.found):
        yield _note(f"{quoted(node.model_type)} has no head_dim of its own to scale by")
    computed = _READ_ONLY.get(node.model_type or "")
    if computed is not None and computed in node.data:
        yield _note(f"{quoted(node.model_type)} computes {computed} and takes none")
    scaling, parameters = node.data.get("rope_scaling"), node.data.get("rope_parameters")
    for label in node.rope.get("merge", ()):
        if scaling and isinstance(parameters, dict) and parameters and label not in parameters:
            yield _note(f"rope_parameters has no {label} that rope_scaling could be added to")
    flat = node.model_type in _TYPED and bool(ropes.stray)
    if flat and ropes.stray_at == f"{node.pointer}/rope_parameters":
        yield _note(f"{quoted(node.model_type)} takes rope_parameters only nested by layer type")


def _note(why: str) -> Note:
    return Note(
        "engine_refuses",
        f"transformers 5.24 does not load this file ({why}); the schedules are what earlier "
        "versions and other engines build",
    )
