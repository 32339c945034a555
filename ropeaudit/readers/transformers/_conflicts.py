"""Old schema against new, top level against dict, and keys that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ropeaudit.document import escape
from ropeaudit.errors import quoted, shown
from ropeaudit.facts import Json, Observation, Oddity
from ropeaudit.readers.transformers import _vocabulary
from ropeaudit.readers.transformers._dicts import Rope, Ropes
from ropeaudit.readers.transformers._node import Node
from ropeaudit.readers.transformers._odd import SAME_TYPE, odd, small
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.keys import BASES, FRACTIONS, WIDTHS

_FILLED = ("original_max_position_embeddings", "partial_rotary_factor")


def schemas(node: Node, ropes: Ropes) -> Iterator[Observation]:
    """Old and new schema, or top level and dict, present and different."""
    old, new = node.data.get("rope_scaling"), node.data.get("rope_parameters")
    if node.rope.get("unread") == "rope_scaling":
        yield from _unread(node, old)
    elif isinstance(old, dict) and isinstance(new, dict) and old and new:
        yield from _both(node, old, new)
    for key in ("rope_theta", "partial_rotary_factor", "original_max_position_embeddings"):
        top = node.data.get(key)
        if top is None:
            continue
        for rope in ropes.found:
            inside, place = rope.values.get(key), rope.places.get(key)
            if place is None and rope.origin is not None and key in rope.outer:
                inside, place = rope.outer[key], f"{rope.origin}/{key}"
            if inside is None or place is None or place == f"{node.pointer}/{key}":
                inside = _overruled(node, rope, key)
                if inside is None or inside == top:
                    continue
                yield odd(
                    node,
                    Oddity.SCHEMA_CONFLICT,
                    f"{key} is {shown(top)} on the top level and {shown(inside)} in the rope "
                    "dict; the top level wins here, other readers may take the dict",
                    f"{node.pointer}/{key}",
                    used=top,
                    other=inside,
                    field=key,
                )
            elif inside != top and rope.label is None:
                yield odd(
                    node,
                    Oddity.SCHEMA_CONFLICT,
                    f"{key} is {shown(top)} on the top level and {shown(inside)} in the rope "
                    "dict; the dict wins here, other readers may take the top level",
                    place,
                    used=inside,
                    other=top,
                    field=key,
                )


def _unread(node: Node, scaling: Json) -> Iterator[Observation]:
    """A config class with a field ``rope_scaling`` that its code never looks at."""
    kind = scaling.get("rope_type", scaling.get("type")) if isinstance(scaling, dict) else None
    if kind in (None, "default"):
        return
    yield odd(
        node,
        Oddity.NOT_APPLIED,
        f"rope_type {quoted(kind)} is declared in rope_scaling, and the code of "
        f"{quoted(node.model_type)} reads rope_parameters alone: the plain table is built",
        f"{node.pointer}/rope_scaling",
        rope_type=quoted(kind),
        factor=small(scaling.get("factor")) if isinstance(scaling, dict) else None,
    )


def _overruled(node: Node, rope: Rope, key: str) -> Json:
    """A value inside the dict that the top level replaced."""
    return rope.outer.get(key) if rope.label is None and rope.origin else None


def _both(node: Node, old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[Observation]:
    nested = any(isinstance(v, dict) for v in new.values())
    against = new.get("full_attention") if nested else new
    if not isinstance(against, dict):
        return
    # What a dict leaves out of these, the top level gives to it.
    filled = {k: v for k in _FILLED if (v := node.data.get(k)) is not None}
    differ = sorted(
        k
        for k in set(old) | set(against)
        if k not in ("type", "rope_theta")
        and old.get(k, filled.get(k)) != against.get(k, filled.get(k))
    )
    kinds = [d.get("rope_type", d.get("type", "default")) for d in (old, against)]
    kinds = [SAME_TYPE.get(k, k) if isinstance(k, str) else k for k in kinds]
    if "rope_type" in differ and kinds[0] == kinds[1]:
        differ.remove("rope_type")
    if not differ:
        return
    merged = bool(node.rope.get("merge"))
    yield odd(
        node,
        Oddity.SCHEMA_CONFLICT,
        "rope_scaling and rope_parameters are both present and differ in "
        f"{', '.join(map(quoted, differ[:6]))}; transformers 5 "
        + ("lays rope_scaling over" if merged else "takes rope_scaling and drops")
        + " rope_parameters, older readers know only rope_scaling",
        f"{node.pointer}/rope_parameters",
        differ=differ[:16],
        used="rope_scaling",
    )


def stray(node: Node, ropes: Ropes) -> Iterator[Observation]:
    """A flat dict on a model with one schedule per layer type."""
    # DeepSeek-V4 takes the flat dict as the scaling of one of its tables.
    read = {place for rope in ropes.found for place in rope.places.values()}
    dead = [
        k
        for k in ropes.stray
        if k not in ("rope_theta", "truncate") and f"{ropes.stray_at}/{escape(k)}" not in read
    ]
    if not dead or ropes.stray_at is None:
        return
    outer = ropes.found[0].outer if ropes.found else {}
    spelled = outer.get("rope_type", outer.get("type"))
    if spelled in (None, "default") and "factor" not in dead:
        return
    yield odd(
        node,
        Oddity.NOT_APPLIED,
        f"rope_type {quoted(spelled)} is declared flat, but this model type has one schedule per "
        "layer type and reads only nested dicts: the plain tables are built",
        f"{ropes.stray_at}/{'factor' if 'factor' in dead else dead[0]}",
        keys=dead[:16],
        rope_type=quoted(spelled),
        factor=small(outer.get("factor")),
    )


def top_level(node: Node, schedules: Sequence[Schedule]) -> Iterator[Observation]:
    """Top-level keys about rotation that this model type does not read."""
    yield from _outside(node)
    for key in node.data:
        if key in _vocabulary.ORDINARY or not _vocabulary.about_rotation(key):
            continue
        value = node.data[key]
        if value is None or value is False or _vocabulary.is_read(node, key):
            continue
        if _agrees(key, value, schedules):
            continue
        pointer = f"{node.pointer}/{escape(key)}"
        if key in _vocabulary.LAYER_LISTS:
            yield odd(
                node,
                Oddity.PER_LAYER_IGNORED,
                f"{quoted(key)} lists layers without rotation, but {quoted(node.model_type)} "
                "rotates every layer",
                pointer,
                key=key,
            )
            continue
        meant = None if key in _vocabulary.TOP_LEVEL else _vocabulary.meant(key, node.data)
        if meant is not None:
            yield odd(
                node,
                Oddity.KEY_MISSPELT,
                f"{quoted(key)} is not a key that any reader knows; {meant} is",
                pointer,
                key=key,
                meant=meant,
            )
        elif key in _vocabulary.TOP_LEVEL:
            yield odd(
                node,
                Oddity.KEY_IGNORED,
                f"{quoted(key)} is {shown(value)}, but {quoted(node.model_type)} does not read it",
                pointer,
                key=key,
                value=small(value),
            )


def _outside(node: Node) -> Iterator[Observation]:
    """Scaling keys on the top level: no reader looks for them there."""
    for key in _vocabulary.INSIDE_ONLY.intersection(node.data):
        value = node.data[key]
        if type(value) not in (int, float, list) or value == 1 or _vocabulary.is_read(node, key):
            continue
        yield odd(
            node,
            Oddity.KEY_IGNORED,
            f"{quoted(key)} is {shown(value)} outside rope_scaling and rope_parameters, where no "
            "reader looks for it",
            f"{node.pointer}/{escape(key)}",
            key=key,
            value=small(value),
        )


def _agrees(key: str, value: Json, schedules: Sequence[Schedule]) -> bool:
    """Whether an unread key says what is built anyway."""
    if type(value) not in (int, float):
        return False
    for schedule in schedules:
        stated: float | None = None
        built: float = 0
        if key in FRACTIONS and schedule.head_dim and 0 < value <= 1:
            stated, built = int(schedule.head_dim * value), schedule.rotary_dim
        elif key in WIDTHS:
            stated, built = value, schedule.rotary_dim
        elif key in BASES and schedule.rope_theta is not None:
            stated, built = value, schedule.rope_theta
        if stated is not None and stated == built:
            return True
    return False
