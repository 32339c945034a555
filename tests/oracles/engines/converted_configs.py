"""Random configs of every family that llama.cpp's converter reads, in every spelling."""

from __future__ import annotations

import random
from typing import Any

Config = dict[str, Any]

CLASSES = {
    "llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "mixtral": "MixtralForCausalLM",
    "arcee": "ArceeForCausalLM", "llama4_text": "Llama4ForCausalLM",
    "smollm3": "SmolLM3ForCausalLM", "apertus": "ApertusForCausalLM",
    "granite": "GraniteForCausalLM", "granitemoe": "GraniteMoeForCausalLM",
    "granitemoeshared": "GraniteMoeSharedForCausalLM", "qwen2": "Qwen2ForCausalLM",
    "qwen2_moe": "Qwen2MoeForCausalLM", "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM", "qwen3_next": "Qwen3NextForCausalLM",
    "qwen3_5_text": "Qwen3_5ForCausalLM", "qwen2_vl": "Qwen2VLForConditionalGeneration",
    "qwen2_5_vl": "Qwen2_5_VLForConditionalGeneration",
    "qwen3_vl_text": "Qwen3VLForConditionalGeneration", "gemma": "GemmaForCausalLM",
    "gemma2": "Gemma2ForCausalLM", "gemma3_text": "Gemma3ForCausalLM",
    "gemma3n_text": "Gemma3nForCausalLM", "gemma4_text": "Gemma4ForCausalLM",
    "phi": "PhiForCausalLM", "phi3": "Phi3ForCausalLM", "phimoe": "PhiMoEForCausalLM",
    "gpt_neox": "GPTNeoXForCausalLM", "stablelm": "StableLmForCausalLM",
    "falcon": "FalconForCausalLM", "cohere": "CohereForCausalLM", "cohere2": "Cohere2ForCausalLM",
    "deepseek_v2": "DeepseekV2ForCausalLM", "deepseek_v3": "DeepseekV3ForCausalLM",
    "glm4": "Glm4ForCausalLM", "glm4_moe": "Glm4MoeForCausalLM",
    "glm4_moe_lite": "Glm4MoeLiteForCausalLM", "gpt_oss": "GptOssForCausalLM",
    "olmo": "OlmoForCausalLM", "olmo2": "Olmo2ForCausalLM", "olmo3": "Olmo3ForCausalLM",
    "olmoe": "OlmoeForCausalLM", "minimax_m2": "MiniMaxM2ForCausalLM",
    "ministral3": "Ministral3ForCausalLM", "modernbert": "ModernBertForMaskedLM",
    "eurobert": "EuroBertModel", "exaone4": "Exaone4ForCausalLM",
    "hunyuan_v1_dense": "HunYuanDenseV1ForCausalLM", "ernie4_5": "Ernie4_5ForCausalLM",
    "ernie4_5_moe": "Ernie4_5_MoeForCausalLM", "nemotron": "NemotronForCausalLM",
    "seed_oss": "SeedOssForCausalLM", "starcoder2": "Starcoder2ForCausalLM",
    "lfm2": "Lfm2ForCausalLM", "bitnet": "BitNetForCausalLM", "dots1": "Dots1ForCausalLM",
    "jais2": "Jais2ForCausalLM", "internlm2": "InternLM2ForCausalLM",
    "minicpm": "MiniCPMForCausalLM", "baichuan": "BaichuanForCausalLM",
    "bailing_moe": "BailingMoeForCausalLM", "glm_moe_dsa": "GlmMoeDsaForCausalLM",
    "deepseek_v32": "DeepseekV32ForCausalLM",
}  # fmt: skip
"""Model types with their ``architectures``; InternLM 2, MiniCPM, Baichuan and Bailing have no class
in transformers."""

LATENT = frozenset({"deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite", "glm_moe_dsa"})
NESTED = frozenset({"gemma3_text", "gemma3n_text", "gemma4_text", "modernbert", "olmo3"})

