"""What stops transformers 4.x: checks of its config classes, and keys that its code indexes.

Sources: 4.57.6 ``modeling_rope_utils.py`` 560-760 (keys that are needed), the config classes
(``rope_config_validation`` looks for ``rope_type``; Phi-3 and OLMo have checks of their own), the
attention modules that multiply by ``head_dim``; the same files of 4.46.3.
"""

from __future__ import annotations

from collections.abc import Mapping

from ropeaudit.errors import quoted, shown
from ropeaudit.facts import Json, as_number
from ropeaudit.readers.engines import _tf_types
from ropeaudit.readers.engines.interface import Refuses
from ropeaudit.readers.transformers._node import Node

MOST = 1e30
"""Numbers from here on are slips, and overflow float32 in a product."""
_MULTIPLY = frozenset({"yarn", "dynamic", "longrope"})
"""Types whose table multiplies ``head_dim`` as it is, also where it is None."""
_SECTIONED = frozenset({"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl_text"})
"""Model types that take ``mrope`` for the plain type, where it is spelled ``type``."""


def scaling_of(node: Node, entry: _tf_types.Entry, release: str) -> tuple[str, Mapping[str, Json]]:
    """The type and the dict that count; raises Refuses where ``release`` stops."""
    _check_head(node, entry)
    scaling = node.data.get("rope_scaling", entry.get("scaling"))
    if scaling is None and entry.get("scaled"):
        raise Refuses("it looks for mrope_section in rope_scaling, and the file has none")
    if scaling is None or entry["law"] == "plain":
        return "default", {}
    if not isinstance(scaling, dict):
        raise Refuses(f"rope_scaling is {shown(scaling)}, and it needs an object")
    if not {"type", "rope_type"} & scaling.keys() and entry["law"] == "init":
        raise Refuses("rope_scaling has no rope_type")
    alone = _known(scaling.get("type")) and "rope_type" not in scaling
    if entry.get("checks") and alone:
        raise Refuses("it looks for rope_type in rope_scaling, which has type alone")
    if entry["law"] == "phi3":
        _phi3(node, scaling, release)
        return "longrope", scaling
    if entry["law"] == "two":
        _two_keys(scaling)
    kind = _type(node, entry, scaling)
    _check_keys(node, entry, kind, scaling)
    return str(kind), scaling


def _check_keys(
    node: Node, entry: _tf_types.Entry, kind: Json, scaling: Mapping[str, Json]
) -> None:
    """Raises Refuses where no table can be built of type ``kind``."""
    if not _known(kind):
        raise Refuses(f"rope_type is {shown(kind)}, and it builds no such table")
    for key in _tf_types.NEEDED[kind]:
        if scaling.get(key) is None:
            raise Refuses(f"rope_scaling of type {kind} lacks {key}")
    if kind in _MULTIPLY and entry.get("headless") and node.data.get("head_dim") is None:
        raise Refuses(f"{quoted(node.model_type)} has no head_dim of its own to scale by")
    if kind == "dynamic" and "alpha_types" in node.rope and "alpha" not in scaling:
        raise Refuses("rope_scaling of type dynamic lacks alpha")
    if "softmax" in node.rope and node.model_type != "deepseek_v2" and "factor" not in scaling:
        raise Refuses("rope_scaling lacks factor, by which the logits are scaled")


def finite(value: Json) -> float | None:
    """A number of a size to compute with, None for no number; raises Refuses for others."""
    found = as_number(value)
    if found is not None and not abs(found) < MOST:
        raise Refuses(f"it cannot compute with {shown(value)}")
    return found


def _known(kind: Json) -> bool:
    return isinstance(kind, str) and kind in _tf_types.NEEDED


def _type(node: Node, entry: _tf_types.Entry, scaling: Mapping[str, Json]) -> Json:
    if node.model_type == "llama4_text":
        return "llama3"  # whatever the dict says
    if entry.get("scaled"):
        return scaling.get("rope_type", "default")
    kind = scaling.get("rope_type", scaling.get("type"))
    if entry.get("type_wins") and "type" in scaling:
        kind = scaling["type"]
    if scaling.get("type") == kind == "mrope" and node.model_type in _SECTIONED:
        return "default"
    return kind if isinstance(kind, str) else None


def _check_head(node: Node, entry: _tf_types.Entry) -> None:
    """Raises Refuses where the class cannot do with ``head_dim`` as the file has it."""
    rule, value = entry.get("head"), node.data.get("head_dim")
    if rule == "computed" and "head_dim" in node.data:
        raise Refuses(f"{quoted(node.model_type)} computes head_dim and takes none")
    if rule == "needed" and value is None:
        raise Refuses(f"{quoted(node.model_type)} needs a head_dim, and the file has none")
    heads, hidden = (node.value(k) for k in ("num_attention_heads", "hidden_size"))
    if rule == "whole" and isinstance(value, int) and value * heads != hidden:
        raise Refuses(f"{quoted(node.model_type)} needs head_dim times heads to be hidden_size")


def _two_keys(scaling: Mapping[str, Json]) -> None:
    """OLMo's check: ``type`` linear or dynamic and a factor above 1, and no further key."""
    factor = scaling.get("factor")
    known = scaling.get("type") in ("linear", "dynamic")
    if len(scaling) != 2 or not known or type(factor) is not float or factor <= 1:
        raise Refuses(
            "rope_scaling of this model type must be type (linear or dynamic) and a factor above "
            "1, written with a point"
        )


def _phi3(node: Node, scaling: Mapping[str, Json], release: str) -> None:
    """Phi-3's check: ``type`` longrope (su, yarn), both lists, and no further key."""
    if len(scaling) != 3 or scaling.get("type") not in ("su", "yarn", "longrope"):
        raise Refuses(
            "rope_scaling of this model type must be type (longrope), short_factor and long_factor"
        )
    hidden, heads = (node.value(k) for k in ("hidden_size", "num_attention_heads"))
    partial = node.data.get("partial_rotary_factor", 1.0) if release == "4.57" else 1.0
    if not (isinstance(hidden, int) and isinstance(heads, int) and heads):
        raise Refuses("hidden_size and num_attention_heads give no head width")
    expected = int(hidden // heads * (finite(partial) or 1.0)) // 2
    for key in ("short_factor", "long_factor"):
        value = scaling.get(key)
        if not isinstance(value, list) or len(value) != expected:
            found = f"{len(value)} entries" if isinstance(value, list) else shown(value)
            raise Refuses(f"{key} has {found}, and it needs {expected}")
