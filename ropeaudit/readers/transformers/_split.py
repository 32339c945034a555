"""Models with one rope dict whose layers still differ by a list of their own."""

from __future__ import annotations

from ropeaudit.errors import InvalidValue
from ropeaudit.readers.transformers import _layers
from ropeaudit.readers.transformers._dicts import Rope, Ropes
from ropeaudit.readers.transformers._node import MAX_LABELS, Node, number


def by_layer(node: Node, rope: Rope, key: str) -> Ropes:
    """One table for each base in a list by layer; 0 means no rotation (Granite SWA)."""
    bases, pointer = node.find(key)
    if not isinstance(bases, list) or pointer is None:
        return Ropes([rope])
    groups: dict[float, list[int]] = {}
    for index, base in enumerate(bases):
        if number(base, key, f"{pointer}/{index}"):
            groups.setdefault(float(base), []).append(index)
    if len(groups) > MAX_LABELS:
        raise InvalidValue(
            f"{key} holds {len(groups)} different bases, expected at most {MAX_LABELS}; correct it",
            where=pointer,
        )
    found = []
    for base, layers in sorted(groups.items()):
        label = None if len(groups) == 1 else f"base_{base:g}"
        one = Rope(label, {**rope.values, "rope_theta": base}, dict(rope.places), rope.origin)
        one.places["rope_theta"] = f"{pointer}/{layers[0]}"
        one.outer, one.layers = rope.outer, tuple(layers)
        found.append(one)
    return Ropes(found)


def unscaled_outside(node: Node, rope: Rope, key: str) -> Ropes:
    """Scaling on the listed layers only, the plain table on the others (Molmo 2)."""
    listed, pointer = node.find(key)
    layers = _layers.count(node)
    if rope.type == "default" or not isinstance(listed, list) or not pointer or layers is None:
        return Ropes([rope])
    named = {i for i in listed if type(i) is int}
    inside = tuple(i for i in range(layers) if i in named)
    outside = tuple(i for i in range(layers) if i not in named)
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
