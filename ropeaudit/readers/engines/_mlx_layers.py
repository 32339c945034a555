"""Model files of mlx-lm whose tables differ by kind of layer.

Each function answers to the ``kind`` of an entry in ``_mlx_families.json``; file names and lines
are 0.32.2's.
"""

from __future__ import annotations

from collections.abc import Callable

from ropeaudit.errors import shown
from ropeaudit.facts import Json
from ropeaudit.readers.engines._mlx_models import Model
from ropeaudit.readers.engines._raw_keys import MAX_WIDTH, Raw, chunks, number, portion, whole
from ropeaudit.readers.engines._raw_tables import Turn
from ropeaudit.readers.engines.interface import Refuses
from ropeaudit.records import replace

SLIDING, FULL = "sliding_attention", "full_attention"


def split(model: Model, sliding: list[bool], local: Turn, full: Turn) -> list[Turn]:
    """Two tables by kind of layer; one that serves no layer is left out."""
    of = {flag: tuple(i for i, s in enumerate(sliding) if s is flag) for flag in (True, False)}
    found = []
    if of[False]:
        found.append(replace(full, label=FULL, layers=of[False]))
    if of[True]:
        found.append(replace(local, label=SLIDING, layers=of[True]))
    return found


def by_period(model: Model) -> list[bool]:
    period = model.raw.width("sliding_window_pattern")
    return [(i + 1) % period != 0 for i in range(model.count())]


def by_types(model: Model) -> list[bool]:
    count = model.count()
    return [kind == SLIDING for kind in model.raw.items("layer_types", count)[:count]]


def gemma3(model: Model) -> list[Turn]:
    """gemma3_text.py 55-70. 0.28 (52-60) reads rope_global_base_freq and no scaling."""
    local = model.turn(base=model.raw.number("rope_local_base_freq"))
    if model.old:
        full = replace(local, base=model.raw.number("rope_global_base_freq"))
    else:
        full = replace(local, base=model.raw.number("rope_theta"))
        full = model.initialize(full, model.scaling())
    return split(model, by_period(model), local, full)


def gemma3n(model: Model) -> list[Turn]:
    """gemma3n.py 85, 110-116: two bases, no scaling."""
    head = model.raw.width("head_dim")
    local = Turn(
        base=model.raw.number("rope_local_base_freq"),
        rotary=head,
        head=head,
        declared=model.declared(),
    )
    full = replace(local, base=model.raw.number("rope_theta"))
    return split(model, by_types(model), local, full)


