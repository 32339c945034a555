"""Tables that lie in a file or a live module, as schedules of their own (variant ``stored``).

A stored table is evidence about the weights: it is what the model was saved with, whatever a config
beside it says. Nothing is recomputed here; the numbers stay exactly as they are stored.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence

from ropeaudit.errors import quoted
from ropeaudit.facts import Fact, Note, Reading, StoredTable
from ropeaudit.readers.interface import Resolution
from ropeaudit.schedule.core import Axis, Schedule

NAME = "stored"

_FREQUENCIES = frozenset({"inv_freq", "cos_sin_cache", "learned"})
_COMPONENTS = {
    "vision": re.compile(r"^(?:visual|vision|image|vit|vpm|siglip|dino)(?:_|$)"),
    "audio": re.compile(r"^(?:audio|speech|whisper)(?:_|$)"),
    "talker": re.compile(r"^talker(?:_|$)"),
    "code_predictor": re.compile(r"^(?:code_predictor|depth_decoder)(?:_|$)"),
}
_MODULES = {
    # transformers 4.x keeps one rotary module per kind of layer; 5.x one module, prefixed buffers.
    "rotary_emb_local": "sliding_attention",
    "local_rotary_emb": "sliding_attention",
    "sliding_attention": "sliding_attention",
    "full_attention": "full_attention",
    "chunked_attention": "chunked_attention",
}
_LEAF = re.compile(r"^(?:(?P<kind>\w+?)_)??(?P<original>original_)?inv(?:erse)?_freq")
_NO_KIND = frozenset({"rotary", "rope", "rotary_emb", "rotary_pos_emb"})
_UNSAFE = re.compile(r"[^\w.:-]+")


def read(reading: Reading, lengths: tuple[int, ...]) -> Resolution:
    """Schedules of all frequency tables of ``reading``, radians per position, in stored order.

    Identical tables of several layers become one schedule that lists the layers. Where tables of
    one component differ, the most common one keeps the plain name and the others are named after
    their layers. Divisor lists (``rope_factors*``) are no frequencies: they are named in a note and
    left to the reader that knows the base. ``lengths`` plays no part. Raises nothing.
    """
    tables = [t for t in reading.tables if t.role in _FREQUENCIES and t.values]
    notes = list(_unread(reading, tables))
    groups: dict[tuple[str, str | None], list[StoredTable]] = {}
    for table in _without_copies(tables):
        where = (_component(table.name), _layer_type(table.name))
        groups.setdefault(where, []).append(table)
    schedules: list[Schedule] = []
    taken: set[str] = set()
    for (component, layer_type), members in groups.items():
        for at, same in enumerate(_distinct(members)):
            schedules.append(_schedule(component, layer_type, same, at, taken))
            taken.add(schedules[-1].name)
    return Resolution(schedules=tuple(schedules), notes=tuple(notes))


def _unread(reading: Reading, tables: Sequence[StoredTable]) -> Iterable[Note]:
    for table in reading.tables:
        if table.role == "learned" and not table.values:
            yield Note(
                "learned",
                f"the tensor {quoted(table.name)} holds a learned position encoding of shape "
                f"{list(table.shape)}; its values are not read",
            )
        elif table.role.startswith("rope_factors") and reading.format != "gguf" and not tables:
            yield Note(
                "insufficient",
                f"the tensor {quoted(table.name)} holds divisors of a table, and without the base "
                "they give no frequencies; audit it together with its config",
            )


def _without_copies(tables: Sequence[StoredTable]) -> list[StoredTable]:
    """Drops ``original_inv_freq`` where the same module holds an equal ``inv_freq``.

    Engines keep that copy to return to after a long sequence. It is no second schedule, unless it
    differs: then it is shown, under the layer type ``original``.
    """
    held = {t.name: t for t in tables}
    kept = []
    for table in tables:
        other = held.get(table.name.replace("original_", "")) if "original_" in table.name else None
        if other is None or other is table or not _equal(other, table):
            kept.append(table)
    return kept


def _equal(a: StoredTable, b: StoredTable) -> bool:
    # Sources let equal tables share their values, so this seldom compares numbers.
    return a.values is b.values or _bits(a) == _bits(b)


def _bits(table: StoredTable) -> bytes:
    """The values as bytes, so that NaN equals itself and -0.0 differs from 0.0."""
    return array("d", table.values).tobytes()


def _component(name: str) -> str:
    for step in name.split("."):
        for component, pattern in _COMPONENTS.items():
            if pattern.match(step):
                return component
    return "text"


def _layer_type(name: str) -> str | None:
    *path, leaf = name.split(".")
    match = _LEAF.match(leaf)
    if match is not None and match["kind"] and match["kind"] not in _NO_KIND:
        kind = match["kind"]
        return f"{kind}_original" if match["original"] else kind
    if match is not None and match["original"]:
        return "original"
    return next((_MODULES[step] for step in reversed(path) if step in _MODULES), None)


def _distinct(tables: Iterable[StoredTable]) -> list[list[StoredTable]]:
    """Tables grouped by equal content, the largest group first, otherwise in stored order."""
    found: dict[tuple[object, ...], list[StoredTable]] = {}
    for table in tables:
        key = (table.role, table.dtype, table.attention_scaling, _bits(table))
        found.setdefault(key, []).append(table)
    return sorted(found.values(), key=lambda same: -len(same))


def _schedule(
    component: str, layer_type: str | None, same: list[StoredTable], at: int, taken: set[str]
) -> Schedule:
    first = same[0]
    scaling = _factor(first)
    layers = tuple(sorted({t.layer for t in same if t.layer is not None})) or None
    if at:
        label = _label(first, layers)
        layer_type = f"{layer_type}.{label}" if layer_type else label
    layer_type = _unused(component, layer_type, taken)
    return Schedule(
        component=component,
        layer_type=layer_type,
        variant="stored",
        layers=layers,
        rope_type="learned" if first.role == "learned" else "stored",
        rope_theta=None,
        head_dim=None,
        rotary_dim=2 * len(first.values),
        axes=_axes(first),
        inv_freq=first.values,
        dtype=first.dtype,
        attention_scaling=1.0 if scaling is None else scaling,
        parameters={"role": first.role, "shape": list(first.shape)},
        provenance=(
            *(Fact("inv_freq", f"{t.dtype}{list(t.shape)}", location=t.location) for t in same),
            *(() if scaling is None else (_scaling_fact(first, scaling),)),
        ),
    )


def _factor(table: StoredTable) -> float | None:
    """The factor on cos and sin; None where it is not known to float32.

    A narrow cache shows it rounded, which is no other factor.
    """
    rounded = table.role == "cos_sin_cache" and table.dtype not in ("float32", "float64")
    return None if rounded else table.attention_scaling


def _scaling_fact(table: StoredTable, value: float) -> Fact:
    return Fact("attention_scaling", value, location=table.location)


def _label(table: StoredTable, layers: tuple[int, ...] | None) -> str:
    if layers is None:
        return _UNSAFE.sub("_", table.name)[:80] or "table"
    if len(layers) == 1:
        return f"layer_{layers[0]}"
    if layers == tuple(range(layers[0], layers[-1] + 1)):
        return f"layers_{layers[0]}-{layers[-1]}"
    return f"layers_{layers[0]}_and_{len(layers) - 1}_more"


def _unused(component: str, layer_type: str | None, taken: set[str]) -> str | None:
    """``layer_type``, counted up until the schedule's name is new in its subject."""
    wanted, count = layer_type, 1
    while "/".join(p for p in (component, wanted, "stored") if p) in taken:
        count += 1
        wanted = f"{layer_type}.{count}" if layer_type else f"table_{count}"
    return wanted


def _axes(table: StoredTable) -> tuple[Axis, ...] | None:
    """Learned vectors ``(2, ...)`` hold all x components, then all y components."""
    if table.role != "learned" or len(table.shape) < 2 or table.shape[0] not in (2, 3):
        return None
    count, rest = divmod(len(table.values), table.shape[0])
    if rest:
        return None
    return tuple(
        Axis(a, (i * count, (i + 1) * count - 1))
        for i, a in zip(range(table.shape[0]), "xyz", strict=False)
    )
