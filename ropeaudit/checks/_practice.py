"""What released models of a family do, as data: the checks compare, nobody branches on a name.

Sources: the published config.json files of the models named, and the class defaults in
``transformers/models/*/configuration_*.py`` (5.24). Names are ``model_type`` in config.json and
``general.architecture`` in GGUF.
"""

from __future__ import annotations

USUAL_BASE = {
    "qwen2": 1e6,
    "qwen2moe": 1e6,
    "qwen2_moe": 1e6,
    "qwen2vl": 1e6,
    "qwen2_vl": 1e6,
    "qwen2_vl_text": 1e6,
    "qwen2_5_vl": 1e6,
    "qwen2_5_vl_text": 1e6,
    "qwen3": 1e6,
    "qwen3moe": 1e6,
    "qwen3_moe": 1e6,
    "mixtral": 1e6,
    "gpt-oss": 150_000.0,
    "gpt_oss": 150_000.0,
    "olmo3": 5e5,
    "llama4": 5e5,
    "llama4_text": 5e5,
}
"""The one base that all released models of a family use; families with several are left out."""

DEFAULT_IS_RIGHT = frozenset(
    {
        "baichuan", "chameleon", "codegen", "esm", "falcon", "glm", "glm4", "gpt_neox",
        "gpt_neox_japanese", "gptj", "minicpm", "minicpm3", "persimmon", "phi", "roformer",
        "stablelm",
    }
)  # fmt: skip
"""Families whose official files leave the base out, or whose class default is what they use."""

TRAINED_LENGTH = {
    ("llama", 500_000.0): (8192, "Llama 3"),
    ("qwen2", 1e6): (32768, "Qwen2"),
    ("qwen2moe", 1e6): (32768, "Qwen2"),
    ("qwen2_moe", 1e6): (32768, "Qwen2"),
    ("qwen3", 1e6): (32768, "Qwen3"),
    ("qwen3moe", 1e6): (32768, "Qwen3"),
    ("qwen3_moe", 1e6): (32768, "Qwen3"),
}
"""Length that models of a family with this base are trained at before any context extension."""

SCALED_TWIN = {
    ("llama", 500_000.0): "looks like a Llama 3.1 model without its llama3 scaling",
}
"""What a long declared length without scaling most likely is."""

ROTATES_LOCALLY = frozenset({"llama4", "llama4_text"})
"""Families whose rotated layers attend within chunks; layers without rotation reach further."""
