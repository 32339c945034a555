"""Models with one rope dict per layer type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ropeaudit.document import escape
from ropeaudit.errors import InvalidValue, quoted, unexpected
from ropeaudit.facts import Json
from ropeaudit.readers.transformers import _layers
from ropeaudit.readers.transformers._arrangements import LAWS
from ropeaudit.readers.transformers._dicts import Rope, Ropes, dict_at, open_dict
from ropeaudit.readers.transformers._node import Node
from ropeaudit.readers.transformers._standard import fill_base, finish


def nested(node: Node, outer: Mapping[str, Json], pointer: str | None) -> Ropes:
    """One dict per layer type (or other label); labels are those that the model's layers have."""
    rule = node.rope
    wanted = rule.get("labels") or sorted(_layers.types_present(node))
    if "labels_among" in rule:
        wanted = [label for label in wanted if label in rule["labels_among"]]
    arrange = rule.get("law")
    if arrange is not None:
        found = LAWS[arrange](node, outer, pointer, wanted)
    else:
        found = {label: _label(node, label, outer, pointer) for label in _labels(rule, outer)}
        _fill_labels(node, found)
    silent = tuple(label for label in wanted if label in found and found[label] is None)
    ropes = []
    for label in wanted:
        if label in silent:
            continue
        rope = found.get(label)
        if rope is None:
            raise InvalidValue(
                f"the rope parameters hold nothing for the layers of type {quoted(label)}, and "
                "this model type has one schedule per layer type; nest the parameters by layer "
                "type",
                where=pointer or f"{node.pointer}/rope_parameters",
            )
        rope.outer = outer
        finish(node, rope, nested=True)
        ropes.append(rope)
    _late_defaults(node, ropes)
    stray = tuple(k for k, v in outer.items() if not isinstance(v, dict) and v is not None)
    return Ropes(ropes, stray if pointer else (), pointer, silent)


def _late_defaults(node: Node, ropes: list[Rope]) -> None:
    """Top-level values reach nested dicts only when the first scaled table is built, and then all
    that are built after it: scaled laws standardise the config once more."""
    if "law" in node.rope:
        return
    for key in ("partial_rotary_factor", "rope_theta"):
        value, pointer = node.find(key)
        if value is None or pointer is None:
            continue
        scaled = False
        for rope in ropes:
            scaled = scaled or rope.type != "default"
            if scaled:
                rope.set_default(key, value, pointer)


def _labels(rule: Mapping[str, Any], outer: Mapping[str, Json]) -> list[str]:
    named = [k for k, v in outer.items() if isinstance(v, dict) or v is None]
    return list(dict.fromkeys([*named, *rule.get("fill", {})]))


def _label(node: Node, label: str, outer: Mapping[str, Json], pointer: str | None) -> Rope | None:
    values = outer.get(label)
    if values is None and label not in node.rope.get("fill", {}):
        return None
    if values is None:
        # The class starts from an explicit plain type, so a merged ``type`` alone changes nothing.
        return Rope(label, {"rope_type": "default"}, {})
    at = None if pointer is None else f"{pointer}/{escape(label)}"
    if not isinstance(values, dict):
        raise unexpected(at or label, values, "an object of settings", where=at)
    return open_dict(label, values, at)


def _fill_labels(node: Node, found: dict[str, Rope | None]) -> None:
    """Bases by label, and old-schema scaling merged into the labels it belongs to."""
    rule = node.rope
    scaling = dict_at(node, "rope_scaling")
    for label in rule.get("merge", ()) if scaling else ():
        rope = found.get(label)
        if rope is not None and scaling is not None:
            rope.origin = f"{node.pointer}/rope_scaling"
            for key, value in scaling.items():
                rope.values[key] = value
                rope.places[key] = f"{node.pointer}/rope_scaling/{escape(key)}"
    if rule.get("as_is"):
        return
    if "fill" in rule:
        _fill_bases(node, found, rule["fill"], once=not rule.get("take_many"))
        return
    for rope in found.values():
        if rope is not None:
            fill_base(node, rope)


def _fill_bases(
    node: Node, found: dict[str, Rope | None], fill: Mapping[str, Any], *, once: bool
) -> None:
    """The base of each label; with ``once`` a top-level key serves the first label only."""
    used: set[str] = set()
    for label, how in fill.items():
        rope, key = found.get(label), how["key"]
        if rope is None:
            continue
        if "rope_theta" not in rope.values:
            value, pointer = how["base"], None
            if key in node.data and not (once and key in used):
                value, pointer = node.data[key], f"{node.pointer}/{escape(key)}"
                used.add(key)
            rope.set_default("rope_theta", value, pointer)
        if "type" in how:
            rope.set_default("rope_type", how["type"], None)
        if "partial" in how:
            rope.set_default("partial_rotary_factor", how["partial"], None)
