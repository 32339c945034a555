"""Configs of every model type that the 4.x rules cover: a grid of spellings, and random ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

Config = dict[str, Any]

WIDTH, HEADS, DECLARED = 256, 4, 8192
BASE: Config = {
    "hidden_size": WIDTH, "num_attention_heads": HEADS, "num_key_value_heads": 2,
    "num_hidden_layers": 6, "intermediate_size": 64, "vocab_size": 64, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "max_position_embeddings": DECLARED, "num_experts": 4,
    "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 32, "n_group": 2, "topk_group": 1, "kv_lora_rank": 32,
    "q_lora_rank": 32, "qk_rope_head_dim": 32, "qk_nope_head_dim": 32, "v_head_dim": 32,
    "first_k_dense_replace": 1, "n_shared_experts": 1, "shared_expert_intermediate_size": 32,
    "decoder_sparse_step": 1, "num_kv_shared_layers": 0,
}  # fmt: skip
"""Fields that make any of the types small."""

LLAMA3: Config = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0}
LLAMA3 |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 1024}
YARN: Config = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}


def longrope(width: int, **more: Any) -> Config:
    """A longrope dict with one entry a channel of a head of ``width``."""
    channels = range(width // 2)
    lists = {"short_factor": [round(1 + 0.01 * i, 3) for i in channels]}
    lists["long_factor"] = [round(1 + 0.3 * i, 3) for i in channels]
    return {**lists, **more}


def scalings(width: int, base: float) -> dict[str, Config]:
    """Every law in the old schema, by name; heads are ``width`` wide."""
    top = {"rope_theta": base}
    yarn_full = {"type": "yarn", "factor": 4.0, "attention_factor": 1.2, "beta_fast": 16.0}
    yarn_full |= {"beta_slow": 2.0, "truncate": False}
    mscale = {"type": "yarn", "factor": 8.0, "mscale": 1.0, "mscale_all_dim": 0.7}
    mscale |= {"original_max_position_embeddings": 1024}
    original = {"original_max_position_embeddings": 2048}
    lone = {"rope_type": "longrope"}
    short = {k: v for k, v in LLAMA3.items() if k != "original_max_position_embeddings"}
    return {
        "linear": {**top, "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
        "linear by type": {"rope_scaling": {"type": "linear", "factor": 2.0}},
        "dynamic": {**top, "rope_scaling": {"type": "dynamic", "factor": 2.0}},
        "yarn": {**top, "rope_scaling": YARN},
        "yarn in full": {**top, "rope_scaling": yarn_full},
        "yarn with mscale": {"rope_scaling": mscale},
        "llama3": {**top, "rope_scaling": LLAMA3},
        "llama3 without original": {"rope_scaling": short},
        "longrope": {**top, **original, "rope_scaling": longrope(width, type="longrope")},
        "longrope by factor": {
            **top, "rope_scaling": longrope(width, **lone, **original, factor=4.0)
        },
        "longrope with attention": {
            **top, **original,
            "rope_scaling": longrope(width, **lone, factor=32.0, attention_factor=1.1),
        },
        "longrope alone": {"rope_scaling": longrope(width, **lone)},
    }  # fmt: skip


def spellings(width: int, base: float = 5e5) -> dict[str, Config]:
    """What is written about rotation, by name; heads are ``width`` wide."""
    top = {"rope_theta": base}
    new = {"rope_type": "linear", "factor": 2.0, "rope_theta": base}
    return scalings(width, base) | {
        "nothing": {},
        "base": top,
        "new schema": {"rope_parameters": {"rope_type": "default", "rope_theta": base}},
        "new schema scaled": {**top, "rope_parameters": new},
        "null": {**top, "rope_scaling": None},
        "types conflict": {
            "rope_scaling": {"type": "linear", "rope_type": "dynamic", "factor": 2.0}
        },
        "empty": {"rope_scaling": {}},
        "no type": {"rope_scaling": {"factor": 2.0}},
        "unknown type": {"rope_scaling": {"rope_type": "foo", "factor": 2.0}},
        "base inside": {"rope_theta": 1e4, "rope_scaling": new},
        "partial": {"partial_rotary_factor": 0.5},
        "partial yarn": {"partial_rotary_factor": 0.5, "rope_scaling": YARN},
        "head": {**top, "head_dim": 32},
        "head yarn": {**top, "head_dim": 32, "rope_scaling": YARN},
        "yarn by top original": {
            "original_max_position_embeddings": 512,
            "rope_scaling": {"rope_type": "yarn", "factor": 4.0},
        },
        "plain by name": {"rope_scaling": {"rope_type": "default"}},
        "mrope": {"rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}},
        "neox keys": {"rotary_emb_base": base, "rotary_pct": 0.5},
        "bases by layer type": {
            **top, "rope_local_base_freq": 2e4, "local_rope_theta": 3e4, "global_rope_theta": 2e5,
            "rope_scaling": {"rope_type": "linear", "factor": 8.0},
        },
    }  # fmt: skip


def width_of(model_type: str) -> int:
    """The head width that BASE means for ``model_type``."""
    from ropeaudit.schedule.model_types import lookup

    spec = lookup(model_type) or {}
    for term in spec.get("head_dim", ()):
        if isinstance(term, str):
            value = BASE.get(term) or spec.get("defaults", {}).get(term)
            if value:
                return int(value)
    return WIDTH // HEADS


def grid(model_type: str) -> Iterator[tuple[str, Config]]:
    """(spelling, config) for each spelling."""
    for name, fields in spellings(width_of(model_type)).items():
        yield name, {"model_type": model_type, **BASE, **fields}


def drawn(model_types: list[str], count: int, seed: int) -> Iterator[tuple[str, Config]]:
    """(``type: spelling``, config): random bases and lengths, and two spellings laid together."""
    dice = random.Random(seed)
    for _ in range(count):
        model_type = dice.choice(model_types)
        base = round(10 ** dice.uniform(3.5, 7), dice.choice([0, 1]))
        known = spellings(width_of(model_type), base)
        first, second = dice.choice(sorted(known)), dice.choice(sorted(known))
        config = {"model_type": model_type, **BASE, **known[first]}
        if dice.random() < 0.4:
            config |= {k: v for k, v in known[second].items() if dice.random() < 0.7}
        config["max_position_embeddings"] = dice.choice([2048, 4096, 8192, 40960])
        scaling = config.get("rope_scaling")
        if isinstance(scaling, dict) and "factor" in scaling and dice.random() < 0.5:
            factor = dice.choice([1.0, 1.5, 3.0, 4, 40.0])
            config["rope_scaling"] = {**scaling, "factor": factor}
        yield f"{model_type}: {first} + {second}", config
