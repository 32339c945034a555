"""Configs of many schemas and families, without weights of any use."""

from __future__ import annotations

from typing import Any

LLAMA = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
    "rope_theta": 1e6,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 1024,
}
YARN = {
    "rope_type": "yarn",
    "factor": 40.0,
    "original_max_position_embeddings": 4096,
    "beta_fast": 32,
    "beta_slow": 1,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
}
DEEPSEEK = {
    "model_type": "deepseek_v3",
    "hidden_size": 64,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "qk_rope_head_dim": 64,
    "max_position_embeddings": 163840,
    "rope_theta": 10000,
    "rope_scaling": YARN,
}
GEMMA3 = {
    "model_type": "gemma3_text",
    "hidden_size": 256,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 128,
    "num_hidden_layers": 6,
    "sliding_window": 512,
    "sliding_window_pattern": 6,
    "max_position_embeddings": 32768,
    "rope_theta": 1e6,
    "rope_local_base_freq": 1e4,
}
PHI3 = {
    "model_type": "phi3",
    "hidden_size": 256,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 256,
    "original_max_position_embeddings": 64,
    "rope_theta": 10000.0,
    "rope_scaling": {
        "type": "longrope",
        "short_factor": [1 + 0.001 * k for k in range(64)],
        "long_factor": [1 + 0.5 * k for k in range(64)],
    },
}

NEW_LLAMA3 = {
    **{k: v for k, v in LLAMA.items() if k != "rope_theta"},
    "rope_parameters": LLAMA3 | {"rope_theta": 5e5},
}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": LLAMA,
    "llama-null": LLAMA | {"rope_scaling": None},
    "llama-bare": {k: v for k, v in LLAMA.items() if k != "rope_theta"},
    "llama3-old": LLAMA | {"rope_scaling": LLAMA3},
    "llama3-new": NEW_LLAMA3,
    "llama3-both": NEW_LLAMA3 | {"rope_theta": 5e5, "rope_scaling": LLAMA3},
    "linear": LLAMA | {"rope_scaling": {"type": "linear", "factor": 4.0}},
    "yarn": LLAMA
    | {
        "max_position_embeddings": 163840,
        "rope_scaling": YARN | {"mscale": None, "mscale_all_dim": None},
    },
    "llama-partial": LLAMA | {"partial_rotary_factor": 0.5},
    "deepseek": DEEPSEEK,
    "gemma3": GEMMA3,
    "gemma3-linear": GEMMA3 | {"rope_scaling": {"rope_type": "linear", "factor": 8.0}},
    "phi3": PHI3,
    "neox": {
        "model_type": "gpt_neox",
        "hidden_size": 256,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "rotary_pct": 0.25,
        "rotary_emb_base": 10000,
        "max_position_embeddings": 2048,
    },
    "glm4": {
        "model_type": "glm4",
        "hidden_size": 256,
        "num_attention_heads": 2,
        "head_dim": 128,
        "num_hidden_layers": 2,
        "partial_rotary_factor": 0.5,
        "max_position_embeddings": 4096,
        "rope_theta": 10000.0,
    },
    "gemma3-new": {
        **{k: v for k, v in GEMMA3.items() if "rope" not in k},
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
    },
    "lfm3": {
        "model_type": "lfm3",
        "hidden_size": 256,
        "num_attention_heads": 2,
        "head_dim": 128,
        "num_hidden_layers": 2,
        "layer_types": ["sliding_attention", "full_attention"],
        "max_position_embeddings": 4096,
    },
    "mixtral": LLAMA | {"model_type": "mixtral"},
    "vision": {"model_type": "gemma3", "text_config": GEMMA3},
}
