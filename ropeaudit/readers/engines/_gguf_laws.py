"""Steps of llama.cpp's converter that write factor tensors or a family's own keys."""

from __future__ import annotations

import math
from typing import Any

from ropeaudit.errors import quoted, shown
from ropeaudit.facts import as_number
from ropeaudit.readers.engines._gguf_draft import Draft
from ropeaudit.readers.engines._raw_keys import MAX_LAYERS
from ropeaudit.readers.engines.interface import Refuses
from ropeaudit.schedule.families.interface import geometric
from ropeaudit.schedule.families.longrope import attention_of
from ropeaudit.schedule.float32 import f32


def llama3(missing_factor: float = 8.0) -> Any:
    """``rope_freqs`` of llama3 scaling (``llama.py`` 298-326, ``exaone.py`` 98-125).

    What the file leaves open is 8 (EXAONE 4: 16), 1, 4 and 8192. float32 as torch computes it.
    """

    def step(d: Draft) -> None:
        rope = d.global_rope()
        kind = rope.get("rope_type", "")
        if not isinstance(kind, str) or kind.lower() != "llama3":
            return
        if d.architecture in ("granite", "granitemoe"):
            raise Refuses("its converter has no place for llama3 factors in a Granite file")
        keys = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
        factor, low, high, original = (
            _positive(rope, key, default)
            for key, default in zip(keys, (missing_factor, 1.0, 4.0, 8192.0), strict=True)
        )
        table = geometric(_positive(rope, "rope_theta", 10000.0), d.head())
        d.table("rope_freqs", [_divisor(t, factor, low, high, original) for t in table])

    return step


def _positive(rope: dict[str, Any], key: str, default: float) -> float:
    found = rope.get(key, default)
    number = as_number(found)
    if number is None or not 0 < number < math.inf:
        raise Refuses(f"its converter stops at {key} {shown(found)}")
    return number


def _number(value: Any, key: str) -> float:
    number = as_number(value)
    if number is None or not math.isfinite(number):
        raise Refuses(f"its converter stops at {key}, which is {shown(value)}")
    return number


def _divisor(theta: float, factor: float, low: float, high: float, original: float) -> float:
    turn = f32(f32(2 * math.pi) * f32(1.0 / theta)) if theta else math.inf
    if turn < f32(original / high):
        return 1.0
    if turn > f32(original / low):
        return factor
    if high == low:
        raise Refuses("its converter divides by zero where low and high factor are equal")
    smooth = f32(f32(f32(original / turn) - low) / (high - low))
    return f32(1.0 / f32(f32(f32(1.0 - smooth) / factor) + smooth))


def phi3(d: Draft) -> None:
    """Phi-3 and Phi-MoE (``phi.py`` 147-211): both factor lists, and no scaling type.

    Attention from declared over original length; whatever else the dict says is not read.
    """
    rope = d.rope
    hidden, heads = d.width("hidden_size", "n_embd"), d.heads()
    declared = d.whole("n_positions", "max_position_embeddings")
    original = d.demand(rope, "original_max_position_embeddings")
    width = d.fraction(d.get("partial_rotary_factor", 1.0), hidden) // heads
    d.put("block_count", d.layers)
    d.put("context_length", declared)
    d.put("rope.scaling.original_context_length", original)
    d.put("embedding_length", hidden)
    d.put("attention.head_count", heads)
    d.put("rope.dimension_count", width)
    d.number("rope.freq_base", d.demand(d.global_rope(), "rope_theta"))
    d.put("attention.sliding_window", d.values.get("sliding_window") or 0)
    long, short = d.get("long_factor"), d.get("short_factor")
    if not long:
        return
    kind = str(d.get("rope_type", "")).lower()
    length = _positive(rope, "original_max_position_embeddings", 0.0)
    scale = declared / length
    if kind in ("su", "longrope"):
        gain = attention_of(scale, length)
    elif kind == "yarn":
        gain = 0.1 * math.log(scale) + 1.0 if scale > 1 else 1.0
    else:
        raise Refuses(f"its converter knows no rope type {quoted(kind)} with factor lists")
    d.number("rope.scaling.attn_factor", gain)
    _lists(d, long, short, width)


def factor_lists(d: Draft) -> None:
    """MiniCPM and MiniCPM 3 (``minicpm.py`` 33-46, 87-100)."""
    long, short = d.get("long_factor"), d.get("short_factor")
    if not (long or short):
        return
    mla = d.architecture == "minicpm3"
    _lists(d, long, short, d.width("qk_rope_head_dim") if mla else d.even())


