"""Which layers rotate, and which of them attend through a window."""

from __future__ import annotations

from collections.abc import Sequence

from ropeaudit.errors import unexpected
from ropeaudit.readers.llama_cpp.architectures import Architecture, Window
from ropeaudit.readers.llama_cpp.keys import Keys
from ropeaudit.records import record

MAX_LAYERS = 10_000
"""llama.cpp itself stops at 512."""


@record()
class Group:
    """Layers that share one table; ``layers`` is None when the file does not count them."""

    layers: tuple[int, ...] | None
    sliding: bool = False
    compressed: bool = False
    window: int | None = None


@record()
class Plan:
    groups: tuple[Group, ...]
    still: tuple[int, ...] = ()
    """Layers that do not rotate."""


def plan(keys: Keys, arch: Architecture) -> Plan:
    """Groups of rotating layers; raises InvalidValue for impossible counts."""
    total = keys.count("block_count")
    if total is not None and not 0 < total <= MAX_LAYERS:
        raise unexpected("block_count", total, f"1 to {MAX_LAYERS}", where="block_count")
    window = arch.window if _slides(keys, arch.window, total) else None
    length = _length(keys, window)
    if total is None:
        return _uncounted(keys, arch, window, length)
    count = total - min(keys.count("nextn_predict_layers") or 0, total)
    sliding = _sliding(keys, window, count)
    turning = _turning(keys, arch, count, sliding, window)
    ratios = _per_layer(keys, "attention.compress_ratios", count) if arch.compress else None
    groups: dict[tuple[bool, bool], list[int]] = {}
    for i in turning:
        key = (sliding[i], bool(ratios and ratios[i]))
        groups.setdefault(key, []).append(i)
    return Plan(
        tuple(
            Group(tuple(layers), slides, packed, length if slides else None)
            for (slides, packed), layers in groups.items()
        ),
        tuple(sorted(set(range(count)) - set(turning))),
    )


def _uncounted(keys: Keys, arch: Architecture, window: Window | None, length: int | None) -> Plan:
    """Without block_count: one group of each kind, layers unknown."""
    if _switched_off(keys, arch):
        return Plan(())
    groups = []
    if window is not None:
        groups.append(Group(None, sliding=True, window=length))
    if not (window is not None and (arch.full_still or window.period == 0)):
        groups.append(Group(None))
    return Plan(tuple(groups))


def _slides(keys: Keys, window: Window | None, total: int | None) -> bool:
    if window is None or (window.only_layers is not None and total != window.only_layers):
        return False
    length = keys.count("attention.sliding_window")
    if window.when == "key":
        return bool(length)
    return window.when == "always" or length != 0


def _length(keys: Keys, window: Window | None) -> int | None:
    if window is None:
        return None
    if window.fixed is not None:
        keys.default("sliding_window", window.fixed)
        return window.fixed
    length = keys.count("attention.sliding_window", "sliding_window")
    return length or window.default


def _sliding(keys: Keys, window: Window | None, count: int) -> list[bool]:
    if window is None:
        return [False] * count
    pattern = keys.integers("attention.sliding_window_pattern")
    if isinstance(pattern, list):
        return [bool(v) for v in (pattern + [0] * count)[:count]]
    period = window.period if pattern is None else pattern
    if period is None:
        return [False] * count
    if period == 0:
        return [True] * count
    edge = 0 if window.dense_first else period - 1
    return [i % period != edge for i in range(count)]


def _turning(
    keys: Keys, arch: Architecture, count: int, sliding: Sequence[bool], window: Window | None
) -> list[int]:
    """Layers that rotate, ascending."""
    if _switched_off(keys, arch):
        return []
    recurrent = _recurrent(keys, arch, count)
    layers = [i for i in range(count) if not recurrent[i]]
    if arch.pattern:
        flags = _per_layer(keys, "attention.rope_pattern", count)
        return layers if flags is None else [i for i in layers if flags[i]]
    if arch.full_still and window is not None:
        dense = (keys.count("leading_dense_block_count") or 0) if arch.dense_turns else 0
        return [i for i in layers if sliding[i] or i < dense]
    if arch.skip_every is None:
        return layers
    if arch.skip_first:
        return [i for i in layers if window is None or i % arch.skip_every]
    # Without a window llama4 sets the step to the number of layers, which still skips the last.
    lone = window is None and arch.window is not None and arch.window.when == "not_zero"
    step = count if lone else arch.skip_every
    return [i for i in layers if (i + 1) % step]


def _switched_off(keys: Keys, arch: Architecture) -> bool:
    return arch.switch and keys.flag("rope.scaling.finetuned") is False


def _recurrent(keys: Keys, arch: Architecture, count: int) -> list[bool]:
    if arch.recurrent is None:
        return [False] * count
    if arch.recurrent == "kv":
        heads = _per_layer(keys, "attention.head_count_kv", count) or [1] * count
        return [n == 0 for n in heads]
    listed = _per_layer(keys, "attention.recurrent_layers", count)
    if listed is not None:
        return [bool(v) for v in listed]
    interval = keys.count("full_attention_interval") or int(arch.recurrent)
    return [(i + 1) % interval != 0 for i in range(count)]


def _per_layer(keys: Keys, name: str, count: int) -> list[int] | None:
    """A value for each layer: a list (padded with 0), or one number for all."""
    value = keys.integers(name)
    if value is None:
        return None
    return (value + [0] * count)[:count] if isinstance(value, list) else [value] * count
