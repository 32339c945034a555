"""What each model of ``fixtures/zoo`` rotates by, worked out by hand, as data.

Every number was read from the model's own config, its card or its modelling code. No number comes
from the package.
"""

from __future__ import annotations

from typing import Any

from zoo_forms import (
    divided,
    dynamic,
    every_fourth_left_out,
    grid,
    ladder,
    linear,
    llama3,
    magnitude,
    only,
    pixtral,
    plain,
    schedule,
    square,
    yarn,
)

Table = dict[str, list[dict[str, Any]]]

DEEPSEEK3 = yarn(1e4, 64, 40, 4096, attention=1.0, softmax=magnitude(40) ** 2)
DEEPSEEK2 = yarn(1e4, 64, 40, 4096, attention=1.0, softmax=magnitude(40, 0.707) ** 2)
MIMO_FULL = [0, 5, 11, 17, 23, 29, 35, 41, 47]
GEMMA4_FULL = schedule(
    "text/full_attention",
    [1e6 ** (-2 * k / 512) for k in range(64)] + [0.0] * 192,
    512,
    1e6,
)


def gemma4(layers: int) -> list[dict[str, Any]]:
    full = [i for i in range(layers) if i % 6 == 5]
    sliding = [i for i in range(layers) if i % 6 != 5]
    return [
        {**GEMMA4_FULL, "layers": full},
        plain(1e4, 256, "text/sliding_attention", layers=sliding),
        square(100.0, 72),
    ]


PLAIN: Table = {
    "01-ai__Yi-1.5-34B": [plain(5e6, 128)],
    "01-ai__Yi-34B": [plain(5e6, 128)],
    "HuggingFaceTB__SmolLM-135M": [plain(1e4, 64)],
    "HuggingFaceTB__SmolLM2-135M": [plain(1e5, 64)],
    "HuggingFaceTB__SmolLM2-360M": [plain(1e5, 64)],
    "OrionStarAI__Orion-14B-Chat": [plain(1e4, 128)],
    "TinyLlama__TinyLlama-1.1B-Chat-v1.0": [plain(1e4, 64)],
    "codellama__CodeLlama-34b-hf": [plain(1e6, 128)],
    "gradientai__Llama-3-70B-Instruct-Gradient-1048k": [plain(3580165449.0, 128)],
    "gradientai__Llama-3-8B-Instruct-Gradient-1048k": [plain(3580165449.0, 128)],
    "ibm-granite__granite-3b-code-instruct-128k": [plain(1e7, 80)],
    "ibm-granite__granite-8b-code-base": [plain(1e4, 128)],
    "meta-llama__Llama-2-7b-chat-hf": [plain(1e4, 128)],
    "meta-llama__Meta-Llama-3-70B": [plain(5e5, 128)],
    "tiiuae__Falcon3-10B-Instruct": [plain(1000042, 256)],
    "baichuan-inc__Baichuan2-7B-Chat": [plain(1e4, 128)],
    "deepseek-ai__deepseek-moe-16b-chat": [plain(1e4, 128)],
    "databricks__dbrx-base": [plain(5e5, 128)],
    "ByteDance-Seed__Seed-OSS-36B-toy": [plain(1e7, 128)],
    "ByteDance-Seed__Seed-OSS-36B": [plain(1e7, 128)],
    "mistralai__Mistral-7B-Instruct-v0.3": [plain(1e6, 128)],
    "mistralai__Mistral-7B-v0.1": [plain(1e4, 128)],
    "mistralai__Mistral-Nemo-Base-2407": [plain(1e6, 128)],
    "mistralai__Mixtral-8x22B-v0.1": [plain(1e6, 128)],
    "mistralai__Mixtral-8x7B-v0.1": [plain(1e6, 128)],
    "mistralai__Voxtral-Mini-3B-2507": [plain(1e8, 128)],
    "XiaomiMiMo__MiMo-7B-Base": [plain(6.4e5, 128)],
    "microsoft__phi-4": [plain(2.5e5, 128)],
    "microsoft__Phi-mini-MoE-instruct": [plain(1e4, 128)],
    "Qwen__Qwen-7B-Chat": [plain(1e4, 128)],
    "Qwen__Qwen1.5-MoE-A2.7B-Chat": [plain(1e6, 128)],
    "Qwen__Qwen2-1.5B-Instruct": [plain(1e6, 128)],
    "Qwen__Qwen2-7B-Instruct": [plain(1e6, 128)],
    "Qwen__Qwen2.5-0.5B-Instruct": [plain(1e6, 64)],
    "Qwen__Qwen2.5-7B-Instruct": [plain(1e6, 128)],
    "Qwen__Qwen2.5-7B-Instruct-1M": [plain(1e7, 128)],
    "Qwen__Qwen3-0.6B": [plain(1e6, 128)],
    "Qwen__Qwen3-235B-A22B": [plain(1e6, 128)],
    "Qwen__Qwen3-30B-A3B": [plain(1e6, 128)],
    "Qwen__Qwen3-30B-A3B-Instruct-2507": [plain(1e7, 128)],
    "Qwen__Qwen3-Coder-480B-A35B-Instruct": [plain(1e7, 128)],
    "Qwen__Qwen3-32B": [plain(1e6, 128)],
    "Qwen__Qwen3-4B": [plain(1e6, 128)],
    "Qwen__Qwen3-8B": [plain(1e6, 128)],
    "EuroBERT__EuroBERT-2.1B": [plain(2.5e5, 128)],
    "EuroBERT__EuroBERT-210m": [plain(2.5e5, 64)],
    "Snowflake__snowflake-arctic-embed-m-v2.0": [plain(1.6e5, 64)],
    "google__gemma-2-27b-it": [plain(1e4, 128)],
    "google__gemma-2-2b-it": [plain(1e4, 256)],
    "google__gemma-2-9b-it": [plain(1e4, 256)],
    "google__gemma-2b": [plain(1e4, 256)],
    "google__gemma-7b": [plain(1e4, 256)],
    "tiiuae__falcon-180B": [plain(1e4, 64)],
    "tiiuae__falcon-40b": [plain(1e4, 64)],
    "tiiuae__falcon-7b": [plain(1e4, 64)],
    "Trelis__falcon-7b-4k-chat-commercial-use": [plain(1e4, 64)],
    "togethercomputer__RedPajama-INCITE-Chat-3B-v1": [plain(1e4, 80)],
    "facebook__esm2_t33_650M_UR50D": [plain(1e4, 64)],
    "jinaai__jina-embeddings-v3": [plain(2e4, 64)],
    "microsoft__Phi-3-small-8k-instruct": [plain(1e6, 128)],
    "moonshotai__Moonlight-16B-A3B": [plain(5e4, 64, pairing="interleaved")],
}
"""Llama and its like: one ladder over the head."""

