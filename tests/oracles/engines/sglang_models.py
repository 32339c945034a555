"""Rotary tables of SGLang itself, on a CPU. Opt-in, needs torch and transformers 5.19.

    pip download sglang==0.5.23 --no-deps && unzip sglang-0.5.23*.whl -d sglang-0.5.23
    ROPEAUDIT_SGLANG_0_5_23_SOURCE=sglang-0.5.23/sglang PYTHONPATH=. \\
        python tests/oracles/engines/sglang_models.py --random 300 --seed 1

With ``--config FILE`` it prints what every layer does, as JSON; else it draws configs over the
families that ``ropeaudit`` covers and compares. Gemma 3 has an embedding of its own and is not
among them. Ends with 3 where the source is absent.
"""

from __future__ import annotations

import importlib
import math
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

from ropeaudit.readers.engines import sglang as engine
from tests.oracles.engines import served_run as served
from tests.oracles.engines.served_configs import families
from tests.oracles.engines.served_stubs import SPECIAL, install

OTHERS = (
    "triton flashinfer cutlass xgrammar msgspec openai blake3 cachetools einops pybase64 zmq "
    "cloudpickle ray compressed_tensors depyf torchvision sgl_kernel torch_npu aiter orjson decord "
    "uvloop fastapi mistral_common sgl_kernel_npu modelscope sentencepiece tiktoken timm "
    "torchaudio soundfile librosa cv2 gguf av IPython"
)
REAL = re.compile(
    r"sglang\.srt\.(layers\.rotary_embedding|models\.|configs|utils\.hf_transformers\.common$"
    r"|utils\.hf_transformers_patches$)"
)
STUBBED = frozenset(
    {
        "sglang.srt.models.utils", "sglang.srt.models.registry", "sglang.srt.configs.model_config",
        "sglang.srt.configs.load_config", "sglang.srt.configs.device_config",
        "sglang.srt.configs.update_config", "sglang.srt.configs.modelopt_config",
        "sglang.srt.configs.hybrid_arch",
    }
)  # fmt: skip
LAYERS = (
    "QKVParallelLinear RowParallelLinear ColumnParallelLinear MergedColumnParallelLinear "
    "ReplicatedLinear VocabParallelEmbedding ParallelLMHead RMSNorm GemmaRMSNorm LayerNorm "
    "RadixAttention FusedMoE SiluAndMul GeluAndMul LogitsProcessor PPMissingLayer Gemma3RMSNorm "
    "TopK Pooler RadixLinearAttention LayerCommunicator QuickGELU NewGELU LinearBase"
)
FAMILIES = (
    "llama mistral ministral3 qwen2 qwen3 qwen2_moe qwen3_moe mixtral gemma gemma2 phi3 phi "
    "persimmon glm4 glm4_moe glm4_moe_lite deepseek_v2 deepseek_v3 stablelm cohere cohere2 gpt_oss "
    "granite granitemoe granitemoeshared exaone4 ernie4_5_moe apertus lfm2 lfm2_moe minimax_m2 "
    "olmo olmo2 olmoe starcoder2 hunyuan_v1_dense hunyuan_v1_moe hrm_text minicpm3 llama4_text "
    "arcee hy_v3 mellum"
)
EXTRA: dict[str, dict[str, Any]] = {
    "exaone4": {
        "sliding_window_pattern": "LLLG",
        "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 2,
    },
    "gemma2": {"hidden_act": "gelu_pytorch_tanh"},
    "deepseek_v2": {
        "moe_layer_freq": 1, "n_group": 1, "topk_group": 1, "n_routed_experts": 64,
        "num_experts_per_tok": 6,
    },
    "hunyuan_v1_dense": {"head_dim": 128, "attention_head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "attention_head_dim": 128},
    "hy_v3": {"route_norm": True, "first_k_dense_replace": 1},
    "lfm2_moe": {"layer_types": ["full_attention", "conv"] * 4},
    "minimax_m2": {"rotary_dim": 64, "head_dim": 128},
    "glm4_moe": {"head_dim": 128},
}  # fmt: skip


class _Parallel:
    """One process, whatever is asked."""

    def __init__(self, group: Any) -> None:
        self.pp_group = group

    def __getattr__(self, name: str) -> Any:
        return 1 if "size" in name else 0


class _Op(nn.Module):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()


class _Settings:
    def __getattr__(self, name: str) -> Any:
        return types.SimpleNamespace(get=lambda *a: False, is_set=lambda: False)


class _Device(str):
    device = "cpu"


def _make_layers(count: int, make: Any, pp_rank: Any = None, prefix: str = "", **other: Any) -> Any:
    made = [make(idx=i, prefix=f"{prefix}.{i}") for i in range(count)]
    kept = nn.ModuleList([m if isinstance(m, nn.Module) else nn.Identity() for m in made])
    return kept if pp_rank is None else (kept, 0, count)


def _mla(scaling: dict[str, Any], base: float) -> float:
    """``configs/model_config.py`` 2623-2648, a module that needs a GPU to load."""
    if (scaling.get("rope_type") or scaling.get("type")) == "default":
        return base
    weight, factor = float(scaling.get("mscale_all_dim", False)), scaling.get("factor", 1.0)
    root = 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0
    return base * root * root


def _specials() -> None:
    served.layers(LAYERS)
    group = types.SimpleNamespace(
        is_first_rank=True, is_last_rank=True, world_size=1, rank_in_group=0, rank=0
    )
    sparse = types.SimpleNamespace(sparse=True)
    for name in ["cuda", "hip", "npu", "xpu", "musa", "mps", "cuda_alike", "gfx95_supported"]:
        SPECIAL[f"is_{name}"] = lambda: False
    for name in ["tensor_model_parallel", "attention_tp", "attention_dp", "attention_cp"]:
        tail = "world_size" if name.startswith("tensor") else "size"
        SPECIAL[f"get_{name}_{tail}"] = lambda: 1
        SPECIAL[f"get_{name}_rank"] = lambda: 0
    SPECIAL.update(
        is_cpu=lambda: True, cpu_has_amx_support=lambda: False, make_layers=_make_layers,
        get_bool_env_var=lambda *a, **k: False, get_int_env_var=lambda n, d=0: d,
        make_pp_layers=lambda n, make, prefix="", **k: _make_layers(n, make, 0, prefix),
        get_pp_indices=lambda n, rank, size: (0, n), get_pp_group=lambda: group,
        get_parallel=lambda: _Parallel(group), add_prefix=lambda n, p: f"{p}.{n}" if p else n,
        divide=lambda a, b: a // b, ceil_div=lambda a, b: -(-a // b), publish_role=lambda: None,
        get_device=lambda *a, **k: _Device("cpu"), is_dp_attention_enabled=lambda: False,
        get_num_fused_shared_experts=lambda *a, **k: 0, compute_mla_mscale_scaling=_mla,
        declare_ffn=lambda *a, **k: sparse, declare_attn=lambda *a, **k: sparse,
        append_stages=lambda *a, **k: tuple(served.Layer() for _ in a), envs=_Settings(),
        resolve_linear_parallel_group=lambda *a, **k: (0, 1), BaseFusedOp=_Op,
        MultiPlatformOp=_Op, register_customized_processor=lambda *a, **k: lambda found: found,
        current_platform=type("No", (), {"__getattr__": lambda s, n: lambda *a, **k: False})(),
    )  # fmt: skip


def _rotates(module: Any) -> bool:
    name = type(module).__name__
    if name == "CohereAttention":
        return bool(module.v1 or module.sliding_window_size > 0)
    if name == "Exaone4Attention":
        return bool(not module.sliding_window_pattern or module.is_sliding)
    return bool(vars(module).get("use_rope", True))


def _classes(source: Path) -> dict[str, str]:
    """Class -> module, from every model file's ``EntryClass``."""
    found: dict[str, str] = {}
    for path in sorted((source / "srt/models").glob("*.py")):
        entry = re.search(
            r"^EntryClass\s*=\s*(\[.*?\]|\w+)", path.read_text(encoding="utf-8"), re.S | re.M
        )
        for name in re.findall(r"\b([A-Z]\w+)\b", entry[1]) if entry else ():
            found.setdefault(name, f"sglang.srt.models.{path.stem}")
    return found


def start(source: Path) -> Any:
    """Loads SGLang's code from ``source``, its package folder."""
    _specials()
    install("sglang", source, lambda n: n not in STUBBED and bool(REAL.match(n)), OTHERS)
    factory = importlib.import_module("sglang.srt.layers.rotary_embedding.factory")
    package = importlib.import_module("sglang.srt.layers.rotary_embedding")
    common = importlib.import_module("sglang.srt.utils.hf_transformers.common")
    SPECIAL["get_rope_config"] = common.get_rope_config
    plain, known = factory.get_rope, _classes(source)

    def asked(
        head_size: int, rotary_dim: int, max_position: int, base: float,
        is_neox_style: bool = True, **given: Any,
    ) -> Any:  # fmt: skip
        return served.recorder(
            {
                "head": head_size, "width": rotary_dim, "max": max_position, "base": base,
                "neox": is_neox_style, "rope": given.get("rope_scaling"),
                "part": given.get("partial_rotary_factor", 1.0),
            }
        )  # fmt: skip

    def built(call: dict[str, Any]) -> Any:
        factory._ROPE_DICT.clear()
        given = (call[k] for k in ("head", "width", "max", "base", "neox", "rope"))
        return plain(*given, torch.float32, call["part"])

    for module in (factory, package):
        module.get_rope = module.get_rope_wrapper = asked
    SPECIAL["get_rope"] = SPECIAL["get_rope_wrapper"] = asked

    def load(folder: str) -> Any:
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(folder)
        common.get_hf_text_config(config)
        return config

    def run(values: dict[str, Any]) -> list[dict[str, Any]]:
        config = served.written(values, load)
        name = config.architectures[0]
        found = importlib.import_module(known[name])
        with torch.device("meta"):
            model = getattr(found, name)(config=config)
        return served.observed(model, _rotates, built)

    return run


if __name__ == "__main__":
    sys.exit(
        served.main(
            engine, "ROPEAUDIT_SGLANG_0_5_23_SOURCE", start, lambda: families(FAMILIES, EXTRA)
        )
    )
