"""What the data says about model types whose code is not in transformers.

Keys of an entry: ``remote`` (what the observation says), ``only_if`` and ``none_if`` (fields that
switch the rotation on or off; ``none`` says what there is instead), and in its ``rope``:
``base_paths`` (places of the base below the top level), ``base_times`` (a key that multiplies the
base), ``linear_key`` (a top-level key that holds a linear factor), ``width_key`` (one that holds
the rotary width itself, where no fraction is stated), ``type_key`` (one that names the law).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ropeaudit.document import Document, escape
from ropeaudit.errors import unexpected
from ropeaudit.facts import Json, Location, Observation, Oddity
from ropeaudit.readers.transformers._node import Node, number, whole
from ropeaudit.schedule.model_types import Spec


def why_none(spec: Spec, data: Mapping[str, Json]) -> str | None:
    """Why a config of this type rotates nothing; None where it does."""
    if "none" not in spec:
        return None
    allowed, refused = spec.get("only_if"), spec.get("none_if")
    if allowed is None and refused is None:
        return str(spec["none"])
    defaults = spec.get("defaults", {})
    for key, values in (allowed or {}).items():
        if data.get(key, defaults.get(key)) not in values:
            return str(spec["none"])
    for key, value in (refused or {}).items():
        if data.get(key, defaults.get(key)) == value:
            return str(spec["none"])
    return None


def observation(document: Document, pointer: str, component: str, message: str) -> Observation:
    """That the file alone does not decide: code outside it does."""
    where = f"{pointer}/model_type"
    return Observation(
        kind=Oddity.MODEL_SPECIFIC,
        message=message,
        location=Location(file=document.file, pointer=where),
        schedule=component,
    )


def base(node: Node) -> tuple[Json, str] | None:
    """The base from a nested place, or as a product; None where the usual rules apply."""
    rule = node.rope
    for path in rule.get("base_paths", ()):
        value: Any = node.data
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if value is not None:
            return value, node.pointer + "".join(f"/{escape(step)}" for step in path)
    key = rule.get("base_times")
    if key is None or node.data.get(key) is None:
        return None
    pointer = f"{node.pointer}/{escape(key)}"
    return rule["base"] * number(node.data[key], key, pointer), pointer


def stated_width(node: Node, head: int) -> int | None:
    """The rotary width that a key holds, with its fact; raises InvalidValue if wider than ``head``.

    Kept as a width: a fraction of the head would be cut to a smaller one by rounding (30 of 44).
    """
    key = node.rope.get("width_key")
    value, pointer = (None, None) if key is None else node.find(key)
    if key is None or value is None:
        return None
    width = whole(value, key, pointer, 2, head)
    node.facts.append(node.fact("rotary_dim", width, pointer))
    return width


def scaling(node: Node, values: dict[str, Json], places: dict[str, str]) -> None:
    """Scaling that stands on the top level: a linear factor other than 1, or a type's name."""
    key = node.rope.get("linear_key")
    factor = None if key is None else node.data.get(key)
    if key is not None and factor is not None and factor != 1:
        pointer = f"{node.pointer}/{escape(key)}"
        if number(factor, key, pointer) <= 0:
            raise unexpected(key, factor, "a number above 0", where=pointer)
        values.setdefault("rope_type", "linear")
        values.setdefault("factor", factor)
        places.setdefault("factor", pointer)
    key = node.rope.get("type_key")
    if key is not None and isinstance(node.data.get(key), str):
        values.setdefault("rope_type", node.data[key])
        places.setdefault("rope_type", f"{node.pointer}/{escape(key)}")
