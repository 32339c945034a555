"""Rope dicts as transformers standardises them, with the place of every value.

Common rules (``modeling_rope_utils.py``, ``convert_rope_params_to_dict`` and
``standardize_rope_params``): a truthy ``rope_scaling`` replaces ``rope_parameters`` wholesale; what
is inside the dict beats the top level; ``rope_type`` beats ``type``; a missing original length is
the declared one. Config classes that differ say how in their entry's ``rope``:

``start``     the dict where the file has none        ``merge``   labels that rope_scaling updates
``fill``      labels with base keys and defaults      ``as_is``   nothing is filled in
``base_keys`` top-level spellings of the base         ``rename``  types read as another
``unread``    ``rope_scaling`` where it is a field of its own that nothing looks at
``law``       a module of ``arrangements`` that rebuilds the dict altogether
"""

from __future__ import annotations

from collections.abc import Mapping

from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Json
from ropeaudit.readers.transformers import _layers, _remote
from ropeaudit.readers.transformers._dicts import Rope, Ropes, dict_at, open_dict
from ropeaudit.readers.transformers._nested import nested
from ropeaudit.readers.transformers._node import Node, floor_division
from ropeaudit.readers.transformers._split import by_layer, unscaled_outside
from ropeaudit.readers.transformers._standard import fill_base, finish, first


def resolve(node: Node) -> Ropes:
    """The standardised dicts of ``node``; raises InvalidValue where transformers would fail."""
    rule = node.rope
    if rule.get("attributes"):
        return Ropes([_from_attributes(node)])
    outer, pointer = _chosen(node)
    if rule.get("nested"):
        return nested(node, outer, pointer)
    rope = open_dict(None, outer, pointer)
    _refuse_nested(node, outer, pointer)
    for key, value in rule.get("flat_start", {}).items():
        rope.set_default(key, value, None)
    if "partial_in_parameters" in rule and pointer != f"{node.pointer}/rope_scaling":
        turned, still = (floor_division(node, [key]) for key in rule["partial_in_parameters"])
        place = node.find(rule["partial_in_parameters"][0])[1]
        rope.set_default("partial_rotary_factor", turned / (turned + still), place)
    fill_base(node, rope)
    _remote.scaling(node, rope.values, rope.places)
    finish(node, rope, nested=False)
    if "theta_by_layer" in rule:
        return by_layer(node, rope, rule["theta_by_layer"])
    if "unscaled_outside" in rule:
        return unscaled_outside(node, rope, rule["unscaled_outside"])
    return Ropes([rope])


def _refuse_nested(node: Node, outer: Mapping[str, Json], pointer: str | None) -> None:
    """Raises InvalidValue for dicts by layer type on a class with one table: it looks for a type
    beside them and fails. (Classes without layer types build the plain table; that is observed.)"""
    nested_keys = [key for key, value in outer.items() if isinstance(value, dict)]
    if nested_keys and pointer is not None and node.spec.get("layers") is not None:
        kinds = _layers.types_present(node)
        if any(key in kinds for key in nested_keys):
            raise InvalidValue(
                "the rope parameters are nested by layer type, and this model type has one "
                "schedule for all layers; put the keys directly into the dict",
                where=pointer,
            )


def _chosen(node: Node) -> tuple[Mapping[str, Json], str | None]:
    """The dict that counts and its pointer; the class's own where the file has none."""
    rule = node.rope
    scaling, parameters = dict_at(node, "rope_scaling"), dict_at(node, "rope_parameters")
    if rule.get("unread") == "rope_scaling":
        scaling = None
    if (scaling and "merge" not in rule) or (rule.get("as_is") and "rope_scaling" in node.data):
        # Classes that convert nothing still take rope_scaling, even null, as another name.
        return scaling or {}, f"{node.pointer}/rope_scaling"
    if parameters is not None:
        return parameters, f"{node.pointer}/rope_parameters"
    return rule.get("start", {}), None


def _from_attributes(node: Node) -> Rope:
    """Classes without a rope dict: the base is a field of its own, or fixed in the code."""
    rope = Rope(None, {"rope_type": "default"}, {})
    base, pointer = first(node, node.rope.get("base_keys", ()), node.rope.get("base"))
    rope.values["rope_theta"] = base
    if pointer is not None:
        rope.places["rope_theta"] = pointer
    return rope