NEIGHBOURS: Table = {
    "CohereForAI__c4ai-command-r-08-2024": [plain(4e6, 128, pairing="interleaved")],
    "CohereForAI__c4ai-command-r-v01": [plain(8e6, 128, pairing="interleaved")],
    "CohereForAI__c4ai-command-r7b-12-2024": [
        plain(5e4, 128, pairing="interleaved", layers=every_fourth_left_out(32))
    ],
}
"""Neighbours turn together."""

PARTIAL: Table = {
    "CarperAI__pythia-2.8b-deduped-4k": [plain(1e4, 20)],
    "EleutherAI__gpt-neox-20b": [plain(1e4, 24)],
    "EleutherAI__gpt-j-6b": [plain(1e4, 64, pairing="interleaved")],
    "Salesforce__codegen-2B-multi": [plain(1e4, 64, pairing="interleaved")],
    "EleutherAI__pythia-12b": [plain(1e4, 32)],
    "EleutherAI__pythia-14m": [plain(1e4, 8)],
    "EleutherAI__pythia-1b": [plain(1e4, 64)],
    "MiniMaxAI__MiniMax-M2.5": [plain(5e6, 64)],
    "MiniMaxAI__MiniMax-M3": [plain(5e6, 64)],
    "Qwen__Qwen3-Next-80B-A3B-Thinking": [plain(1e7, 64, layers=only(48, range(3, 48, 4)))],
    "THUDM__glm-4-9b-chat-1m": [plain(1e8, 64, pairing="interleaved")],
    "THUDM__chatglm2-6b": [plain(1e4, 64, pairing="interleaved")],
    "THUDM__chatglm3-6b": [plain(1e4, 64, pairing="interleaved")],
    "Baamtu__moonshine-tiny-multi-v1.0": [plain(1e4, 32)],
    "UsefulSensors__moonshine-base": [plain(1e4, 32)],
    "adept__fuyu-8b": [plain(25000.0, 32)],
    "microsoft__phi-1": [plain(1e4, 32)],
    "microsoft__phi-2": [plain(1e4, 32)],
    "nvidia__Minitron-4B-Base": [plain(1e4, 64)],
    "nvidia__Minitron-8B-Base": [plain(1e4, 64)],
    "stabilityai__stablelm-3b-4e1t": [plain(1e4, 20)],
    "zai-org__GLM-4-9B-0414-finetune": [plain(1e4, 64, pairing="interleaved")],
    "zai-org__GLM-4.5": [plain(1e6, 64)],
    "zai-org__GLM-5": [plain(1e6, 64)],
    "zai-org__GLM-5.1": [plain(1e6, 64)],
    "zai-org__GLM-5.2": [plain(8e6, 64)],
}
"""A part of the head."""

