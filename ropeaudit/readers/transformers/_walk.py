"""From a document to its nodes: the config itself and every part that turns.

Sub-configs are found through the model type's ``parts``. Where the class takes a fixed config for a
part, that class reads it whatever its own ``model_type`` says; where it takes any (``AutoConfig``),
the part's ``model_type`` decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ropeaudit.document import Document, escape
from ropeaudit.errors import quoted, shown, unexpected
from ropeaudit.facts import Json, Location, Note, Observation, Oddity
from ropeaudit.readers.transformers import _remote
from ropeaudit.readers.transformers._node import Node
from ropeaudit.readers.transformers._odd import small
from ropeaudit.records import field, record
from ropeaudit.schedule.model_types import Spec, is_known_without_rotary, lookup

MAX_DEPTH = 6
"""Deepest nesting of parts in any known model is 3."""

COMPONENTS = {
    "text_config": "text",
    "language_config": "text",
    "llm_config": "text",
    "decoder_config": "text",
    "decoder": "text",
    "thinker_config": None,
    "token2wav_config": None,
    "backbone_config": None,
    "vision_encoder_config": None,
    "audio_encoder": "audio",
    "talker_config": "talker",
    "depth_decoder_config": "depth_decoder",
}
"""Component of a part by its key; None takes the parent's. Other keys lose their ``_config``."""

GENERIC: Spec = {
    "head_dim": ["head_dim", ["hidden_size", "num_attention_heads"]],
    "aliases": {
        "hidden_size": ["hidden_size", "n_embd", "d_model", "dim"],
        "num_attention_heads": ["num_attention_heads", "n_head", "n_heads", "num_heads"],
        "num_hidden_layers": ["num_hidden_layers", "n_layer", "n_layers", "num_layers"],
        "max_position_embeddings": ["max_position_embeddings", "n_positions", "max_seq_len"],
    },
    "rope": {
        "base": 10000.0,
        "base_keys": ["rope_theta", "rotary_emb_base", "rope_embedding_base", "rotary_base"],
        "partial": True,
        "partial_keys": [
            "partial_rotary_factor",
            "rotary_pct",
            "rope_pct",
            "rope_percent",
            "rope_percentage",
            "rotary_emb_fraction",
            "rotary_percentage",
        ],
        "width_key": "rotary_dim",
        "pairing": "half",
    },
}
"""The common rules, for model types that transformers does not know."""

ROTARY_MARKS = (
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "rotary_pct",
    "rotary_dim",
    "rotary_emb_base",
    "rope_embedding_base",
    "rotary_emb_fraction",
    "rope_percent",
    "rope_percentage",
    "rope_pct",
    "partial_rotary_factor",
)


@record(frozen=False)
class Walk:
    model_type: str | None = None
    nodes: list[Node] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


@record(kw_only=True)
class _Part:
    """A config object on the way: where it stands, what it is read as, and in which component."""

    data: Mapping[str, Json]
    pointer: str = ""
    model_type: str | None = None
    component: str | None = None
    """None where the data about the model type says it."""
    depth: int = 0
    present: bool = True
    """False where the file lacks the part and the class defaults stand in for it."""


def walk(document: Document) -> Walk:
    """Every node of ``document`` that holds a rotary table, parents before parts."""
    found = Walk()
    data = document.data
    model_type = data.get("model_type")
    if model_type is not None and not isinstance(model_type, str):
        raise unexpected("model_type", model_type, "a name", where="/model_type")
    found.model_type = model_type
    _visit(found, document, _Part(data=data, model_type=model_type))
    return found


def _visit(found: Walk, document: Document, part: _Part) -> None:
    spec = _spec(part.data, part.model_type)
    if spec is None:
        _unknown(found, document, part)
        return
    why = _remote.why_none(spec, part.data)
    if why is not None:
        if part.depth == 0:
            found.notes.append(Note("no_rotary", f"{quoted(part.model_type)}: {why}"))
        return
    if "rope" in spec:
        name = part.component or spec.get("component", "text")
        if "remote" in spec and part.present:
            message = spec["remote"]
            found.observations.append(_remote.observation(document, part.pointer, name, message))
        node = Node(
            document, part.data, part.pointer, part.model_type, name, spec, present=part.present
        )
        off = _switched_off(node)
        if off is None:
            found.nodes.append(node)
        elif part.depth == 0:
            found.notes.append(Note("no_rotary", off))
    for rule in spec.get("parts", ()):
        inner = _inner(part, rule, spec)
        if inner is not None and part.depth < MAX_DEPTH:
            if not inner.present and inner.component == "text" and "rope" not in spec:
                found.observations.extend(_left_on_top(document, part, rule[0]))
            _visit(found, document, inner)


