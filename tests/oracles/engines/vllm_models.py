"""Rotary tables of vLLM itself, on a CPU. Opt-in, needs torch and the transformers it pulls in.

    pip download vllm==0.33.0 --no-deps --no-binary :all: && tar xf vllm-0.33.0.tar.gz
    ROPEAUDIT_VLLM_0_33_SOURCE=vllm-0.33.0/vllm PYTHONPATH=. \\
        python tests/oracles/engines/vllm_models.py --random 300 --seed 1

``pip download`` may stop at the metadata, which need torch; ``--no-clean`` keeps the source then.
With ``--config FILE`` it prints what every layer does, as JSON; else it draws configs over the
families that ``ropeaudit`` covers and compares. Ends with 3 where the source is absent.
"""

from __future__ import annotations

import importlib
import logging
import re
import sys
import types
from pathlib import Path
from typing import Any

import torch
import transformers.models.auto.image_processing_auto
import transformers.models.auto.modeling_auto
import transformers.models.auto.tokenization_auto  # noqa: F401
from torch import nn

from ropeaudit.readers.engines import vllm as engine
from tests.oracles.engines import served_run as served
from tests.oracles.engines.served_configs import families
from tests.oracles.engines.served_stubs import SPECIAL, install

OTHERS = (
    "triton flashinfer cutlass xgrammar msgspec partial_json_parser openai blake3 cachetools "
    "einops pybase64 prometheus_client zmq cloudpickle ray compressed_tensors depyf torchvision"
)
REAL = (
    "model_executor.layers.rotary_embedding", "model_executor.models", "models",
    "transformers_utils.config", "transformers_utils.configs", "config.utils",
)  # fmt: skip
STUBBED = frozenset(
    f"vllm.model_executor.models.{name}"
    for name in ("utils", "interfaces", "interfaces_base", "registry", "vision", "adapters")
) | {"vllm.models", "vllm.model_executor.models"}
LAYERS = (
    "QKVParallelLinear RowParallelLinear ColumnParallelLinear MergedColumnParallelLinear "
    "ReplicatedLinear VocabParallelEmbedding ParallelLMHead RMSNorm GemmaRMSNorm LayerNorm "
    "Attention EncoderOnlyAttention FusedMoE SharedFusedMoE SiluAndMul GeluAndMul MLAModules "
    "MultiHeadLatentAttentionWrapper LogitsProcessor MambaMixer MambaMixer2 ShortConv "
    "ChunkedLocalAttention MLAAttention PrefillPrefixLMAttention PPMissingLayer LinearBase"
)
FAMILIES = (
    "llama mistral ministral3 qwen2 qwen3 qwen2_moe qwen3_moe mixtral gemma gemma2 gemma3_text "
    "phi3 glm4 glm4_moe glm4_moe_lite deepseek_v2 deepseek_v3 deepseek_v32 glm_moe_dsa stablelm "
    "nemotron cohere cohere2 cohere2_moe gpt_oss granite granitemoe granitemoeshared "
    "granitemoe_swa granite_swa exaone4 exaone_moe ernie4_5 ernie4_5_moe falcon apertus lfm2 "
    "lfm2_moe minimax_m2 olmoe olmo_hybrid qwen3_next qwen3_5_text hyperclovax minicpm3 axk1 "
    "falcon_h1 llama4_text hy_v3"
)
EXTRA: dict[str, dict[str, Any]] = {
    "glm4_moe": {"head_dim": 128, "partial_rotary_factor": 0.5},
    "lfm2_moe": {"layer_types": ["full_attention", "conv"] * 4},
    "minimax_m2": {"rotary_dim": 64, "head_dim": 128},
    "nemotron": {"num_key_value_heads": 8},
    "lfm2": {
        "block_dim": 2560, "block_ff_dim": 6656, "block_multiple_of": 256,
        "block_ffn_dim_multiplier": 1.0, "block_auto_adjust_ff_dim": True,
    },
    "granite_swa": {"layer_rope_theta": None},
    "hy_v3": {"first_k_dense_replace": 1},
}  # fmt: skip
CURRENT: dict[str, Any] = {}


class _Op(nn.Module):
    """vLLM's custom operators without their registry."""

    @classmethod
    def register(cls, *args: Any, **kwargs: Any) -> Any:
        return lambda found: found

    @classmethod
    def enabled(cls) -> bool:
        return False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()


class _No:
    """Answers every question with no."""

    device_type = "cpu"

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: False


class _Log(logging.Logger):
    def warning_once(self, *args: Any, **kwargs: Any) -> None:
        return None

    info_once = debug_once = warning_once


def _make_layers(count: int, make: Any, prefix: str = "", **kwargs: Any) -> Any:
    made = [make(prefix=f"{prefix}.{i}") for i in range(count)]
    kept = [m if isinstance(m, nn.Module) else nn.Identity() for m in made]
    return 0, count, nn.ModuleList(kept)


def _index(prefix: str, *args: Any) -> int:
    return next((int(step) for step in prefix.split(".") if step.isdigit()), 0)


