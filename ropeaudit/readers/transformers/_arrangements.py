"""Config classes that rebuild their rope dicts altogether, one law a function.

Each takes the node, the dict from the file with its pointer, and the labels wanted; it returns the
dict of each label with the place of every value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ropeaudit.document import escape
from ropeaudit.errors import InvalidValue, unexpected
from ropeaudit.facts import Json
from ropeaudit.readers.transformers import _layers
from ropeaudit.readers.transformers._dicts import Rope, dict_at, open_dict
from ropeaudit.readers.transformers._node import Node, head_width, number

Outer = Mapping[str, Json]
Found = dict[str, Rope | None]


def _given(outer: Outer, pointer: str | None, labels: Sequence[str]) -> Found | None:
    """The nested dicts as they stand, if the file has one for every label."""
    if not all(isinstance(outer.get(label), dict) for label in labels):
        return None
    at = {label: None if pointer is None else f"{pointer}/{escape(label)}" for label in labels}
    return {label: open_dict(label, outer[label], at[label]) for label in labels}


def _put(rope: Rope, key: str, value: Json, pointer: str | None) -> None:
    rope.values[key] = value
    rope.places.pop(key, None)
    if pointer is not None:
        rope.places[key] = pointer


def _top(node: Node, key: str, default: Json) -> tuple[Json, str | None]:
    value, pointer = node.find(key)
    return (default, None) if value is None else (value, pointer)


def deepseek_v4(node: Node, outer: Outer, pointer: str | None, labels: Sequence[str]) -> Found:
    """Two tables, ``main`` plain and ``compress`` scaled, each with a base of its own
    (``configuration_deepseek_v4.py``). A flat dict is the scaling of ``compress``."""
    found = _given(outer, pointer, labels)
    if found is not None:
        return found
    partial, place = node.find("partial_rotary_factor")
    if partial is None:
        width, place = node.find("qk_rope_head_dim")
        head = head_width(node, None)
        stated = place is not None and width is not None
        partial = number(width, "qk_rope_head_dim", place) / head if stated else None
    if partial is None:
        partial, place = node.rope["partial_default"], None
    main = Rope("main", {"rope_type": "default"}, {})
    flat = {k: v for k, v in outer.items() if k not in labels}
    compress = open_dict("compress", flat, pointer)
    for rope, key in ((main, "rope_theta"), (compress, "compress_rope_theta")):
        base, at = node.find(key)
        _put(rope, "rope_theta", base, at)
        _put(rope, "partial_rotary_factor", partial, place)
    compress.set_default("rope_type", compress.values.get("type", "default"), None)
    if compress.values["rope_type"] == "yarn":
        compress.set_default("attention_factor", 1.0, None)
    return {"main": main, "compress": compress}


def step3p7(node: Node, outer: Outer, pointer: str | None, labels: Sequence[str]) -> Found:
    """Bases and fractions listed by layer; the first layer of a type speaks for all of them
    (``configuration_step3p7.py``). ``rope_scaling`` goes to the full layers only."""
    found = _given(outer, pointer, labels)
    if found is not None:
        return found
    kinds = _layers.types(node) or []
    bases, base_at = _top(node, "rope_theta", node.rope["base"])
    partials, partial_at = _top(node, "partial_rotary_factors", None)
    out: Found = {}
    for label in labels:
        first = kinds.index(label)
        rope = Rope(label, {"rope_type": "default"}, {})
        _put(rope, "rope_theta", *_by_layer(bases, first, base_at, "rope_theta"))
        if partials:
            value, at = _by_layer(partials, first, partial_at, "partial_rotary_factors")
            _put(rope, "partial_rotary_factor", value, at)
        out[label] = rope
    scaling, full = dict_at(node, "rope_scaling"), out.get("full_attention")
    if scaling and full is not None:
        full.origin = f"{node.pointer}/rope_scaling"
        for key, value in scaling.items():
            _put(full, key, value, f"{full.origin}/{escape(key)}")
    return out


def _by_layer(value: Json, index: int, pointer: str | None, key: str) -> tuple[Json, str | None]:
    if not isinstance(value, list):
        return value, pointer
    if index >= len(value):
        raise InvalidValue(
            f"{key} has {len(value)} entries, expected one for each layer; add the missing ones",
            where=pointer,
        )
    return value[index], None if pointer is None else f"{pointer}/{index}"


def dots3(node: Node, outer: Outer, pointer: str | None, labels: Sequence[str]) -> Found:
    """The sliding layers have a base and widths of their own; the rotated fraction is always
    rope width over head width (``configuration_dots3_note.py``)."""
    found = _given(outer, pointer, labels)
    if found is None:
        found = {label: open_dict(label, outer, pointer) for label in labels}
    for label in labels:
        rope = found[label]
        if rope is None:
            continue
        sliding = label == "sliding_attention"
        key, base = ("swa_rope_theta", 50000.0) if sliding else ("rope_theta", node.rope["base"])
        rope.set_default("rope_theta", *_top(node, key, base))
        width, at = node.find("qk_rope_head_dim")
        if sliding:
            width, at = _sliding_width(node)
        turned = number(width, "qk_rope_head_dim", at)
        _put(rope, "partial_rotary_factor", turned / head_width(node, label), at)
    return found


def _sliding_width(node: Node) -> tuple[Json, str | None]:
    per_layer = node.data.get("per_layer_config")
    if isinstance(per_layer, dict):
        for index, own in per_layer.items():
            if isinstance(own, dict) and own.get("qk_rope_head_dim") is not None:
                at = f"{node.pointer}/per_layer_config/{escape(index)}/qk_rope_head_dim"
                return own["qk_rope_head_dim"], at
    whole, _ = _top(node, "swa_head_dim", 256)
    plain, _ = _top(node, "swa_qk_nope_head_dim", 192)
    rest = number(whole, "swa_head_dim", None) - number(plain, "swa_qk_nope_head_dim", None)
    return _top(node, "swa_qk_rope_head_dim", rest)


def theta_list(node: Node, outer: Outer, pointer: str | None, labels: Sequence[str]) -> Found:
    """A top-level list of bases, one for each layer (``configuration_ultrabert.py``)."""
    if pointer is not None or node.data.get("rope_theta") is None:
        return {
            label: open_dict(label, outer[label], pointer and f"{pointer}/{escape(label)}")
            for label in labels
            if isinstance(outer.get(label), dict)
        }
    bases, at = node.find("rope_theta")
    if not isinstance(bases, list):
        raise unexpected("rope_theta", bases, "a list with a base for each layer", where=at)
    out: Found = {}
    for index, label in enumerate(_layers.types(node) or []):
        if index < len(bases) and label in labels:
            rope = Rope(label, {"rope_type": "default"}, {})
            _put(rope, "rope_theta", *_by_layer(bases, index, at, "rope_theta"))
            out[label] = rope
    return out


LAWS: dict[str, Callable[[Node, Outer, str | None, Sequence[str]], Found]] = {
    "deepseek_v4": deepseek_v4,
    "step3p7": step3p7,
    "dots3": dots3,
    "theta_list": theta_list,
}