def _left_on_top(document: Document, part: _Part, missing: str) -> Iterator[Observation]:
    """Rotary keys where only the parts are read, while the text's own part is not there."""
    for key in ROTARY_MARKS:
        value = part.data.get(key)
        if value is not None:
            yield Observation(
                kind=Oddity.KEY_IGNORED,
                message=f"{key} is {shown(value)}, but {quoted(part.model_type)} reads it in "
                f"{missing} alone, which is missing",
                location=Location(file=document.file, pointer=f"{part.pointer}/{key}"),
                schedule="text",
                evidence={"key": key, "value": small(value)},
            )


def _switched_off(node: Node) -> str | None:
    """Why the node does not rotate although its class can; None if it does."""
    name, wanted = node.rope.get("if", (None, None))
    if name is None or node.value(name) == wanted:
        return None
    return f"{quoted(node.model_type)} with {name} {shown(node.value(name))} does not rotate"


def _spec(data: Mapping[str, Json], model_type: str | None) -> Spec | None:
    spec = None if model_type is None else lookup(model_type)
    if spec is not None and "when" in spec:
        # One model type, two classes: mistral with layer_types is read as ministral.
        other = next((t for key, t in spec["when"].items() if data.get(key) is not None), None)
        if other is not None:
            return lookup(other)
    return spec


def _inner(outer: _Part, rule: list[Any], spec: Spec) -> _Part | None:
    """The part that ``rule`` names, None where it is optional and absent.

    Raises InvalidValue for something else in its place.
    """
    key, optional, model_type, open_type = rule[:4]
    data, pointer = outer.data.get(key), f"{outer.pointer}/{escape(key)}"
    present = outer.present
    if data is None and key == spec.get("flat_part"):
        # Files from before the parts were split keep the text fields on top.
        data, pointer = outer.data, outer.pointer
    elif data is None:
        if optional:
            return None
        data, present = rule[4] if len(rule) > 4 else {}, False
    elif isinstance(data, dict):
        if open_type and isinstance(data.get("model_type"), str):
            model_type = data["model_type"]
    else:
        raise unexpected(key, data, "an object of settings", where=pointer)
    return _Part(
        data=data,
        pointer=pointer,
        model_type=model_type,
        component=part_component(key, outer.component),
        depth=outer.depth + 1,
        present=present,
    )


def part_component(key: str, parent: str | None) -> str:
    """The component that a sub-config under ``key`` belongs to."""
    name = COMPONENTS.get(key, key.removesuffix("_config"))
    if name is None or (name == "text" and parent):
        return parent or "text"
    return name


def _unknown(found: Walk, document: Document, part: _Part) -> None:
    """A type without an entry: no rotary if transformers knows it, else the common rules."""
    data, model_type = part.data, part.model_type
    if model_type is not None and is_known_without_rotary(model_type):
        if part.depth == 0:
            found.notes.append(
                Note("no_rotary", f"{quoted(model_type)} has no rotary position encoding")
            )
        return
    if part.depth > MAX_DEPTH:
        return
    inner = [k for k, v in data.items() if k.endswith("_config") and _is_part(v)]
    if any(data.get(key) is not None for key in ROTARY_MARKS) and _has_width(data):
        name = part.component or "text"
        found.nodes.append(
            Node(document, data, part.pointer, model_type, name, GENERIC, generic=True)
        )
        found.observations.append(_generic(document, part.pointer, model_type))
    for key in inner:
        kind = data[key].get("model_type")
        sub = _Part(
            data=data[key],
            pointer=f"{part.pointer}/{escape(key)}",
            model_type=kind if isinstance(kind, str) else None,
            component=part_component(key, part.component),
            depth=part.depth + 1,
        )
        _visit(found, document, sub)


def _is_part(value: Json) -> bool:
    return isinstance(value, dict) and (
        isinstance(value.get("model_type"), str) or _has_width(value)
    )


def _has_width(data: Mapping[str, Json]) -> bool:
    if data.get("head_dim") is not None:
        return True
    aliases = GENERIC["aliases"]
    return all(
        any(data.get(k) is not None for k in aliases[n])
        for n in ("hidden_size", "num_attention_heads")
    )


def _generic(document: Document, pointer: str, model_type: str | None) -> Observation:
    named = "no model_type" if model_type is None else f"model_type {quoted(model_type)}"
    where = f"{pointer}/model_type"
    return Observation(
        kind=Oddity.GENERIC_READING,
        message=f"{named} is not one that transformers knows: read by the common rules, with half "
        "pairing and the usual defaults assumed",
        location=Location(file=document.file, pointer=where) if model_type is not None else None,
        evidence={"model_type": model_type},
    )
