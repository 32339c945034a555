"""Configs and GGUF metadata of models with ALiBi, by the fields that their code reads."""

from __future__ import annotations

from typing import Any

Config = dict[str, Any]


def bloom(heads: int = 16, width: int = 1024, **more: Any) -> Config:
    return {"model_type": "bloom", "n_head": heads, "hidden_size": width, **more}


def mpt(heads: int = 32, width: int = 4096, **attention: Any) -> Config:
    inner = {"alibi": True, "alibi_bias_max": 8, **attention}
    return {
        "model_type": "mpt", "n_heads": heads, "d_model": width, "max_seq_len": 2048,
        "attn_config": inner,
    }  # fmt: skip


def falcon(heads: int = 32, width: int = 2048, **more: Any) -> Config:
    return {
        "model_type": "falcon", "num_attention_heads": heads, "hidden_size": width, "alibi": True,
        **more,
    }  # fmt: skip


def baichuan(**more: Any) -> Config:
    return {
        "model_type": "baichuan", "num_attention_heads": 40, "hidden_size": 5120,
        "num_hidden_layers": 40, "model_max_length": 4096, **more,
    }  # fmt: skip


def metadata(architecture: str, heads: int = 32, width: int = 4096, **more: Any) -> Config:
    """GGUF keys, written without their prefix and with ``_`` for the first dot."""
    return {
        "general.architecture": architecture,
        f"{architecture}.embedding_length": width,
        f"{architecture}.attention.head_count": heads,
        f"{architecture}.context_length": 2048,
        **{f"{architecture}.{k.replace('__', '.')}": v for k, v in more.items()},
    }
