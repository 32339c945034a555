"""A config in which wanted tables stand, spelled in the schema that the source has.

``rope_scaling`` with ``rope_theta`` on top is the old schema, ``rope_parameters`` the new one; a
source with both gets both, with equal values, because readers differ in which they prefer.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from ropeaudit.document import Document, unescape
from ropeaudit.errors import UsageError, quoted
from ropeaudit.export._hf_entry import LONE_BASE, Entry, entry
from ropeaudit.export._pairs import Key, Target
from ropeaudit.export._table import PATCH
from ropeaudit.readers.transformers.rope_dicts import Node, Rope, Ropes, rope_dicts
from ropeaudit.records import field, record
from ropeaudit.schedule.keys import BASES

_ASKS_HEAD_DIM = frozenset(
    {"hunyuan_v1_dense", "hunyuan_v1_moe", "hunyuan_vl_text", "minimax", "ministral", "mixtral"}
)
"""Classes whose head_dim is None unless stated: transformers 5.24 multiplies it for longrope."""
_ONE_HEAD_DIM = frozenset({"dots3_note_text"})
"""Classes whose layers differ in shape, like those with a head width for each label."""
_ONLY_PLAIN = frozenset({"cosmos3_edge_text"})
"""Classes that check for the plain type and stop at any other."""


@record(kw_only=True)
class Change:
    """One rope dict that was replaced: by ``values``, for ``target``."""

    node: Node
    rope: Rope
    target: Target
    values: Mapping[str, Any]


@record(kw_only=True)
class Rewritten:
    """The new settings and what is to be known about them."""

    data: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


def rewrite(document: Document, targets: Iterable[Target]) -> Rewritten:
    """The config with the changed targets written into it; the others keep their settings.

    Raises UsageError where the model's code reads no such settings.
    """
    left: dict[Key, Target] = {t.key: t for t in targets if t.changed}
    out = Rewritten(data=copy.deepcopy(dict(document.data)))
    for node, ropes in rope_dicts(document):
        mine = {}
        for rope in ropes.found:
            target = left.pop((node.component, rope.label), None)
            if target is not None:
                mine[rope.label] = target
        if mine:
            _check(node, ropes, mine)
            _node(out, node, ropes, mine)
    if left:
        names = ", ".join(quoted(t.short.name) for t in left.values())
        raise UsageError(f"no settings of this config decide the schedule {names}; {PATCH}")
    return out


def _check(node: Node, ropes: Ropes, mine: Mapping[str | None, Target]) -> None:
    """Raises UsageError where this model type's code would not build the tables."""
    name, rule = quoted(node.model_type), node.rope
    why = None
    if not node.present:
        why = "its settings are the class defaults and stand nowhere in the config"
    elif rule.get("attributes") or rule.get("only"):
        why = f"the code of {name} builds one kind of table, whatever the config says"
    elif "types" in rule and "longrope" not in rule["types"]:
        why = f"the code of {name} knows only {' and '.join(rule['types'])}"
    elif node.model_type in _ONLY_PLAIN:
        why = f"{name} accepts the plain type alone"
    elif "label_head_dim" in node.spec or node.model_type in _ONE_HEAD_DIM:
        why = (
            f"the layers of {name} differ in shape, and transformers 5.24 checks longrope against "
            "one head width and stops"
        )
    elif not rule.get("nested") and any(label is not None for label in mine):
        why = f"the code of {name} tells its layers apart by rules that no rope dict can change"
    if why is not None:
        first = next(iter(mine.values())).short.name
        raise UsageError(
            f"schedule {quoted(first)} cannot be written into a config: {why}; {PATCH}"
        )


def _node(out: Rewritten, node: Node, ropes: Ropes, mine: Mapping[str | None, Target]) -> None:
    made = {}
    for rope in ropes.found:
        target = mine.get(rope.label)
        if target is not None:
            entry_ = made[rope.label] = _entry(node, rope, target)
            out.changes.append(Change(node=node, rope=rope, target=target, values=entry_.values))
            if entry_.lone:
                out.notes.append(
                    f"schedule {target.short.name}: rope_theta is 1, because no factors over the "
                    "model's own base keep equal channels equal in float32; the factors hold the "
                    "whole table"
                )
    place = _at(out.data, node.pointer)
    if place.get("head_dim", 0) is None or node.model_type in _ASKS_HEAD_DIM:
        place["head_dim"] = next(iter(mine.values())).short.head_dim
    if node.rope.get("nested"):
        _nested(out, node, ropes, made, place)
    else:
        _flat(place, made[None], node.rope.get("theta_by_layer"))


def _entry(node: Node, rope: Rope, target: Target) -> Entry:
    top = node.data.get("original_max_position_embeddings") if rope.label is None else None
    return entry(
        rope.values, target, top_original=top, declared=node.value("max_position_embeddings")
    )


def _flat(place: dict[str, Any], made: Entry, by_layer: str | None) -> None:
    new = place.get("rope_parameters") is not None
    if "rope_scaling" in place or not new:
        place["rope_scaling"] = dict(made.values)
    if new:
        place["rope_parameters"] = dict(made.values)
    if made.lone:
        _lone_on_top(place, BASES)
        if by_layer is not None and isinstance(place.get(by_layer), list):
            # The same base for every layer, else there would be a table for each.
            place[by_layer] = [theta and LONE_BASE for theta in place[by_layer]]


def _lone_on_top(place: dict[str, Any], keys: Iterable[str]) -> None:
    """Base 1 on top as well: readers of the old schema take it from there."""
    for key in keys:
        if place.get(key) is not None:
            place[key] = LONE_BASE


def _nested(
    out: Rewritten,
    node: Node,
    ropes: Ropes,
    made: Mapping[str | None, Entry],
    place: dict[str, Any],
) -> None:
    """One dict per layer type; the old schema only where it can say all that changes."""
    merged = node.rope.get("merge", ())
    old = not isinstance(place.get("rope_parameters"), dict)
    if (
        old and len(merged) == 1 and list(made) == list(merged)
    ):  # one label: more would all get the same dict
        (values,) = made.values()
        place["rope_scaling"] = dict(values.values)
        if values.lone:
            _lone_on_top(place, _base_keys(ropes, set(made), node))
        return
    held: dict[str, Any] = {} if old else dict(place["rope_parameters"])
    for rope in ropes.found:
        label = str(rope.label)
        if rope.label in made:
            held[label] = dict(made[rope.label].values)
        elif old or place.get("rope_scaling"):
            held[label] = dict(rope.values)
    held |= {label: None for label in ropes.silent if label not in held}
    place.pop("rope_scaling", None)  # it would be merged into one of them
    place["rope_parameters"] = held
    if old:
        out.notes.append(
            "the old keys cannot give each layer type its own table, so the schedules stand in "
            "rope_parameters, nested by layer type; transformers 4.x, mlx-lm, ExLlama, TGI and "
            "CTranslate2 do not read that and run with the plain tables"
        )


def _base_keys(ropes: Ropes, labels: set[str | None], node: Node) -> Iterable[str]:
    """Top-level keys that hold the base of the labels."""
    for rope in ropes.found:
        pointer = rope.places.get("rope_theta", "")
        if rope.label in labels and pointer.rpartition("/")[0] == node.pointer:
            yield pointer.rpartition("/")[2]


def _at(data: dict[str, Any], pointer: str) -> dict[str, Any]:
    place = data
    for step in pointer.split("/")[1:]:
        place = place[unescape(step)]
    return place
