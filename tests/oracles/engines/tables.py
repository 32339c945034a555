"""Tables as engines were seen to build them, and how the schedules of a reader differ from them.

A table is a dict: ``channels`` and ``values`` ([channel, frequency] pairs, all or some of them),
and what else is known: ``layers`` (which turn by it), ``variant`` (``short``, ``long``, ``@8192``;
none for the state in which the model starts), ``layer_type``, ``name`` (the whole schedule's),
``pairing``, ``rotary_dim``, ``attention_scaling``, ``softmax_scale``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Table = dict[str, Any]
LOG, FACTOR = 2e-5, 1e-4
MARKS = 6


def table(values: Sequence[float], **known: Any) -> Table:
    """A table of all channels; what is None is not known and left out."""
    kept = {k: v for k, v in known.items() if v is not None}
    return {"channels": len(values), "values": list(enumerate(values)), **kept}


def by_layer(layers: Sequence[Mapping[str, Any] | None], variant: str | None = None) -> list[Table]:
    """Tables of what every layer does; None where it does not turn. Equal layers share one."""
    found: list[tuple[Mapping[str, Any], list[int]]] = []
    for index, layer in enumerate(layers):
        if layer is None:
            continue
        same = next((indices for known, indices in found if known == layer), None)
        if same is None:
            found.append((layer, [index]))
        else:
            same.append(index)
    return [
        table(one["inv_freq"], variant=variant, layers=indices, **_rest(one))
        for one, indices in found
    ]


def _rest(layer: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in layer.items() if k != "inv_freq"}


def marked(tables: Iterable[Table]) -> list[Table]:
    """The same with a few channels each, shortened to what fits into a fixture."""
    return [{**t, **_rounded(t), "values": _marks(t["values"])} for t in tables]


def _rounded(one: Table) -> dict[str, float]:
    return {k: round(one[k], 6) for k in ("attention_scaling", "softmax_scale") if k in one}


def _marks(values: list[Any]) -> list[list[float]]:
    last = len(values) - 1
    steps = sorted({round(i * last / (MARKS - 1)) for i in range(MARKS)})
    return [[values[k][0], float(f"{values[k][1]:.7g}")] for k in steps]


def differences(schedules: Sequence[Any], tables: Sequence[Table]) -> Iterator[str]:
    """Every way in which ``schedules`` are not what was seen."""
    yield from _layers(schedules, tables)
    for s in schedules:
        candidates = [t for t in tables if _same_state(s, t) and _serves(s, t)]
        if not candidates:
            yield f"{s.name}: the engine has {[_label(t) for t in tables]}"
            continue
        # Where layers are not known, any of the engine's tables may be the one.
        exact = all("layers" in t or "name" in t for t in candidates)
        said = [list(unlike(s, t)) for t in candidates]
        wrong = [found for found in said if found]
        if wrong and (exact or len(wrong) == len(said)):
            yield wrong[0][0]


def _label(one: Table) -> Any:
    return one.get("name") or (one.get("variant"), one.get("layers"))


def _layers(schedules: Sequence[Any], tables: Sequence[Table]) -> Iterator[str]:
    if any(s.layers is None for s in schedules) or any("layers" not in t for t in tables):
        return
    ours = {i for s in schedules for i in s.layers}
    theirs = {i for t in tables for i in t["layers"]}
    if ours != theirs:
        yield f"layers {sorted(ours)}, the engine turns {sorted(theirs)}"


def _same_state(s: Any, one: Table) -> bool:
    return "name" in one or one.get("variant") == s.variant


def _serves(s: Any, one: Table) -> bool:
    if "name" in one:
        return bool(one["name"] == s.name)
    if "layer_type" in one and s.layer_type is not None:
        return bool(one["layer_type"] == s.layer_type)
    return s.layers is None or "layers" not in one or bool(set(s.layers) & set(one["layers"]))


def unlike(s: Any, one: Table) -> Iterator[str]:
    """How one schedule is not one table."""
    if len(s.inv_freq) != one["channels"]:
        yield f"{s.name}: {len(s.inv_freq)} channels, the engine has {one['channels']}"
        return
    for key, most in (("rotary_dim", 0), ("attention_scaling", FACTOR), ("softmax_scale", FACTOR)):
        if key in one and abs(getattr(s, key) - one[key]) > most:
            yield f"{s.name}: {key} {getattr(s, key)}, the engine has {one[key]}"
    if len(s.inv_freq) > 1 and one.get("pairing", s.pairing) != s.pairing:
        yield f"{s.name}: {s.pairing} pairs, the engine has {one['pairing']}"
    for k, value in one["values"]:
        if not near(s.inv_freq[k], value):
            yield f"{s.name}: channel {k} is {s.inv_freq[k]!r}, the engine has {value!r}"
            return


def near(a: float, b: float) -> bool:
    """Equal in log; an angle of half a turn or more cannot be told from its remainder."""
    if a == b or a >= math.pi or max(a, b) < 1e-20:
        return True
    return a > 0 and b > 0 and abs(math.log(a / b)) < LOG