STRETCHED: Table = {
    "CallComply__zephyr-7b-beta-128k": [yarn(1e4, 128, 16, 8192)],
    "NousResearch__Yarn-Llama-2-13b-128k": [yarn(1e4, 128, 32, 4096)],
    "NousResearch__Yarn-Llama-2-7b-128k": [yarn(1e4, 128, 32, 4096)],
    "NousResearch__Yarn-Llama-2-7b-64k": [yarn(1e4, 128, 16, 4096)],
    "emozilla__Yarn-Llama-7b-32k": [yarn(1e4, 128, 16, 2048)],
    "openai__gpt-oss-120b": [yarn(1.5e5, 64, 32, 4096, truncate=False)],
    "mistralai__Devstral-2-123B-Instruct-2512": [yarn(1e6, 128, 64, 4096, fast=4)],
    "arise-sustech__llm4decompile-6.7b-uo": [linear(1e5, 128, 4)],
    "deepseek-ai__deepseek-coder-6.7b-instruct": [linear(1e5, 128, 4)],
    "dwzhu__LLaMA2-7B-PoSE-Linear-16k": [linear(1e4, 128, 4)],
    "jzfeng__LoGiPT-vicuna-13b-v1.5-16k-proofwriter": [linear(1e4, 128, 2)],
    "togethercomputer__LLaMA-2-7B-32K": [linear(1e4, 128, 8)],
    "meta-llama__Llama-3.2-1B-Instruct": [llama3(5e5, 64, 32, 1, 4)],
    "meta-llama__Llama-3.2-3B-Instruct": [llama3(5e5, 128, 32, 1, 4)],
    "meta-llama__Meta-Llama-3.1-70B": [llama3(5e5, 128, 8, 1, 4)],
    "nvidia__Llama-3_3-Nemotron-Super-49B-v1": [llama3(5e5, 128, 8, 1, 4)],
    "internlm__internlm2_5-7b-chat": dynamic(1e6, 128, 2.0, 32768),
    "internlm__internlm3-8b-instruct": dynamic(5e7, 128, 6.0, 32768),
    "tencent__Tencent-Hunyuan-Large__A50B-Pretrain": [
        schedule("text", ladder(1e4 * 1e5 ** (80 / 78), 80), 80, 1e4)
    ],
    "Alibaba-NLP__gte-large-en-v1.5": [
        schedule("text", divided(ladder(1.6e5 * 2, 64), 2 ** (2 / 64)), 64, 1.6e5)
    ],
}
"""Stretched."""

LATENT: Table = {
    "deepseek-ai__DeepSeek-R1": [DEEPSEEK3],
    "deepseek-ai__DeepSeek-V3": [DEEPSEEK3],
    "deepseek-ai__DeepSeek-V3.2": [DEEPSEEK3],
    "nvidia__DeepSeek-V3.1-NVFP4": [DEEPSEEK3],
    "deepseek-ai__DeepSeek-V2": [DEEPSEEK2],
    "deepseek-ai__DeepSeek-V2-Lite-Chat": [DEEPSEEK2],
    "moonshotai__Kimi-K2-Instruct": [
        yarn(5e4, 64, 32, 4096, fast=1, attention=1.0, softmax=magnitude(32) ** 2)
    ],
}
"""Latent attention: the rotated part has its own width."""