def _specials() -> None:
    served.layers(LAYERS)
    group = types.SimpleNamespace(is_first_rank=True, is_last_rank=True, world_size=1)
    empty = type("Base", (), {})
    SPECIAL.update(
        make_layers=_make_layers, extract_layer_index=_index, get_pp_group=lambda: group,
        get_tensor_model_parallel_world_size=lambda: 1, get_tensor_model_parallel_rank=lambda: 0,
        maybe_prefix=lambda a, b: f"{a}.{b}" if a else b, divide=lambda a, b: a // b,
        cdiv=lambda a, b: -(-a // b), is_pp_missing_parameter=lambda *a: False,
        AttentionLayerBase=empty, MambaBase=empty, CustomOp=_Op, PluggableLayer=_Op,
        direct_register_custom_op=lambda *a, **k: None, rocm_aiter_ops=_No(),
        current_platform=_No(), has_flashinfer=lambda: False, VLLM_USE_MODELSCOPE=False,
        get_current_vllm_config=lambda: CURRENT["config"], init_logger=_Log,
        MULTIMODAL_REGISTRY=types.SimpleNamespace(
            register_processor=lambda *a, **k: lambda found: found
        ),
    )  # fmt: skip
    SPECIAL["vllm.envs"] = type("Envs", (), {"__getattr__": lambda self, name: False})()


def _real(name: str) -> bool:
    inside = name.removeprefix("vllm.")
    return name not in STUBBED and any(inside == r or inside.startswith(f"{r}.") for r in REAL)


def _settings(config: Any) -> Any:
    text = config.get_text_config()
    model = served.space(
        hf_config=config, hf_text_config=text, dtype=torch.float32, quantization=None,
        max_model_len=getattr(text, "max_position_embeddings", 2048), use_mla=True,
        is_encoder_decoder=False, multimodal_config=None, pooler_config=None,
        override_generation_config={}, try_get_generation_config=dict,
        attention_chunk_size=getattr(text, "attention_chunk_size", None),
    )  # fmt: skip
    parallel = served.space(
        eplb_config=served.space(num_redundant_experts=0), tensor_parallel_size=1,
        pipeline_parallel_size=1, decode_context_parallel_size=1, enable_eplb=False,
    )  # fmt: skip
    return served.space(
        model_config=model, parallel_config=parallel, quant_config=None, lora_config=None,
        cache_config=served.space(cache_dtype="auto", block_size=16, kv_sharing_fast_prefill=False),
        scheduler_config=served.space(max_num_batched_tokens=64, max_num_seqs=4),
        speculative_config=None, additional_config={}, compilation_config=served.space(
            static_forward_context={}, custom_ops=[]
        ),
    )  # fmt: skip


def _rotates(module: Any) -> bool:
    """What the forward method asks; the constructor makes an embedding for every layer."""
    own = vars(module)
    name = type(module).__name__
    if name == "CohereAttention":
        return bool(module.v1 or module.sliding_window)
    if name == "Cohere2MoeAttention":
        return bool(module.sliding_window or module.force_rope)
    if name == "Exaone4Attention":
        return bool(module.sliding_window or module.apply_rope_all_layers)
    return bool(own.get("use_rope", own.get("_use_rope", own.get("is_local_attention", True))))


def start(source: Path) -> Any:
    """Loads vLLM's code from ``source``, its package folder."""
    _specials()
    install("vllm", source, _real, OTHERS)
    rotary = importlib.import_module("vllm.model_executor.layers.rotary_embedding")
    configs = importlib.import_module("vllm.transformers_utils.config")
    plain = rotary.get_rope
    known = _registry(source)

    def asked(head_size: int, max_position: int, is_neox_style: bool = True, **given: Any) -> Any:
        return served.recorder(
            {
                "head": head_size, "max": max_position, "neox": is_neox_style,
                "rope": given.get("rope_parameters"),
            }
        )  # fmt: skip

    def built(call: dict[str, Any]) -> Any:
        rotary._ROPE_DICT.clear()
        return plain(call["head"], call["max"], call["neox"], call["rope"], dtype=torch.float32)

    def load(folder: str) -> Any:
        _, config = configs.HFConfigParser().parse(folder, False)
        configs.patch_rope_parameters(config)
        configs.patch_rope_parameters(config.get_text_config())
        return config

    def run(values: dict[str, Any]) -> list[dict[str, Any]]:
        config = served.written(values, load)
        module, name = known[config.architectures[0]]
        found = importlib.import_module(module)
        for loaded in list(sys.modules.values()):
            if vars(loaded).get("get_rope") is plain and loaded is not rotary:
                loaded.get_rope = asked
        CURRENT["config"] = _settings(config)
        with torch.device("meta"):
            model = getattr(found, name)(vllm_config=CURRENT["config"], prefix="")
        return served.observed(model, _rotates, built)

    return run


def _registry(source: Path) -> dict[str, tuple[str, str]]:
    """Class -> module and class that serve it."""
    text = (source / "model_executor/models/registry.py").read_text(encoding="utf-8")
    found: dict[str, Any] = {}
    for name in ("_TEXT_GENERATION_MODELS", "_MULTIMODAL_MODELS"):
        block = re.search(rf"^{name} = \{{.*?^\}}", text, re.S | re.M)
        assert block is not None
        exec(block[0], found)
    entries = {**found["_TEXT_GENERATION_MODELS"], **found["_MULTIMODAL_MODELS"]}
    return {
        name: (m if m.startswith("vllm.") else f"vllm.model_executor.models.{m}", c)
        for name, (m, c) in entries.items()
    }


if __name__ == "__main__":
    sys.exit(
        served.main(engine, "ROPEAUDIT_VLLM_0_33_SOURCE", start, lambda: families(FAMILIES, EXTRA))
    )