def _lists(d: Draft, long: Any, short: Any, width: int) -> None:
    if not isinstance(long, list) or not isinstance(short, list):
        raise Refuses("its converter stops because a factor list is missing")
    if len(long) != len(short) or 2 * len(long) != width:
        raise Refuses(
            f"its converter wants {width // 2} factors in each list, found {len(long)} and "
            f"{len(short)}"
        )
    d.table("rope_factors_long", long)
    d.table("rope_factors_short", short)


def deepseek(d: Draft) -> None:
    """DeepSeek 2 and 3 (``deepseek.py`` 318-386): latent attention, mscale_all_dim."""
    rank = d.width("kv_lora_rank") if "kv_lora_rank" in d.values else 512
    turned, still = d.width("qk_rope_head_dim"), d.width("qk_nope_head_dim")
    d.put("attention.head_count_kv", 1)
    d.put("attention.key_length", rank + turned)
    d.put("attention.key_length_mla", still + turned)
    d.put("rope.dimension_count", turned)
    weight = d.get("mscale_all_dim")
    if weight is not None:
        d.number("rope.scaling.yarn_log_multiplier", 0.1 * _number(weight, "mscale_all_dim"))


def dsa_width(d: Draft) -> None:
    """GLM with sparse attention (``glm.py`` 368-370)."""
    part = d.get("partial_rotary_factor", 1.0)
    d.put("rope.dimension_count", d.fraction(part, d.width("qk_rope_head_dim")))


def next_tokens(*keys: str) -> Any:
    """Layers for predicting further tokens count as layers, and are marked as such."""

    def step(d: Draft) -> None:
        more = d.first(*keys) or 0
        if type(more) is not int or not 0 <= more <= MAX_LAYERS:
            raise Refuses(f"its converter stops at {keys[0]} {shown(more)}")
        if more:
            d.put("block_count", d.layers + more)
            d.put("nextn_predict_layers", more)

    return step


def ministral3(d: Draft) -> None:
    """``mistral3.py`` 20-30."""
    if d.values.get("model_type") != "ministral3":
        return
    if d.rope.get("rope_type") != "yarn":
        raise Refuses("its converter asserts that Ministral 3 has yarn scaling")
    d.number("rope.scaling.yarn_log_multiplier", d.demand(d.rope, "mscale_all_dim"))
    d.demand(d.rope, "llama_4_scaling_beta")


def alpha(missing: float, stated: tuple[str, ...]) -> Any:
    """HunYuan's dynamic scaling becomes a larger base (``hunyuan.py`` 94-106, 258-271)."""

    def step(d: Draft) -> None:
        if d.rope.get("rope_type") not in stated:
            return
        by = _positive(d.rope, "alpha", missing)
        width = d.even() if d.architecture == "hunyuan-moe" else d.width("head_dim")
        theta = _positive(d.rope, "rope_theta", 10000.0)
        published = d.architecture != "hunyuan-moe" or (by, width) == (1000, 128)
        dynamic = d.rope.get("rope_type") == "dynamic"
        length = d.values.get("max_position_embeddings")
        if dynamic and not (published and theta == 10000 and length in (32768, 262144)):
            raise Refuses("its converter asserts the numbers of the published HunYuan models")
        if width <= 2:
            raise Refuses("its converter divides by head_dim less 2, which is not above 0")
        d.number("rope.freq_base", theta * by ** (width / (width - 2)))
        d.put("rope.scaling.type", "none")
        d.number("rope.scaling.factor", 1.0)
        if dynamic:
            d.put("rope.scaling.original_context_length", 262144)
            d.put("context_length", 262144)

    return step


def nemotron(d: Draft) -> None:
    """``nemotron.py`` 180-185: a factor anywhere is linear scaling, whatever the type says."""
    factor = d.values.get("factor") or d.get("factor")
    if factor is None:
        d.put("rope.scaling.type", "none")
    else:
        d.put("rope.scaling.type", "linear")
        d.number("rope.scaling.factor", factor)


def gemma4(d: Draft) -> None:
    """``gemma.py`` 672-762: two widths, and a tensor that keeps channels still."""
    full, swa = d.width("global_head_dim"), d.width("head_dim")
    d.put("attention.key_length", full)
    d.put("attention.key_length_swa", swa)
    d.put("rope.dimension_count", full)
    part = d.rope.get("partial_rotary_factor", 1.0)
    d.put("rope.dimension_count_swa", d.fraction(part, swa))
    rope = d.rope.get("full_attention")
    if not isinstance(rope, dict) or rope.get("rope_type") != "proportional":
        raise Refuses("its converter asserts that full-attention layers have proportional rope")
    turned = d.fraction(d.demand(rope, "partial_rotary_factor"), full) // 2
    if not 0 <= turned <= full // 2:
        raise Refuses("its converter stops at a partial_rotary_factor that is no fraction")
    d.table("rope_freqs", [1.0] * turned + [1e30] * (full // 2 - turned))