OTHER: Config = {
    "rms_norm_eps": 1e-6, "layer_norm_eps": 1e-5, "layer_norm_epsilon": 1e-5, "norm_eps": 1e-5,
    "vocab_size": 128, "intermediate_size": 256, "intermediate_size_mlp": 256,
    "moe_intermediate_size": 64, "num_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1,
    "n_routed_experts": 4, "first_k_dense_replace": 1, "scale_emb": 1, "scale_depth": 1,
    "dim_model_base": 256, "num_shared_experts": 1, "norm_topk_prob": True, "logit_scale": 1.0,
    "routed_scaling_factor": 1.0, "interleave_moe_layer_step": 1, "use_parallel_residual": True,
    "hidden_act": "silu", "num_local_experts": 4, "moe_num_experts": 4, "moe_k": 2,
    "moe_layer_interval": 1, "moe_layer_start_index": 0, "classifier_pooling": "mean",
    "linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_num_value_heads": 2,
    "linear_num_key_heads": 2, "linear_conv_kernel_dim": 4, "local_attention": 128,
    "index_n_heads": 4, "index_head_dim": 32, "index_topk": 16,
}  # fmt: skip
"""What the converter asks for and what has nothing to do with positions."""

LAYERS = 8
"""Enough for every layer type that a class knows."""


def drawn(count: int, seed: int) -> list[tuple[str, Config]]:
    """``count`` configs with names, the same for the same ``seed``."""
    dice = random.Random(seed)
    kinds = sorted(CLASSES)
    return [
        (f"{i} {kind}", _config(dice, kind))
        for i, kind in enumerate(kinds[j % len(kinds)] for j in range(count))
    ]


def _config(dice: random.Random, kind: str) -> Config:
    heads, head = dice.choice([2, 4]), dice.choice([32, 64])
    declared = dice.choice([4096, 32768, 131072])
    config: Config = {
        **OTHER, "model_type": kind, "architectures": [CLASSES[kind]],
        "num_attention_heads": heads, "num_key_value_heads": dice.choice([1, 2]),
        "hidden_size": heads * head, "num_hidden_layers": LAYERS,
        "max_position_embeddings": declared,
    }  # fmt: skip
    if dice.random() < 0.3 and kind not in LATENT and kind != "falcon":
        head = config["head_dim"] = dice.choice([32, 48, 64])
    if dice.random() < 0.6:
        config["rope_theta"] = dice.choice([10000.0, 500000, 1e6])
    width = head
    if dice.random() < 0.25:
        config["partial_rotary_factor"] = dice.choice([0.5, 0.25, 1.0])
        width = int(head * config["partial_rotary_factor"]) if kind == "phi3" else head
    _rope(dice, config, width)
    _family(dice, config, head)
    return config


def _rope(dice: random.Random, config: Config, width: int) -> None:
    """The old schema, the new one, both, either one null, or nothing."""
    declared, roll = config["max_position_embeddings"], dice.random()
    if config["model_type"] in NESTED and dice.random() < 0.4:
        full = {**scaling(dice, width, declared), "rope_theta": 1e6}
        if config["model_type"] == "gemma4_text":
            full = {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}
        sliding = {"rope_type": "default", "rope_theta": 1e4}
        config["rope_parameters"] = {"full_attention": full, "sliding_attention": sliding}
        return
    if roll < 0.45 or 0.7 <= roll < 0.8 or 0.85 <= roll < 0.88:
        config["rope_scaling"] = scaling(dice, width, declared)
    if 0.45 <= roll < 0.8:
        config["rope_parameters"] = scaling(dice, width, declared)
    if 0.8 <= roll < 0.85:
        config["rope_scaling"] = None
    if 0.85 <= roll < 0.88:
        config["rope_parameters"] = None


