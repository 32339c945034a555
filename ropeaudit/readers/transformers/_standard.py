"""The common rules: what the top level adds to a rope dict, its type and its original length."""

from __future__ import annotations

from typing import Any

from ropeaudit.document import escape
from ropeaudit.errors import unexpected
from ropeaudit.facts import Json
from ropeaudit.readers.transformers import _remote
from ropeaudit.readers.transformers._dicts import Rope
from ropeaudit.readers.transformers._node import Node
from ropeaudit.schedule.model_types import lookup

LENGTH_TYPES = ("llama3", "yarn", "longrope")
"""Types whose missing original length is the declared one."""


def first(node: Node, keys: Any, default: Json) -> tuple[Json, str | None]:
    """The first of ``keys`` that is there (null counts), else the class default."""
    for key in keys:
        if key in node.data:
            return node.data[key], f"{node.pointer}/{escape(key)}"
        if key in node.spec.get("defaults", {}):
            return node.spec["defaults"][key], None
    return default, None


def fill_base(node: Node, rope: Rope) -> None:
    rule = node.rope
    base, pointer = _remote.base(node) or first(
        node, rule.get("base_keys", ("rope_theta",)), rule.get("base")
    )
    rope.set_default("rope_theta", base, pointer)
    partial, pointer = _partial(node)
    if partial is not None:
        rope.set_default("partial_rotary_factor", partial, pointer)


def _partial(node: Node) -> tuple[Json, str | None]:
    """The rotated fraction from the top level: a key, or a width over the head width."""
    rule = node.rope
    if "partial_fixed" in rule:
        return rule["partial_fixed"], None
    if _moved(node):
        return rule.get("partial_default"), None
    keys = rule.get("partial_keys", ("partial_rotary_factor",))
    value, pointer = first(node, keys, None)
    if value is None and "partial_over_head" in rule:
        width, pointer = node.find(rule["partial_over_head"])
        head = node.value("head_dim")
        if type(width) is int and type(head) is int and head:
            return width / head, pointer
    if value is None and pointer is None:
        return rule.get("partial_default"), None
    return value, pointer


def finish(node: Node, rope: Rope, *, nested: bool) -> None:
    """Type, renames and original length, in the order of ``standardize_rope_params``."""
    rule, values = node.rope, rope.values
    _check_names(node, rope)
    early = rule.get("rename_first", {})
    if early:
        spelled = values.get("rope_type", values.get("type"))
        if spelled in early:
            values["rope_type"] = early[spelled]
            if "type" in rope.places:
                rope.places.setdefault("rope_type", rope.places["type"])
    if "rope_type" not in values:
        values["rope_type"] = values.get("type", "default")
        if "type" in rope.places:
            rope.places["rope_type"] = rope.places["type"]
    if values["rope_type"] == "default" and "default_type" in rule:
        values["rope_type"] = rule["default_type"]
    if values["rope_type"] in LENGTH_TYPES:
        _original(node, rope, nested=nested)
    renamed = rule.get("rename", {}).get(values["rope_type"])
    if renamed is not None:
        values["rope_type"] = renamed
        if renamed in LENGTH_TYPES:
            _original(node, rope, nested=nested)
    for key, other in rule.get("key_aliases", {}).items():
        if key in values:
            rope.set_default(other, values[key], rope.places.get(key))


def _check_names(node: Node, rope: Rope) -> None:
    """Raises InvalidValue for a type that is no name."""
    for key in ("rope_type", "type"):
        if key in rope.values and not isinstance(rope.values[key], str):
            if key == "type" and "rope_type" in rope.values:
                continue
            raise unexpected(
                key,
                rope.values[key],
                "a name such as 'yarn'",
                where=rope.places.get(key) or f"{node.pointer}/{key}",
            )


def _original(node: Node, rope: Rope, *, nested: bool) -> None:
    top, pointer = node.find("original_max_position_embeddings")
    if _moved(node):
        top = None
    if not nested and top is not None:
        rope.values["original_max_position_embeddings"] = top
        rope.places.pop("original_max_position_embeddings", None)
        if pointer is not None:
            rope.places["original_max_position_embeddings"] = pointer
    elif "original_max_position_embeddings" not in rope.values:
        declared, pointer = node.find("max_position_embeddings")
        rope.set_default("original_max_position_embeddings", declared, pointer)
        rope.original_defaulted = True


def _moved(node: Node) -> bool:
    """Whether the text fields stand on top of a class that has a part of its own for them.

    Only fields of the part's class get there, and neither the fraction nor the original length is
    one (``models/qwen2_vl/configuration_qwen2_vl.py``).
    """
    outer = node.document.data.get("model_type")
    spec = lookup(outer) if isinstance(outer, str) and not node.pointer else None
    return bool(spec) and "flat_part" in (spec or {})
