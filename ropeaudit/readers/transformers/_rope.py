"""Rope dicts as transformers standardises them, with the place of every value.

Common rules (``modeling_rope_utils.py``, ``convert_rope_params_to_dict`` and
``standardize_rope_params``): a truthy ``rope_scaling`` replaces ``rope_parameters`` wholesale; what
is inside the dict beats the top level; ``rope_type`` beats ``type``; a missing original length is
the declared one. Config classes that differ say how in their entry's ``rope``:

``start``     the dict where the file has none        ``merge``   labels that rope_scaling updates
``fill``      labels with base keys and defaults      ``as_is``   nothing is filled in
``base_keys`` top-level spellings of the base         ``rename``  types read as another
``law``       a module of ``arrangements`` that rebuilds the dict altogether
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ropeaudit.document import escape
from ropeaudit.errors import InvalidValue, quoted
from ropeaudit.facts import Json
from ropeaudit.readers.transformers import _layers, _remote
from ropeaudit.readers.transformers._node import Node, floor_division, number

LENGTH_TYPES = ("llama3", "yarn", "longrope")
"""Types whose missing original length is the declared one."""


@dataclass(slots=True)
class Rope:
    """One standardised rope dict. ``places`` maps a key to its pointer; a default has none.

    ``outer`` is the dict that this one is nested in (itself when flat): yarn looks up ``truncate``
    there. ``origin`` is the pointer of the dict in the file, None where the class default stands.
    """

    label: str | None
    values: dict[str, Json]
    places: dict[str, str]
    origin: str | None = None
    outer: Mapping[str, Json] = field(default_factory=dict)
    original_defaulted: bool = False
    layers: tuple[int, ...] | None = None
    """Layers it serves, where a list of its own says so."""

    @property
    def type(self) -> Json:
        return self.values.get("rope_type")

    def set_default(self, key: str, value: Json, pointer: str | None) -> None:
        if key not in self.values:
            self.values[key] = value
            if pointer is not None:
                self.places[key] = pointer


@dataclass(slots=True)
class Ropes:
    """The rope dicts of a node and how they were come by."""

    found: list[Rope]
    stray: tuple[str, ...] = ()
    """Keys beside the nested dicts of a two-schedule model, which nothing reads."""
    stray_at: str | None = None
    silent: tuple[str, ...] = ()
    """Labels whose dict is null: layers without rotation."""


def resolve(node: Node) -> Ropes:
    """The standardised dicts of ``node``; raises InvalidValue where transformers would fail."""
    rule = node.rope
    if rule.get("attributes"):
        return Ropes([_from_attributes(node)])
    outer, pointer = _chosen(node)
    if rule.get("nested"):
        return _nested(node, outer, pointer)
    rope = open_dict(None, outer, pointer)
    for key, value in rule.get("flat_start", {}).items():
        rope.set_default(key, value, None)
    if "partial_in_parameters" in rule and pointer != f"{node.pointer}/rope_scaling":
        turned, still = (floor_division(node, [key]) for key in rule["partial_in_parameters"])
        place = node.find(rule["partial_in_parameters"][0])[1]
        rope.set_default("partial_rotary_factor", turned / (turned + still), place)
    _fill_base(node, rope)
    _remote.linear(node, rope.values, rope.places)
    _finish(node, rope, nested=False)
    if "theta_by_layer" in rule:
        return _by_layer(node, rope, rule["theta_by_layer"])
    if "unscaled_outside" in rule:
        return _unscaled_outside(node, rope, rule["unscaled_outside"])
    return Ropes([rope])


def _by_layer(node: Node, rope: Rope, key: str) -> Ropes:
    """One table for each base in a list by layer; 0 means no rotation (Granite SWA)."""
    bases, pointer = node.find(key)
    if not isinstance(bases, list) or pointer is None:
        return Ropes([rope])
    groups: dict[float, list[int]] = {}
    for index, base in enumerate(bases):
        if number(base, key, f"{pointer}/{index}"):
            groups.setdefault(float(base), []).append(index)
    found = []
    for base, layers in sorted(groups.items()):
        label = None if len(groups) == 1 else f"base_{base:g}"
        one = Rope(label, {**rope.values, "rope_theta": base}, dict(rope.places), rope.origin)
        one.places["rope_theta"] = f"{pointer}/{layers[0]}"
        one.outer, one.layers = rope.outer, tuple(layers)
        found.append(one)
    return Ropes(found)


def _unscaled_outside(node: Node, rope: Rope, key: str) -> Ropes:
    """Scaling on the listed layers only, the plain table on the others (Molmo 2)."""
    listed, pointer = node.find(key)
    layers = _layers.count(node)
    if rope.type == "default" or not isinstance(listed, list) or not pointer or layers is None:
        return Ropes([rope])
    inside = tuple(i for i in range(layers) if i in listed)
    outside = tuple(i for i in range(layers) if i not in listed)
    if not outside:
        return Ropes([rope])
    kept = {k: v for k, v in rope.values.items() if k in ("rope_theta", "partial_rotary_factor")}
    plain = Rope("unscaled", {**kept, "rope_type": "default"}, dict(rope.places), rope.origin)
    plain.outer, plain.layers = rope.outer, outside
    plain.places = {k: v for k, v in rope.places.items() if k in kept}
    if not inside:
        return Ropes([plain])
    rope.label, rope.layers = "scaled", inside
    return Ropes([rope, plain])


def dict_at(node: Node, key: str) -> Mapping[str, Json] | None:
    """The rope dict under ``key``; raises InvalidValue if something else stands there."""
    value = node.data.get(key)
    if value is None or isinstance(value, dict):
        return value
    if key == "rope_scaling" and not value:
        return None
    raise InvalidValue(
        f"{key} is {quoted(value)}, expected an object of settings",
        where=f"{node.pointer}/{key}",
    )


def _chosen(node: Node) -> tuple[Mapping[str, Json], str | None]:
    """The dict that counts and its pointer; the class's own where the file has none."""
    rule = node.rope
    scaling, parameters = dict_at(node, "rope_scaling"), dict_at(node, "rope_parameters")
    if scaling and not (rule.get("merge") or rule.get("as_is")):
        return scaling, f"{node.pointer}/rope_scaling"
    if parameters is not None:
        return parameters, f"{node.pointer}/rope_parameters"
    return rule.get("start", {}), None


