"""A config as transformers holds it once loaded: what ``AutoConfig...to_dict()`` gives.

Engines that convert or wrap a model read these attributes and not the file. Release 5.x keeps
everything about rotation in ``rope_parameters`` (``modeling_rope_utils.py``, read here through the
reference reader); 4.57 keeps ``rope_theta`` and ``rope_scaling`` as the file has them and takes
``rope_parameters`` for a key that it does not know (``configuration_<type>.py`` and the checks in
``modeling_rope_utils.py`` 540-755 of 4.57.6).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ropeaudit.errors import InvalidValue, quoted
from ropeaudit.readers.engines._attributes_classes import DERIVED, FILLED, entry
from ropeaudit.readers.engines._attributes_validated import checked_v4
from ropeaudit.readers.engines._tf_types import known
from ropeaudit.readers.engines.interface import NotCovered, Request
from ropeaudit.readers.transformers import _layers
from ropeaudit.readers.transformers._node import head_width
from ropeaudit.readers.transformers.rope_dicts import Node, Rope, Ropes, loaded_original, rope_dicts
from ropeaudit.records import record
from ropeaudit.schedule.model_types import is_known_without_rotary

V4, V5 = "v4", "v5"

_INTO_PARAMETERS = ("rope_scaling", "rope_theta", "partial_rotary_factor")
"""Top-level keys that 5.x moves into ``rope_parameters``."""


class Unloadable(Exception):
    """transformers cannot load the config, with the reason as a clause."""


@record(kw_only=True)
class Loaded:
    """Attributes of the text model, with those of an enclosing config below them.

    ``pointer``: where the text model's own part stands in the file.
    """

    values: dict[str, Any]
    model_type: str | None
    pointer: str = ""

    def get(self, key: str, default: Any = None) -> Any:
        """An attribute as ``getattr`` with a default would find it."""
        return self.values.get(key, default)


def loaded(request: Request, version: str, *, checked: bool = True) -> Loaded:
    """The attributes under 4.57 (``V4``) or 5.x (``V5``).

    ``checked`` False: by a config class of the engine's own, which takes ``rope_scaling`` as it is.
    Raises Unloadable where transformers stops, NotCovered for a class that was not looked at.
    """
    key = ("attributes", version, checked)
    if key not in request.memo:
        try:
            request.memo[key] = _v5(request) if version == V5 else _v4(request, checked=checked)
        except (Unloadable, NotCovered) as error:
            request.memo[key] = error
    found = request.memo[key]
    if isinstance(found, Exception):
        raise found
    copy: Loaded = found
    # Engines change what they are given; each gets dicts of its own.
    return Loaded(
        values={k: _copied(v) for k, v in copy.values.items()},
        model_type=copy.model_type,
        pointer=copy.pointer,
    )


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    return value


def text_part(request: Request) -> tuple[Node, Ropes | None]:
    """The text model's node with its rope dicts, None where 5.x cannot make them.

    Raises Unloadable where no class is known for it.
    """
    key = ("attributes", "text")
    if key not in request.memo:
        request.memo[key] = _text_part(request)
    found = request.memo[key]
    if isinstance(found, Exception):
        raise found
    part: tuple[Node, Ropes | None] = found
    return part


def _text_part(request: Request) -> tuple[Node, Ropes | None] | Exception:
    if request.document.file.endswith("params.json"):
        return Unloadable("there is no config.json")
    try:
        nodes = list(rope_dicts(request.document))
    except InvalidValue:
        return _without_ropes(request)
    return _first_text([n for n, _ in nodes], {id(n): r for n, r in nodes}, request)


def _without_ropes(request: Request) -> tuple[Node, Ropes | None] | Exception:
    from ropeaudit.readers.transformers._walk import walk

    try:
        return _first_text(walk(request.document).nodes, {}, request)
    except InvalidValue as error:
        return Unloadable(str(error).rstrip("."))


def _first_text(
    nodes: list[Node], ropes: Mapping[int, Ropes], request: Request
) -> tuple[Node, Ropes | None] | Exception:
    texts = [n for n in nodes if n.component == "text"]
    if not texts:
        kind = request.config.get("model_type")
        if isinstance(kind, str) and is_known_without_rotary(kind):
            return NotCovered(f"{quoted(kind)} has no rotary positions")
        return NotCovered("the config has no text model with rotary positions")
    node = texts[0]
    if node.generic or "remote" in node.spec:
        named = "a file without model_type" if node.model_type is None else quoted(node.model_type)
        return Unloadable(f"transformers has no class for {named}")
    return node, ropes.get(id(node))


def _class_of(node: Node) -> Mapping[str, Any]:
    found = entry(node.model_type or "")
    if found is None:
        raise NotCovered(f"the config class of {quoted(node.model_type)} was not looked at")
    return found


def _merged(request: Request, node: Node, defaults: Mapping[str, Any]) -> dict[str, Any]:
    values = {**defaults, **(request.config if node.pointer else {}), **node.data}
    if defaults.get("head_dim") == DERIVED and values["head_dim"] in (None, DERIVED):
        hidden, heads = values.get("hidden_size"), values.get("num_attention_heads")
        if isinstance(hidden, int) and isinstance(heads, int) and heads > 0:
            values["head_dim"] = hidden // heads
        else:
            values["head_dim"] = None
    if defaults.get("layer_types") == FILLED and not isinstance(values["layer_types"], list):
        values["layer_types"] = _layers.types(node)
    return values


def _v5(request: Request) -> Loaded:
    node, ropes = text_part(request)
    held = _class_of(node)
    refused = _refused_v5(request, node, ropes)
    if ropes is None or refused is not None:
        raise Unloadable(refused or "transformers 5 refuses the config")
    values = _merged(request, node, held[V5])
    rule = node.rope
    moved = [*_INTO_PARAMETERS, *rule.get("base_keys", ()), *rule.get("partial_keys", ())]
    moved += (how["key"] for how in rule.get("fill", {}).values())
    for key in moved:
        values.pop(key, None)
    if not rule.get("nested"):
        values["rope_parameters"] = _flat(node, ropes.found[0]) if ropes.found else {}
    else:
        values["rope_parameters"] = _by_label(node, ropes)
    if node.model_type == "gemma4_text":
        values["global_head_dim"] = head_width(node, "full_attention")
    return Loaded(values=values, model_type=node.model_type, pointer=node.pointer)


def _flat(node: Node, rope: Rope) -> dict[str, Any]:
    original = loaded_original(node, rope)
    more = {} if original is None else {"original_max_position_embeddings": original}
    return {**rope.values, **more}


def _by_label(node: Node, ropes: Ropes) -> dict[str, Any]:
    """Nested dicts; a label that no layer has keeps what the file or the class gives it."""
    outer = dict(ropes.found[0].outer) if ropes.found else {}
    labelled = {r.label: dict(r.values) for r in ropes.found if r.label is not None}
    for label, how in node.rope.get("fill", {}).items():
        if label not in labelled:
            inner = outer.get(label)
            values = dict(inner) if isinstance(inner, dict) else {"rope_type": "default"}
            if label in node.rope.get("merge", ()):
                values.update(node.data.get("rope_scaling") or {})
            values.setdefault("rope_theta", node.data.get(how["key"], how["base"]))
            labelled[label] = values
    return {**outer, **labelled}


def _refused_v5(request: Request, node: Node, ropes: Ropes | None) -> str | None:
    """Why loading stops under 5.x; what only stops the model is left to the engine."""
    reference = request.reference
    if ropes is None or reference is None:
        return "transformers 5 refuses the config"
    checked = any(r.type == "longrope" for r in ropes.found)
    for note in reference.notes:
        # Without head_dim only the check of longrope stops; other laws stop later, in the model.
        if note.kind == "engine_refuses" and (checked or "head_dim of its own" not in note.message):
            return "transformers 5 does not load the config"
    scaling, parameters = node.data.get("rope_scaling"), node.data.get("rope_parameters")
    for label in node.rope.get("merge", ()):
        if scaling and isinstance(parameters, dict) and label not in parameters:
            return f"transformers 5 has no {label} in rope_parameters to add rope_scaling to"
    known = node.rope.get("types")
    if known is not None and any(r.type not in known for r in ropes.found):
        return f"transformers 5 wants one of the types {', '.join(known)}"
    return "transformers 5 " + missing if (missing := lacks_mscale(node, ropes)) else None


def lacks_mscale(node: Node, ropes: Ropes) -> str | None:
    """What 5.x says of a scaled Phi-MoE without its two factors (``configuration_phimoe.py``)."""
    if node.model_type != "phimoe" or all(r.type == "default" for r in ropes.found):
        return None
    numbers = (ropes.found[0].values.get(k) for k in ("short_mscale", "long_mscale"))
    if all(type(v) in (int, float) for v in numbers):
        return None
    return "wants short_mscale and long_mscale of Phi-MoE as numbers"


def _v4(request: Request, *, checked: bool) -> Loaded:
    node, _ = text_part(request)
    if node.model_type not in known("4.57"):
        raise Unloadable(f"transformers 4.57 does not know {quoted(node.model_type)}")
    held = _class_of(node)
    if node.model_type == "falcon" and "head_dim" in node.data:
        raise Unloadable("transformers 4.57 computes head_dim of Falcon and takes none")
    values = _merged(request, node, held[V4])
    problem = checked_v4(values, node.model_type, held) if checked else None
    if problem is not None:
        raise Unloadable(problem)
    return Loaded(values=values, model_type=node.model_type, pointer=node.pointer)