TWO_TABLES: Table = {
    "google__gemma-3-27b-it": [
        linear(1e6, 128, 8, "text/full_attention", layers=only(62, range(5, 62, 6))),
        plain(1e4, 128, "text/sliding_attention", layers=[i for i in range(62) if i % 6 != 5]),
    ],
    "google__gemma-3-27b-it-toy": [plain(1e4, 128, "text/sliding_attention", layers=[0])],
    "XiaomiMiMo__MiMo-V2-Flash": [
        plain(5e6, 64, "text/full_attention", layers=MIMO_FULL),
        plain(
            1e4,
            64,
            "text/sliding_attention",
            layers=[i for i in range(48) if i not in MIMO_FULL],
        ),
    ],
    "google__gemma-3-1b-it": [
        plain(1e6, 256, "text/full_attention", layers=only(26, range(5, 26, 6))),
        plain(
            1e4,
            256,
            "text/sliding_attention",
            layers=[i for i in range(26) if i % 6 != 5],
        ),
    ],
    "answerdotai__ModernBERT-base": [
        plain(1.6e5, 64, "text/full_attention", layers=only(22, range(0, 22, 3))),
        plain(1e4, 64, "text/sliding_attention"),
    ],
    "allenai__Olmo-3.1-32B-Instruct": [
        yarn(
            5e5,
            128,
            8,
            8192,
            name="text/full_attention",
            attention=1.2079441541679836,
            layers=only(64, range(3, 64, 4)),
        ),
        plain(5e5, 128, "text/sliding_attention", layers=every_fourth_left_out(64)),
    ],
    "google__gemma-4-26B-A4B": gemma4(30),
    "nvidia__Gemma-4-31B-IT-NVFP4": gemma4(60),
}
"""Two tables."""

LAYERS_LEFT_OUT: Table = {
    "LGAI-EXAONE__EXAONE-4.0-32B": [
        llama3(1e6, 128, 16, 1, 4, layers=every_fourth_left_out(64)),
    ],
    "LGAI-EXAONE__EXAONE-4.5-33B": [
        llama3(1e6, 128, 16, 1, 4, layers=every_fourth_left_out(64)),
        square(1e4, 64),
    ],
    "meta-llama__Llama-4-Maverick-17B-128E-Instruct": [
        plain(5e5, 128, pairing="interleaved", layers=every_fourth_left_out(48))
    ],
    "meta-llama__Llama-4-Scout-17B-16E-Instruct": [
        llama3(5e5, 128, 16, 1, 1, pairing="interleaved", layers=every_fourth_left_out(48))
    ],
}
"""Layers without rotation."""

SEVERAL_PARTS: Table = {
    "LiquidAI__LFM2.5-VL-1.6B": [plain(1e6, 64, layers=[2, 5, 8, 10, 12, 14])],
    "Qwen__Qwen2.5-VL-7B-Instruct": [plain(1e6, 128, axes=3), square(1e4, 80)],
    "Qwen__Qwen2.5-Omni-7B-toy": [
        plain(1e6, 128, axes=3),
        square(1e4, 80),
        plain(1e6, 128, "talker", axes=3),
        plain(1e4, 64, "dit"),
    ],
    "Qwen__Qwen3-VL-235B-A22B-Instruct": [plain(5e6, 128, axes=3), square(1e4, 72)],
    "Qwen__Qwen3-VL-4B-Instruct": [plain(5e6, 128, axes=3), square(1e4, 64)],
    "Qwen__Qwen3.5-35B-A3B": [
        plain(1e7, 64, axes=3, layers=only(40, range(3, 40, 4))),
        square(1e4, 72),
    ],
    "Qwen__Qwen3.5-27B": [
        plain(1e7, 64, axes=3, layers=only(64, range(3, 64, 4))),
        square(1e4, 72),
    ],
    "mistralai__Ministral-3-3B-Instruct-2512": [
        yarn(1e6, 128, 16, 16384, attention=1.0),
        pixtral(1e4, 64),
    ],
    "mistralai__Pixtral-Large-Instruct-2411": [plain(1e9, 128), pixtral(1e4, 88)],
    "nvidia__Kimi-K2.7-Code-NVFP4": [
        yarn(5e4, 64, 64, 4096, attention=1.0, softmax=magnitude(64) ** 2),
        square(1e4, 72),
    ],
}
"""Several parts."""

GRIDS: Table = {
    "MiniMaxAI__MiniMax-H3": [
        schedule("transformer", ladder(1e4, 32), 96, 1e4, axes=3),
    ],
    "Qwen__Qwen-Image": [grid(1e4, [16, 56, 56])],
    "black-forest-labs__FLUX.2-dev": [grid(2000, [32, 32, 32, 32])],
    "hunyuanvideo-community__HunyuanVideo": [grid(256.0, [16, 56, 56])],
}
"""Image and video transformers: a coordinate an axis."""
