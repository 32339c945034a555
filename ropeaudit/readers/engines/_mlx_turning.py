"""Which layers of mlx-lm's models rotate, where not all of them do.

Each function answers to the ``l`` of an entry in ``_mlx_families.json``: it is given the raw config
and the number of layers, and returns what is true for those that rotate. File names and lines are
0.32.2's.
"""

from __future__ import annotations

from collections.abc import Callable

from ropeaudit.errors import shown
from ropeaudit.facts import Json
from ropeaudit.readers.engines._raw_keys import Raw
from ropeaudit.readers.engines.interface import Refuses

Flags = list[Json]


def pattern(raw: Raw, count: int) -> Flags:
    """cohere2.py 59, 76: sliding layers."""
    period = raw.width("sliding_window_pattern")
    return [(i + 1) % period for i in range(count)]


def fourth(raw: Raw, count: int) -> Flags:
    """llama4.py 59: each fourth layer is left out, whatever list the file has."""
    return [(i + 1) % 4 for i in range(count)]


def letters(raw: Raw, count: int) -> Flags:
    """exaone4.py 54, 145-149: layers that are spelled L; all without a pattern."""
    spelled = raw.get("sliding_window_pattern")
    if spelled is not None and not isinstance(spelled, str):
        raise Refuses("sliding_window_pattern is no text of letters")
    return [spelled[i % len(spelled)] == "L" if spelled else True for i in range(count)]


def no_rope(raw: Raw, count: int) -> Flags:
    """smollm3.py 20-28, 48-50."""
    if raw.get("no_rope_layers") is None:
        period = raw.width("no_rope_layer_interval")
        return [(i + 1) % period for i in range(count)]
    flags = raw.items("no_rope_layers")
    if len(flags) != count:
        raise Refuses(f"no_rope_layers has {len(flags)} entries for {count} layers")
    return flags


def no_rope_required(raw: Raw, count: int) -> Flags:
    """llama4_text.py 135."""
    return raw.items("no_rope_layers", count)[:count]


def sliding_types(raw: Raw, count: int) -> Flags:
    """afmoe.py 80."""
    return [kind == "sliding_attention" for kind in raw.items("layer_types", count)[:count]]


def sliding_or_all(raw: Raw, count: int) -> Flags:
    """exaone_moe.py 190-193: all layers where none is sliding."""
    flags = sliding_types(raw, count)
    return flags if "sliding_attention" in raw.items("layer_types") else [True] * count


def interval(raw: Raw, count: int) -> Flags:
    """qwen3_next.py 352: attention each n-th layer."""
    period = raw.width("full_attention_interval", 4)
    return [(i + 1) % period == 0 for i in range(count)]


def full_types(raw: Raw, count: int) -> Flags:
    """lfm2.py 53-59, 208: by a list of indices, else by layer types."""
    own = raw.get("full_attn_idxs")
    if own is not None:
        chosen = {i for i in raw.items("full_attn_idxs") if isinstance(i, int | float)}
        return [i in chosen for i in range(count)]
    return [kind == "full_attention" for kind in raw.items("layer_types")[:count]]


def olmo_types(raw: Raw, count: int) -> Flags:
    """olmo_hybrid.py 53-57: each fourth layer without a list."""
    if raw.get("layer_types") is None:
        return [i % 4 == 3 for i in range(count)]
    return [kind == "full_attention" for kind in raw.items("layer_types", count)[:count]]


def attention_types(raw: Raw, count: int) -> Flags:
    """granitemoehybrid.py 378-383, 436: one layer an entry, of two known types."""
    kinds = raw.items("layer_types")
    odd = [kind for kind in kinds if kind not in ("mamba", "attention")]
    if odd:
        raise Refuses(f"it knows no layer type {shown(odd[0])}")
    return [kind == "attention" for kind in kinds]


def blocks(raw: Raw, count: int) -> Flags:
    """recurrent_gemma.py 35, 382: a repeated list under either of two names."""
    key = "_block_types" if raw.get("block_types") is None else "block_types"
    kinds = raw.items(key)
    if not kinds:
        raise Refuses("its list of block types is empty")
    return [kinds[i % len(kinds)] == "attention" for i in range(count)]


def mamba_step(raw: Raw, count: int) -> Flags:
    """plamo2.py 364-373."""
    if not raw.get("mamba_enabled", True):
        return [True] * count
    step = raw.width("mamba_step", 2)
    if step < 2:
        raise Refuses("mamba_step must be above 1")
    if count <= step // 2:
        return [i == count - 1 for i in range(count)]
    return [i % step == step // 2 for i in range(count)]


def no_op(raw: Raw, count: int) -> Flags:
    """nemotron-nas.py 119-127, 262: layers whose attention is neither dropped nor replaced."""
    configs = raw.items("block_configs")
    if len(configs) != count:
        raise Refuses(f"block_configs has {len(configs)} entries for {count} layers")
    flags: Flags = []
    for config in configs:
        attention = config.get("attention") if isinstance(config, dict) else None
        own = attention if isinstance(attention, dict) else {}
        flags.append(not own.get("no_op") and not own.get("replace_with_linear"))
    return flags


RULES: dict[str, Callable[[Raw, int], Flags]] = {
    f.__name__: f
    for f in (
        pattern, fourth, letters, no_rope, no_rope_required, sliding_types, sliding_or_all,
        interval, full_types, olmo_types, attention_types, blocks, mamba_step, no_op,
    )
}  # fmt: skip
