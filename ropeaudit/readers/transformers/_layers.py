"""Which layers there are, of which type, and which of them turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ropeaudit.errors import InvalidValue, shown, unexpected
from ropeaudit.facts import MAX_LENGTH, Json
from ropeaudit.readers.transformers._node import MAX_COUNT, MAX_LABELS, Node, whole

RENAMED = {
    "mamba": "linear_attention",
    "attention": "full_attention",
    "deepseek_sparse_attention": "indexed_attention",
    "qwen_sparse_attention": "indexed_attention",
}
"""Old names of layer types (``configuration_utils.py``)."""

WINDOWED = frozenset({"sliding_attention", "hybrid_sliding", "reference_sliding_attention"})
UNROTATED = frozenset({"linear_attention", "conv", "mamba", "moe", "mlp", "recurrent"})
"""Layer types without attention."""


def count(node: Node) -> int | None:
    """Number of layers, None where the file and class say nothing; at most MAX_COUNT."""
    value, pointer = node.find("num_hidden_layers")
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        raise unexpected(
            "num_hidden_layers",
            value,
            f"a whole number up to {MAX_COUNT}",
            where=pointer or "num_hidden_layers",
        )
    return value


def listed(node: Node) -> tuple[list[str] | None, str | None]:
    """The file's own list of layer types with its pointer."""
    value, pointer = node.find("layer_types")
    if value is None or pointer is None:
        return None, None
    if not isinstance(value, list) or not all(isinstance(t, str) for t in value):
        raise unexpected("layer_types", value, "a list of layer types", where=pointer)
    if len(value) > MAX_COUNT:
        raise InvalidValue(
            f"layer_types has {len(value)} entries, expected at most {MAX_COUNT}; shorten it",
            where=pointer,
        )
    if len(set(value)) > MAX_LABELS:
        raise InvalidValue(
            f"layer_types names {len(set(value))} types, expected at most {MAX_LABELS}; correct it",
            where=pointer,
        )
    # Layer types of the feed-forward part stand in the same list in some files (Dory).
    skipped = node.spec.get("layers", {}).get("skip")
    return [RENAMED.get(t, t) for t in map(str, value) if t != skipped], pointer


def types(node: Node) -> list[str] | None:
    """Layer type of each layer; None where the model has no such notion."""
    found, _ = listed(node)
    rule = node.spec.get("layers")
    if rule is not None and rule.get("ignores_list"):
        found = None
    if found is None:
        if rule is None:
            return None
        layers = count(node)
        if layers is None:
            return None
        found = LAWS[rule["law"]](node, rule, layers)
    if rule is not None:
        for old, new in rule.get("replace", {}).items():
            found = [new if t == old else t for t in found]
        if "force_last" in rule and found:
            found = [*found[:-1], rule["force_last"]]
    return found


def types_present(node: Node) -> set[str]:
    return set(types(node) or ())


def _all(node: Node, rule: Mapping[str, Any], layers: int) -> list[str]:
    return [rule["type"]] * layers


def _cycle(node: Node, rule: Mapping[str, Any], layers: int) -> list[str]:
    """A repeated pattern; where a key gives its period, the one odd member keeps its end."""
    cycle: list[str] = rule["cycle"]
    period = _period(node, rule.get("key"))
    if period is not None and period != len(cycle):
        odd = next(t for t in cycle if cycle.count(t) == 1)
        rest = next((t for t in cycle if t != odd), odd)
        first = cycle[0] == odd and len(cycle) > 1 and cycle[-1] != odd
        at = 0 if first else period - 1
        cycle = [odd if i == at else rest for i in range(period)]
    found = [cycle[i % len(cycle)] for i in range(layers)]
    for index, kind in enumerate(rule.get("first", ())[:layers]):
        found[index] = kind
    if "last" in rule and found:
        found[-1] = rule["last"]
    return found


def _period(node: Node, key: str | None) -> int | None:
    if key is None or node.data.get(key) is None:
        return None
    value = node.data[key]
    if type(value) is not int or not 1 <= value <= MAX_COUNT:
        raise unexpected(key, value, "a whole number from 1", where=f"{node.pointer}/{key}")
    return value


def _from_layer(node: Node, rule: Mapping[str, Any], layers: int) -> list[str]:
    """Qwen: sliding from ``max_window_layers`` on, if sliding is switched on at all."""
    on = node.value("use_sliding_window") and node.value("sliding_window") is not None
    start = node.value("max_window_layers")
    start = start if on and type(start) is int else layers
    return ["sliding_attention" if i >= start else "full_attention" for i in range(layers)]


def _from_end(node: Node, rule: Mapping[str, Any], layers: int) -> list[str]:
    """A pattern counted from the last layer."""
    cycle: list[str] = rule["cycle"]
    return [cycle[(layers - 1 - i) % len(cycle)] for i in range(layers)]