def open_dict(label: str | None, values: Mapping[str, Json], pointer: str | None) -> Rope:
    """``values`` as a rope dict whose keys stand at ``pointer``."""
    places = {} if pointer is None else {k: f"{pointer}/{escape(k)}" for k in values}
    return Rope(label, dict(values), places, pointer, values)


def _from_attributes(node: Node) -> Rope:
    """Classes without a rope dict: the base is a field of its own, or fixed in the code."""
    rope = Rope(None, {"rope_type": "default"}, {})
    base, pointer = _first(node, node.rope.get("base_keys", ()), node.rope.get("base"))
    rope.values["rope_theta"] = base
    if pointer is not None:
        rope.places["rope_theta"] = pointer
    return rope


def _first(node: Node, keys: Any, default: Json) -> tuple[Json, str | None]:
    """The first of ``keys`` that is there (null counts), else the class default."""
    for key in keys:
        if key in node.data:
            return node.data[key], f"{node.pointer}/{escape(key)}"
        if key in node.spec.get("defaults", {}):
            return node.spec["defaults"][key], None
    return default, None


def _fill_base(node: Node, rope: Rope) -> None:
    rule = node.rope
    base, pointer = _remote.base(node) or _first(
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
    keys = rule.get("partial_keys", ("partial_rotary_factor",))
    value, pointer = _first(node, keys, None)
    if value is None and "partial_over_head" in rule:
        width, pointer = node.find(rule["partial_over_head"])
        head = node.value("head_dim")
        if type(width) is int and type(head) is int and head:
            return width / head, pointer
    if value is None and pointer is None:
        return rule.get("partial_default"), None
    return value, pointer


def _finish(node: Node, rope: Rope, *, nested: bool) -> None:
    """Type, renames and original length, in the order of ``standardize_rope_params``."""
    rule, values = node.rope, rope.values
    early = rule.get("rename_first", {})
    if early:
        spelled = values.get("rope_type", values.get("type"))
        if spelled in early:
            values["rope_type"] = early[spelled]
            rope.places.setdefault("rope_type", rope.places.get("type", ""))
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


def _original(node: Node, rope: Rope, *, nested: bool) -> None:
    top, pointer = node.find("original_max_position_embeddings")
    if not nested and top is not None:
        rope.values["original_max_position_embeddings"] = top
        rope.places.pop("original_max_position_embeddings", None)
        if pointer is not None:
            rope.places["original_max_position_embeddings"] = pointer
    elif "original_max_position_embeddings" not in rope.values:
        declared, pointer = node.find("max_position_embeddings")
        rope.set_default("original_max_position_embeddings", declared, pointer)
        rope.original_defaulted = True


def _nested(node: Node, outer: Mapping[str, Json], pointer: str | None) -> Ropes:
    """One dict per layer type (or other label); labels are those that the model's layers have."""
    rule = node.rope
    wanted = rule.get("labels") or sorted(_layers.types_present(node))
    if "labels_among" in rule:
        wanted = [label for label in wanted if label in rule["labels_among"]]
    arrange = rule.get("law")
    if arrange is not None:
        from ropeaudit.readers.transformers import _arrangements

        found = _arrangements.LAWS[arrange](node, outer, pointer, wanted)
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
        _finish(node, rope, nested=True)
        ropes.append(rope)
    _late_partial(node, ropes)
    stray = tuple(k for k, v in outer.items() if not isinstance(v, dict) and v is not None)
    return Ropes(ropes, stray if pointer else (), pointer, silent)


def _late_partial(node: Node, ropes: list[Rope]) -> None:
    """A top-level fraction reaches nested dicts only when the first scaled table is built, and
    then all that are built after it: scaled laws standardise the config once more."""
    partial, pointer = node.find("partial_rotary_factor")
    if partial is None or pointer is None or "law" in node.rope:
        return
    scaled = False
    for rope in ropes:
        scaled = scaled or rope.type != "default"
        if scaled:
            rope.set_default("partial_rotary_factor", partial, pointer)


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
            _fill_base(node, rope)


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
        if "partial" in how:
            rope.set_default("partial_rotary_factor", how["partial"], None)