GEMMA4 = {
    FULL: {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"},
    SLIDING: {"partial_rotary_factor": 1.0, "rope_theta": 10000.0, "rope_type": "default"},
}
"""Rope parameters of a file without them (gemma4_text.py, __post_init__)."""


def gemma4(model: Model) -> list[Turn]:
    """gemma4_text.py 187-232: full layers have a head width of their own."""
    raw, count = model.raw, model.count()
    kinds: list[Json]
    if raw.get("layer_types") is None:
        period = raw.width("sliding_window_pattern")
        kinds = [FULL if (i + 1) % period == 0 else SLIDING for i in range(count)]
    else:
        kinds = raw.items("layer_types", count)[:count]
    parameters = raw.child("rope_parameters") or raw.inside("rope_parameters", GEMMA4)
    found = []
    for label in (FULL, SLIDING):
        own = raw.get("global_head_dim") if label == FULL else None
        head = whole(own, "global_head_dim", MAX_WIDTH) if own else raw.width("head_dim")
        inner = parameters.child(label) or parameters.inside(label, {})
        turn = Turn(
            base=inner.number("rope_theta", 10000.0),
            rotary=head,
            head=head,
            declared=model.declared(),
            pairing="interleaved" if raw.get("rope_traditional") else "half",
        )
        layers = tuple(i for i, k in enumerate(kinds) if (k == SLIDING) is (label == SLIDING))
        if layers:
            turn = model.initialize(turn, inner)
            found.append(replace(turn, label=label, layers=layers))
    return found


def olmo3(model: Model) -> list[Turn]:
    """olmo3.py 82-92: sliding layers are plain."""
    plain = model.turn()
    count = model.count()
    if model.raw.get("layer_types") is None:
        sliding = [(i + 1) % 4 != 0 for i in range(count)]
    else:
        kinds = model.raw.items("layer_types", count)[:count]
        sliding = [kind != FULL for kind in kinds]
    return split(model, sliding, plain, model.initialize(plain, model.scaling()))


def mimo_v2(model: Model) -> list[Turn]:
    """mimo_v2_flash.py 59-90, 280: head width and base by kind of layer, no scaling."""
    raw = model.raw
    part = raw.number("partial_rotary_factor")
    turns = []
    for head, base in (("swa_head_dim", "swa_rope_theta"), ("head_dim", "rope_theta")):
        width = raw.width(head)
        rotary = portion(part, width)
        turns.append(
            Turn(base=raw.number(base), rotary=rotary, head=width, declared=model.declared())
        )
    count = model.count()
    sliding = [flag == 1 for flag in raw.items("hybrid_layer_pattern", count)[:count]]
    return split(model, sliding, *turns)


def plamo3(model: Model) -> list[Turn]:
    """plamo3.py 43, 105: two bases."""
    full = model.turn()
    local = replace(full, base=model.raw.number("rope_local_theta"))
    return split(model, by_period(model), local, full)


def laguna(model: Model) -> list[Turn]:
    """laguna.py 26-41, 58-85: one dict a layer type, the plain table where there is none."""
    raw, count = model.raw, model.count()
    kinds: list[Json] = [FULL] * count
    if raw.get("layer_types") is not None:
        kinds = raw.items("layer_types", count)[:count]
    parameters = raw.child("rope_parameters") or raw.inside("rope_parameters", {})
    own = raw.get("partial_rotary_factor")
    found = []
    for kind, layers in chunks(kinds):
        label = str(kind)
        inner = parameters.child(label) or parameters.inside(label, {})
        part = inner.number("partial_rotary_factor", 1.0 if own is None else own)
        turn = _nested_turn(model, inner.number("rope_theta", 10000.0), part)
        if inner.has("rope_type") or inner.has("type"):
            turn = model.initialize(turn, inner)
        found.append(replace(turn, label=label, layers=layers))
    return found


def _nested_turn(model: Model, base: float, part: float) -> Turn:
    head = model.raw.width("head_dim")
    rotary = portion(part, head)
    return Turn(base=base, rotary=rotary, head=head, declared=model.declared())


def mellum(model: Model) -> list[Turn]:
    """mellum.py 37-52: linear is read as plain."""
    raw, count = model.raw, model.count()
    parameters = raw.child("rope_parameters")
    found = []
    for kind, layers in chunks(raw.items("layer_types", count)[:count]):
        inner = None if parameters is None else parameters.child(str(kind))
        if inner is None:
            raise Refuses(f"it needs rope_parameters for {shown(kind)}, which is missing")
        turn = _nested_turn(model, number(inner.need("rope_theta"), "rope_theta"), 1.0)
        wanted = inner.get("rope_type", "default")
        if wanted not in ("default", "linear"):
            # The class is chosen by rope_type alone here.
            spelled = inner.replaced({**inner.data, "type": wanted})
            turn = model.initialize(turn, spelled)
        found.append(replace(turn, label=str(kind), layers=layers))
    return found


def spark2_5(model: Model) -> list[Turn]:
    """spark2_5.py 40-100: base and width by layer type, no scaling."""
    raw, count = model.raw, model.count()
    kinds: list[Json] = [FULL if i % 4 == 3 else SLIDING for i in range(count)]
    if raw.get("layer_types") is not None:
        kinds = raw.items("layer_types")
        if len(kinds) != count or not set(map(str, kinds)) <= {SLIDING, FULL}:
            raise Refuses("layer_types does not name one of its two types for each layer")
    parameters = raw.child("rope_parameters")
    found = []
    for kind, layers in chunks(kinds):
        inner = None if parameters is None else parameters.child(str(kind))
        if inner is None:
            raise Refuses(f"it needs rope_parameters for {shown(kind)}, which is missing")
        turn = _nested_turn(
            model, inner.number("rope_theta", 10000.0), inner.number("partial_rotary_factor", 1.0)
        )
        found.append(replace(turn, label=str(kind), layers=layers))
    return found


def _listed(raw: Raw, key: str) -> list[Json]:
    """A list that may be missing, null or empty."""
    return raw.items(key) if raw.get(key) else []


def step3p5(model: Model) -> list[Turn]:
    """step3p5.py 195-243: base and width by layer, scaling by ``yarn_only_types``."""
    raw, count, head = model.raw, model.count(), model.raw.width("head_dim")
    kinds = _listed(raw, "layer_types") or [FULL] * count
    bases, parts = raw.get("rope_theta"), _listed(raw, "partial_rotary_factors")
    only, scaling = _listed(raw, "yarn_only_types"), model.scaling()
    rows: list[Json] = []
    for i in range(count):
        if i >= len(kinds) or (isinstance(bases, list) and i >= len(bases)):
            raise Refuses("its lists by layer are shorter than the number of layers")
        part = parts[i] if i < len(parts) else 1.0
        rows.append([bases[i] if isinstance(bases, list) else bases, part, kinds[i]])
    found = []
    for (base, part, kind), layers in chunks(rows):
        rotary = portion(part, head, "partial_rotary_factors")
        turn = Turn(
            base=number(base, "rope_theta"), rotary=rotary, head=head, declared=model.declared()
        )
        if not only or kind in only:
            turn = model.initialize(turn, scaling)
        found.append(replace(turn, label=str(kind), layers=layers))
    return found


KINDS: dict[str, Callable[[Model], list[Turn]]] = {
    f.__name__: f
    for f in (gemma3, gemma3n, gemma4, olmo3, mimo_v2, plamo3, laguna, mellum, spark2_5, step3p5)
}