def _index_list(node: Node, rule: Mapping[str, Any], layers: int) -> list[str]:
    """Layers named by index in a list of their own; without the list ``absent`` decides."""
    value = node.data.get(rule["key"])
    if not isinstance(value, list):
        return _cycle(node, rule, layers)
    inside, outside = rule["inside"], rule["outside"]
    chosen = {v for v in value if type(v) is int}
    return [inside if i in chosen else outside for i in range(layers)]


def _mapped(node: Node, rule: Mapping[str, Any], layers: int) -> list[str]:
    """Layer types written as numbers in a list of their own (DeepSeek-V4's compress_ratios)."""
    value = node.data.get(rule["key"])
    if not isinstance(value, list):
        return _cycle(node, {**rule, "key": None}, layers)
    names: Mapping[str, str] = rule["map"]
    found = [names.get(str(v)) for v in value[:layers]]
    if None in found:
        raise InvalidValue(
            f"{rule['key']} holds {shown(value[found.index(None)])}, expected one of "
            f"{', '.join(names)}; correct it",
            where=f"{node.pointer}/{rule['key']}",
        )
    return [str(name) for name in found]


def _windowed(node: Node, rule: Mapping[str, Any], layers: int) -> list[str]:
    """All layers one type: the windowed one where there is a window."""
    windowed = node.value("sliding_window") is not None
    return [rule["type"] if windowed else "full_attention"] * layers


def _chunked(node: Node, rule: Mapping[str, Any], layers: int) -> list[str]:
    """Llama 4: rotated layers look at a chunk, the others at everything."""
    chunk = node.value("attention_chunk_size") is not None
    turning = no_rope_list(node, layers)
    return ["chunked_attention" if t and chunk else "full_attention" for t in turning]


def _exaone(node: Node, rule: Mapping[str, Any], layers: int) -> list[str]:
    """EXAONE: every layer full without a window, else a pattern."""
    if node.value("sliding_window") is None:
        return ["full_attention"] * layers
    return _cycle(node, rule, layers)


LAWS: dict[str, Callable[[Node, Mapping[str, Any], int], list[str]]] = {
    "all": _all,
    "cycle": _cycle,
    "from_layer": _from_layer,
    "from_end": _from_end,
    "index_list": _index_list,
    "mapped": _mapped,
    "windowed": _windowed,
    "chunked": _chunked,
    "window_or_full": _exaone,
}


def no_rope_list(node: Node, layers: int) -> list[Json]:
    """1 for layers that turn: the list itself, or every n-th layer left out."""
    rule = node.spec["unrotated"]
    value, pointer = node.find(rule["list"])
    if value is not None and not isinstance(value, list):
        raise unexpected(rule["list"], value, "a list of 0 and 1", where=pointer)
    if value or (value is not None and not rule.get("empty_is_default")):
        return list(value)
    interval = _period(node, rule["interval"]) or rule["default"]
    return [int((i + 1) % interval != 0) for i in range(layers)]


@lru_cache(maxsize=256)
def _range(layers: int) -> tuple[int, ...]:
    return tuple(range(layers))


def turning(node: Node, kinds: list[str] | None) -> tuple[int, ...] | None:
    """Indices of the layers that turn at all; None where the number of layers is unknown."""
    layers = len(kinds) if kinds is not None else count(node)
    if layers is None:
        return None
    rule = node.spec.get("unrotated", {})
    if "list" in rule:
        flags = no_rope_list(node, layers)
        return tuple(i for i, f in enumerate(flags[:layers]) if f)
    if "zero_in" in rule:
        return _nonzero(node, rule, layers)
    if kinds is None:
        return _range(layers)
    still = UNROTATED
    if "types" in rule:
        window = rule.get("if_set")
        if window is None or node.value(window) is not None:
            still = still | frozenset(rule["types"])
    if still.isdisjoint(kinds):
        return _range(layers)
    return tuple(i for i, t in enumerate(kinds) if t not in still)


def _nonzero(node: Node, rule: Mapping[str, Any], layers: int) -> tuple[int, ...]:
    """Layers whose own base is not 0 (Muse); without the list a pattern counted from the end."""
    bases = node.data.get(rule["zero_in"])
    if isinstance(bases, list):
        return tuple(i for i, base in enumerate(bases[:layers]) if base)
    still = "full_attention"
    return tuple(i for i, t in enumerate(_from_end(node, rule, layers)) if t != still)


def window(node: Node, kinds: list[str] | None, served: tuple[int, ...] | None) -> int | None:
    """The attention window that every served layer is limited to, None if any sees further."""
    key = node.spec.get("window", "sliding_window")
    if kinds is not None and served:
        seen = {kinds[i] for i in served if i < len(kinds)}
        if seen == {"chunked_attention"}:
            key = "attention_chunk_size"
        elif not seen <= WINDOWED:
            return None
    elif node.spec.get("layers") is not None or node.value("use_sliding_window") is False:
        return None
    value, pointer = node.find(key)
    if value is None or value is False or (type(value) is int and value in (0, -1)):
        return None  # all of them switch the window off somewhere
    return whole(value, key, pointer, 1, MAX_LENGTH)
