"""Random configs of every family that mlx-lm has a model file for: small, and odd in many ways."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ropeaudit.readers.engines.mlx_lm import families

LAYERS = 4
KNOWN: dict[str, Any] = {
    "hidden_size": 64, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "vocab_size": 64,
    "num_key_value_heads": 2, "intermediate_size": 64, "rms_norm_eps": 1e-6, "head_dim": 16,
    "layer_norm_eps": 1e-5, "layer_norm_epsilon": 1e-5, "norm_eps": 1e-5, "num_layers": LAYERS,
    "n_layers": LAYERS, "n_layer": LAYERS, "n_heads": 4, "n_head": 4, "n_embd": 64, "d_model": 64,
    "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "kv_lora_rank": 16,
    "q_lora_rank": 16, "attention_bias": False, "mlp_bias": False, "hidden_act": "silu",
    "tie_word_embeddings": False, "use_bias": False, "use_qkv_bias": False, "use_qk_norm": True,
    "qk_norm": True, "post_norm": True, "sliding_window": 8, "num_experts": 4,
    "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_routed_experts": 4,
    "n_shared_experts": 1, "num_local_experts": 4, "first_k_dense_replace": 0, "moe_layer_freq": 1,
    "n_group": 1, "topk_group": 1, "topk_method": "noaux_tc", "scoring_func": "sigmoid",
    "norm_topk_prob": True, "routed_scaling_factor": 1.0, "num_shared_experts": 1,
    "decoder_sparse_step": 1, "mlp_only_layers": [], "shared_expert_intermediate_size": 32,
    "shared_intermediate_size": 32, "rotary_dim": 8, "no_rope_layers": [1, 1, 0, 1],
    "rope_local_base_freq": 10000.0, "query_pre_attn_scalar": 16, "num_kv_heads": 2,
    "num_heads": 4, "hidden_dim": 64, "partial_rotary_factor": 0.5, "rotary_pct": 0.25,
    "rotary_emb_base": 10000, "conv_L_cache": 3, "conv_bias": False, "block_dim": 64,
    "block_multiple_of": 8, "block_ffn_dim_multiplier": 1.0, "block_auto_adjust_ff_dim": True,
    "block_ff_dim": 64, "mlp_hidden_size": 64, "embedding_size": 64, "model_dim": 64,
    "num_transformer_layers": LAYERS, "num_query_heads": [4] * LAYERS, "index_head_dim": 16,
    "index_n_heads": 2, "index_topk": 4, "ffn_multipliers": [1.0] * LAYERS,
    "ffn_dim_divisor": 8, "logits_scaling": 1.0, "attention_multiplier": 1.0,
    "embedding_multiplier": 1.0, "residual_multiplier": 1.0, "scale_depth": 1.0, "scale_emb": 1.0,
    "dim_model_base": 32, "ffn_hidden_size": 64, "attn_layer_offset": 1, "attn_layer_period": 2,
    "moe_topk": 2, "moe_num_experts": 4, "n_inner": 64, "n_positions": 256, "n_ctx": 256,
    "use_cla": False, "cla_share_factor": 2, "num_shared_expert": 1, "use_mixed_mlp_moe": False,
    "attention_chunk_size": 8, "interleave_moe_layer_step": 1, "intermediate_size_mlp": 64,
    "swa_num_attention_heads": 4, "swa_num_key_value_heads": 2, "swa_head_dim": 16,
    "swa_v_head_dim": 16, "layernorm_epsilon": 1e-6, "sliding_window_size": 8,
    "hybrid_layer_pattern": [1, 1, 0, 1], "add_swa_attention_sink_bias": False,
    "add_full_attention_sink_bias": False, "swa_rope_theta": 20000.0, "is_moe_layer": [True] * 4,
    "linear_num_value_heads": 2, "linear_num_key_heads": 2, "linear_key_head_dim": 16,
    "linear_value_head_dim": 16, "linear_conv_kernel_dim": 3, "linear_allow_neg_eigval": False,
    "full_attention_interval": 2, "use_expert_bias": True, "num_dense_layers": 1,
    "dense_attention_every_n_layers": 2, "ff_intermediate_size": 64, "gegelu_limit": 20.0,
    "conv1d_width": 4, "logits_soft_cap": 30.0, "attention_window_size": 8, "lru_width": 64,
    "num_attention_groups": 2, "attention_method": "MLA", "zero_expert_type": "identity",
    "expert_ffn_hidden_size": 32, "zero_expert_num": 1, "mla_scale_q_lora": True,
    "mla_scale_kv_lora": True, "num_kv_shared_layers": 0, "vocab_size_per_layer_input": 64,
    "final_logit_softcapping": 30.0, "hidden_size_per_layer_input": 16, "altup_num_inputs": 2,
    "activation_sparsity_pattern": [0.0] * LAYERS, "altup_coef_clip": 120.0, "laurel_rank": 8,
    "altup_correct_scale": True, "altup_active_idx": 0, "num_kv_reuse_layers": 1, "block_size": 64,
    "n_kv_heads": 2, "mamba_expand": 2, "sliding_window_pattern": 2, "n_mlp_layers": 1,
    "use_head_wise_attn_gate": False, "layer_group_size": 2, "group_norm_size": 1,
}  # fmt: skip
OWN: dict[str, dict[str, Any]] = {
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "rope_theta": 5e5, "clip_qkv": 8},
        "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 2, "moe_top_k": 1},
    },
    "exaone4": {"sliding_window_pattern": "LG"}, "step3p5": {"moe_num_experts": 16},
    "minimax": {"rotary_dim": 8}, "olmo": {"d_model": 64},
    "nemotron-nas": {
        "block_configs": [
            {"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_mult": 1.0}} for _ in range(LAYERS)
        ],
    },
    "gptj": {"rotary_dim": 8}, "phixtral": {"rotary_dim": 8}, "qwen": {"kv_channels": 16},
    "plamo": {"n_shared_head": 2}, "gemma3n": {"sliding_window": 8},
    "spark2_5": {"hidden_act": "gelu"},
    "recurrent_gemma": {
        "num_key_value_heads": 1, "block_types": ["recurrent", "attention", "recurrent"],
    },
    "llama4": {"num_experts_per_tok": 1}, "mimo_v2_flash": {"moe_layer_freq": [0, 1, 1, 1]},
    "minimax_m3_vl": {"moe_layer_freq": [0, 1, 1, 1]},
    "granitemoehybrid": {
        "layer_types": ["mamba", "attention", "mamba", "attention"], "mamba_n_heads": 4,
        "mamba_d_head": 16, "mamba_n_groups": 1, "mamba_d_state": 16, "mamba_d_conv": 4,
        "mamba_proj_bias": False, "mamba_conv_bias": True, "mamba_expand": 1,
    },
    "lfm2": {"layer_types": ["conv", "full_attention", "conv", "full_attention"]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention", "conv", "full_attention"]},
    "olmo_hybrid": {"layer_types": ["linear_attention"] * 3 + ["full_attention"]},
    "openelm": {"num_kv_heads": [2] * LAYERS},
}  # fmt: skip
YARN: dict[str, list[Any]] = {
    "beta_fast": [32, 16], "beta_slow": [1, 2], "mscale": [1.0, 0.707, 0],
    "mscale_all_dim": [1.0, 0.707, 0], "attention_factor": [1.0], "truncate": [False],
}  # fmt: skip
POSITION = (
    "rope_theta", "rope_scaling", "rope_parameters", "head_dim", "max_position_embeddings",
    "partial_rotary_factor", "rope_traditional", "original_max_position_embeddings", "rotary_dim",
    "rope_local_base_freq", "rope_global_base_freq",
)  # fmt: skip


def draw(
    count: int, seed: int, release: str, only: list[str] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """``count`` configs, going round the families."""
    rng = random.Random(seed)
    names = only or [
        n for n, e in families().items()
        if e["rope"] is not None
        and not e["rope"].get("still")
        and not (release == "mlx-lm-0.28" and e.get("since"))
    ]  # fmt: skip
    for i in range(count):
        name = names[i % len(names)]
        yield name, config_of(name, rng)


def config_of(name: str, rng: random.Random) -> dict[str, Any]:
    """A small config of the model file ``name`` with position keys drawn at random."""
    entry = families()[name]
    rule = entry["rope"]
    if "wrap" in rule:
        inner = rng.choice(list(rule.get("inner", {}).values())) if rule.get("inner") else None
        inner = inner if inner and rng.random() < 0.6 else rule["wrap"]
        text = config_of(inner, rng)
        text["model_type"] = inner
        if rule.get("flat") and rng.random() < 0.5:
            return {**text, "model_type": name}
        return {"model_type": name, "vocab_size": 64, "text_config": text}
    text = _text(name, entry, rng)
    if "wrapped" in entry:
        return {"model_type": name, "text_config": text}
    return text


def _text(name: str, entry: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    config: dict[str, Any] = {"model_type": name}
    needed = [*entry["need"], *entry.get("need28", ()), *entry["give"]]
    for key in (*needed, *KNOWN, "layer_types"):
        if key in config or (key in POSITION and key not in entry["need"]):
            continue
        if key in KNOWN:
            config[key] = KNOWN[key]
        elif key == "layer_types":
            kinds = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]
            config[key] = kinds
        elif key in needed and key not in entry["give"]:
            config[key] = 2
    config.update(_position(entry, rng))
    config.update(OWN.get(name, {}))
    if name == "exaone":  # its own reshape fails for any other width
        config.pop("head_dim", None)
    if rng.random() < 0.05 and entry["need"]:
        config.pop(rng.choice(entry["need"]), None)
        config.update(model_type=name, vocab_size=64)
    return config


def _position(entry: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    out: dict[str, Any] = {}
    need = entry["need"]
    base = rng.choice([10000, 10000.0, 500000.0, 1e6, 12345.678])

    def maybe(key: str, value: Any, chance: float = 0.5) -> None:
        if key in need or rng.random() < chance:
            out[key] = value

    declared = rng.choice([64, 128, 256, 96])
    maybe("max_position_embeddings", declared, 0.8)
    maybe("rope_theta", base, 0.8)
    maybe("head_dim", rng.choice([16, 8, 32]), 0.5)
    maybe("partial_rotary_factor", rng.choice([0.25, 0.5, 1.0]), 0.4)
    maybe("rope_traditional", rng.random() < 0.5, 0.2)
    maybe("original_max_position_embeddings", rng.choice([16, 32]), 0.4)
    maybe("rope_local_base_freq", rng.choice([10000.0, 5000.0]), 0.5)
    maybe("rope_global_base_freq", 30000.0, 0.2)
    maybe("rotary_dim", rng.choice([8, 4]), 0.2)
    channels = _channels(entry, out)
    if "rope_scaling" in need or rng.random() < 0.6:
        out["rope_scaling"] = scaling(rng, channels) if rng.random() < 0.9 else None
    if "rope_parameters" in need or rng.random() < 0.5:
        out["rope_parameters"] = _parameters(rng, channels)
    return out


def _channels(entry: dict[str, Any], out: dict[str, Any]) -> int:
    if entry["rope"].get("d") == "qk_rope_head_dim":
        return 4
    head = 16
    if "head_dim" in str(entry["rope"].get("d")) and "head_dim" in out:
        head = out["head_dim"]
    part = out.get("partial_rotary_factor", 1.0) if entry["rope"].get("p") else 1.0
    return int(head * part) // 2


def _parameters(rng: random.Random, channels: int) -> dict[str, Any]:
    if rng.random() < 0.5:
        return {
            kind: {**(scaling(rng, channels) if rng.random() < 0.5 else {"rope_type": "default"}),
                   "rope_theta": rng.choice([10000.0, 1e6])}
            for kind in ("full_attention", "sliding_attention")
        }  # fmt: skip
    found = scaling(rng, channels) if rng.random() < 0.7 else {"rope_type": "default"}
    if rng.random() < 0.8:
        found["rope_theta"] = rng.choice([10000.0, 250000.0])
    if rng.random() < 0.4:
        found["partial_rotary_factor"] = rng.choice([0.5, 0.25, 1.0])
    if rng.random() < 0.6:
        found["llama_4_scaling_beta"] = 0.1
    return found


def scaling(rng: random.Random, channels: int) -> dict[str, Any]:
    """A scaling dict of some type, with keys left out now and then."""
    kind = rng.choice(
        ["linear", "dynamic", "llama3", "yarn", "yarn", "longrope", "su", "default", "mrope",
         "proportional", "deepseek_yarn", "odd"]
    )  # fmt: skip
    out: dict[str, Any] = {rng.choice(["type", "rope_type"]): kind}
    if rng.random() < 0.1:
        out = {"type": kind, "rope_type": rng.choice(["linear", kind])}
    if rng.random() < 0.95:
        out["factor"] = rng.choice([2.0, 4.0, 8, 1.5, 1.0])
    if rng.random() < 0.6:
        out["original_max_position_embeddings"] = rng.choice([16, 32, 64])
    if kind in ("llama3", "odd") and rng.random() < 0.7:
        out["low_freq_factor"], out["high_freq_factor"] = 1.0, rng.choice([4.0, 2.0])
    if kind.endswith("yarn"):
        out.update({k: rng.choice(v) for k, v in YARN.items() if rng.random() < 0.4})
    if kind in ("longrope", "su") or rng.random() < 0.25:
        out["short_factor"] = [1.0 + 0.01 * k for k in range(channels)]
        out["long_factor"] = [1.0 + 0.3 * k for k in range(channels)]
        if rng.random() < 0.5:
            out["short_mscale"], out["long_mscale"] = 1.0, rng.choice([1.25, 0])
    if kind == "mrope" or rng.random() < 0.1:
        out["mrope_section"] = [2, 3, 3][: rng.choice([3, 3, 2])]
    if rng.random() < 0.3:
        out["alpha"] = rng.choice([1000.0, 2.0])
    return out
