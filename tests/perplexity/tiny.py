"""Small random models of many kinds, a text of token ids, and the plain loop that they are held to.

Weights are drawn wide, so that logits differ by whole nats and a wrong angle shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import pytest

from ropeaudit.perplexity.records import Window

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

VOCABULARY = 96
SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "initializer_range": 0.3,
    "attention_dropout": 0.0,
}
GROUPED = SIZES | {"num_key_value_heads": 2}

YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 64,
}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0, 1.1, 1.2, 1.3],
    "long_factor": [1.0, 2.0, 3.0, 4.0],
    "original_max_position_embeddings": 64,
}
GEMMA3 = {
    "full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
}


_GPTJ = {"rotary_dim": 4, "n_positions": 256}


def default(base: float = 10000.0) -> dict[str, Any]:
    return {"rope_type": "default", "rope_theta": base}


def llama(**options: Any) -> Any:
    return _made(transformers.LlamaConfig, GROUPED, {"rope_parameters": default()} | options)


def dynamic(**options: Any) -> Any:
    return llama(**{"rope_parameters": DYNAMIC, "max_position_embeddings": 64} | options)


def qwen2(**options: Any) -> Any:
    return _made(transformers.Qwen2Config, GROUPED, {"rope_parameters": default()} | options)


def gemma2(**options: Any) -> Any:
    given = {"head_dim": 8, "final_logit_softcapping": 5.0, "sliding_window": 24}
    return _made(transformers.Gemma2Config, GROUPED, given | options)


def gemma3(**options: Any) -> Any:
    given = {"head_dim": 8, "sliding_window": 24, "rope_parameters": GEMMA3}
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    return _made(transformers.Gemma3TextConfig, GROUPED, given | {"layer_types": kinds} | options)


def phi3(**options: Any) -> Any:
    given = {"rope_parameters": LONGROPE, "original_max_position_embeddings": 64}
    return _made(transformers.Phi3Config, GROUPED, given | options)


def gpt_neox(**options: Any) -> Any:
    given = {"rope_parameters": default() | {"partial_rotary_factor": 0.5}}
    return _made(transformers.GPTNeoXConfig, SIZES, given | options)


def deepseek_v3(**options: Any) -> Any:
    given = {
        "rope_parameters": YARN | {"mscale": 1.0, "mscale_all_dim": 0.5},
        "q_lora_rank": 16,
        "kv_lora_rank": 16,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 8,
        "v_head_dim": 8,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_group": 1,
        "topk_group": 1,
        "moe_intermediate_size": 16,
        "first_k_dense_replace": 2,
        "num_key_value_heads": 4,
    }
    return _made(transformers.DeepseekV3Config, SIZES, given | options)


def cohere(**options: Any) -> Any:
    given = {"logit_scale": 0.25, "rope_parameters": default()}
    return _made(transformers.CohereConfig, GROUPED, given | options)


def granite(**options: Any) -> Any:
    given = {"logits_scaling": 3.0, "attention_multiplier": 0.3, "rope_parameters": default()}
    return _made(transformers.GraniteConfig, GROUPED, given | options)


def gptj(**options: Any) -> Any:
    return _made(transformers.GPTJConfig, SIZES, _GPTJ | options)


def codegen(**options: Any) -> Any:
    return _made(transformers.CodeGenConfig, SIZES, _GPTJ | options)


def tied(**options: Any) -> Any:
    return llama(**{"tie_word_embeddings": True} | options)


KINDS: dict[str, Callable[..., Any]] = {
    made.__name__: made
    for made in (
        llama, dynamic, qwen2, gemma2, gemma3, phi3, gpt_neox, deepseek_v3, cohere, granite,
        gptj, codegen, tied,
    )
}  # fmt: skip


def _made(kind: Any, sizes: dict[str, Any], options: dict[str, Any]) -> Any:
    torch.manual_seed(3)
    config = kind(**deepcopy(sizes | options))  # configs write into the dicts they are given
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def like(model: Any, make: Callable[..., Any], **options: Any) -> Any:
    """A model with the weights of ``model`` and another config."""
    other = make(**options)
    other.load_state_dict(model.state_dict())
    return other


def text(count: int, seed: int = 5) -> list[int]:
    generator = torch.Generator().manual_seed(seed)
    return [int(n) for n in torch.randint(3, VOCABULARY, (count,), generator=generator)]


def windows(length: int, count: int = 2, first: int = 1) -> tuple[Window, ...]:
    return tuple(
        Window(index=n, start=n * length, length=length, first=first) for n in range(count)
    )


def plain(model: Any, ids: Sequence[int], window: Window, bos: int | None = None) -> list[float]:
    """Log-loss of each target by the model's own forward and a full matrix of logits."""
    part = list(ids[window.start : window.start + window.length])
    if bos is not None:
        part[0] = bos
    tokens = torch.tensor([part])
    with torch.no_grad():
        logits = model(input_ids=tokens).logits[0].double()
    losses = torch.nn.functional.cross_entropy(logits[:-1], tokens[0, 1:], reduction="none")
    return [float(x) for x in losses[window.first - 1 :]]