def scaling(dice: random.Random, width: int, declared: int) -> Config:
    """A scaling dict with some of its keys, in one of the spellings."""
    kind = dice.choice(
        ["linear", "dynamic", "yarn", "yarn", "longrope", "llama3", "llama3", "default", "odd"]
    )
    found: Config = {} if kind == "default" else {"factor": float(dice.choice([2, 4, 8, 1.5]))}
    optional: dict[str, list[tuple[str, Any, float]]] = {
        "yarn": [
            ("beta_fast", dice.choice([32, 16.0]), 0.35), ("beta_slow", 2.0, 0.35),
            ("attention_factor", 1.25, 0.35), ("mscale", 1.0, 0.35),
            ("mscale_all_dim", dice.choice([1.0, 0.707]), 0.35), ("truncate", False, 0.35),
            ("llama_4_scaling_beta", 0.1, 0.35),
        ],
        "llama3": [("low_freq_factor", 1.0, 0.9), ("high_freq_factor", 4.0, 0.9)],
        "longrope": [
            ("short_factor", [round(1 + 0.01 * i, 3) for i in range(width // 2)], 1.0),
            ("long_factor", [round(1 + 0.5 * i, 3) for i in range(width // 2)], 1.0),
        ],
    }  # fmt: skip
    common = [
        ("rope_theta", dice.choice([1e5, 5e6]), 0.4),
        ("partial_rotary_factor", dice.choice([0.5, 0.25]), 0.2),
    ]
    if kind in ("yarn", "llama3", "longrope"):
        length = declared // dice.choice([2, 4, 8])
        common.append(("original_max_position_embeddings", length, 0.8))
    for key, value, odds in [*optional.get(kind, []), *common]:
        if dice.random() < odds:
            found[key] = value
    spelling = dice.choice(["rope_type", "type", "rope_type", "both"])
    if spelling != "type":
        found["rope_type"] = kind
    if spelling != "rope_type":
        found["type"] = kind if spelling == "type" or dice.random() < 0.7 else "linear"
    return found


def _family(dice: random.Random, config: Config, head: int) -> None:
    """Keys that only some families have."""
    kind, declared = config["model_type"], config["max_position_embeddings"]
    own: dict[str, Config] = {
        "gpt_neox": {"rotary_pct": 0.5, "rotary_emb_base": dice.choice([10000, 50000])},
        "minimax_m2": {"rotary_dim": head // 2},
        "cohere2": {"rotary_pct": 1.0},
        "smollm3": {"no_rope_layers": [1] * LAYERS},
        "modernbert": {"local_rope_theta": 1e4, "global_rope_theta": 8e4},
        "gemma3_text": {"rope_local_base_freq": 2e4, "sliding_window": 128},
        "gemma3n_text": {"rope_local_base_freq": 2e4},
        "phi3": {"original_max_position_embeddings": declared // 8},
        "phimoe": {"original_max_position_embeddings": declared // 8},
        "lfm2": {"conv_L_cache": 3},
        "qwen2_vl": {"rope_scaling": {"type": "mrope", "mrope_section": _sections(head)}},
    }
    if kind in LATENT:
        config |= {"qk_rope_head_dim": 32, "qk_nope_head_dim": 32}
        config |= {"kv_lora_rank": 32, "v_head_dim": 32}
    if kind in own and (dice.random() < 0.6 or kind == "lfm2"):
        config |= own[kind]
    if kind == "hunyuan_v1_dense" and dice.random() < 0.5:
        config |= {"max_position_embeddings": 32768, "rope_theta": 10000.0}
        config["rope_scaling"] = {"type": "dynamic", "factor": 1.0, "alpha": 50.0}
        config.pop("rope_parameters", None)
    if kind in ("llama", "qwen2") and dice.random() < 0.3:
        inner = {k: v for k, v in config.items() if k != "architectures"}
        config.clear()
        config |= {"model_type": "llava", "text_config": inner}
        config["architectures"] = ["LlavaForConditionalGeneration"]


def _sections(head: int) -> list[int]:
    return [head // 8, 3 * head // 16, head // 2 - head // 8 - 3 * head // 16]
