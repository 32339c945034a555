"""Random configs that every engine is asked about: known families, every law, odd spellings.

The bodies (widths, layers, experts) are those of the measured cases in
``fixtures/readers/vectors.json``, which every engine takes; what is said of rotation is drawn.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

Config = dict[str, Any]

VECTORS = Path(__file__).parents[3] / "fixtures" / "readers" / "vectors.json"
POSITION = (
    "rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor", "rotary_pct",
    "rotary_emb_base", "rope_local_base_freq", "global_rope_theta", "local_rope_theta",
    "original_max_position_embeddings", "rotary_dim",
)  # fmt: skip
COUSINS = {
    "mistral": "MistralForCausalLM",
    "gemma": "GemmaForCausalLM",
    "olmo2": "Olmo2ForCausalLM",
}
"""Families with the body of a Llama."""
LAYERED = {
    "gemma3_text": ("full_attention", "sliding_attention"),
    "modernbert": ("full_attention", "sliding_attention"),
}
BY_HEAD = ("llama", "qwen3", "mistral")
FIXED = ("minimax_m2",)
"""Families that keep their head: ``rotary_dim`` must fit into it."""
LATENT = ("deepseek_v2", "deepseek_v3")
OWN: dict[str, Config] = {
    "gemma3_text": {"rope_local_base_freq": 20000.0},
    "modernbert": {"global_rope_theta": 80000.0, "local_rope_theta": 10000.0},
    "gpt_neox": {"rotary_pct": 0.5, "rotary_emb_base": 50000},
    "minimax_m2": {"rotary_dim": 64},
    "stablelm": {"partial_rotary_factor": 0.25},
    "glm4": {"partial_rotary_factor": 0.5},
    "phi": {"partial_rotary_factor": 0.5},
}
"""Keys that files of a family have."""
REQUIRED = ("minimax_m2", "stablelm", "glm4", "phi")
"""Families whose files always have them."""

SHORT = [2048, 4096, 8192]
MASKED = ("gpt_neox",)
"""Families of which an old release keeps a mask of length times length."""
WHOLE = ("llama", "qwen2_vl")
"""Families whose plain tables are as wide as the head, whatever the partial factor."""


@cache
def families() -> dict[str, Config]:
    """A config of each family without anything about rotation."""
    found: dict[str, Config] = {}
    for case in json.loads(VECTORS.read_text(encoding="utf-8"))["cases"].values():
        config = case["config"]
        if case["file"] == "config.json":
            body = {k: v for k, v in config.items() if k not in POSITION}
            found.setdefault(config["model_type"], body)
    for name, architecture in COUSINS.items():
        found[name] = {**found["llama"], "model_type": name, "architectures": [architecture]}
    return found


def drawn(count: int, seed: int) -> Iterator[tuple[str, Config]]:
    """``count`` configs with names, the same for the same ``seed``."""
    dice = random.Random(seed)
    names = sorted(families())
    for i in range(count):
        name = names[i % len(names)]
        yield f"{i} {name}", config_of(name, dice)


def config_of(family: str, dice: random.Random) -> Config:
    """A config of ``family``; all that is random comes from ``dice``."""
    config = copy.deepcopy(families()[family])
    lengths = SHORT if family in MASKED else [*SHORT, 40960, 131072]
    declared = config["max_position_embeddings"] = dice.choice(lengths)
    width = _width(config, family, dice)
    if family in REQUIRED or dice.random() < 0.5:
        config |= OWN.get(family, {})
    if dice.random() < 0.12:
        config["partial_rotary_factor"] = dice.choice([0.25, 0.5, 1.0])
    if dice.random() < 0.12:
        config["original_max_position_embeddings"] = declared // dice.choice([2, 4])
    part = 1.0 if family in WHOLE else config.get("partial_rotary_factor", 1.0)
    channels = int(width * part) // 2
    base = dice.choice([10000.0, 10000, 500000.0, 1e6, 1000042.5])
    _write(config, dice, base, scaling(dice, channels, declared))
    kinds = LAYERED.get(family)
    rope = config.get("rope_parameters")
    if kinds and rope and dice.random() < 0.7:
        plain = {"rope_type": "default", "rope_theta": 10000.0}
        config["rope_parameters"] = {kinds[0]: {"rope_theta": base, **rope}, kinds[1]: plain}
    return config


def _width(config: Config, family: str, dice: random.Random) -> int:
    if family in LATENT:
        return int(config["qk_rope_head_dim"])
    if dice.random() < 0.2 and (family in BY_HEAD or "head_dim" in config) and family not in FIXED:
        config["head_dim"] = dice.choice([32, 64, 96])
    even = config["hidden_size"] // config["num_attention_heads"]
    return int(config.get("head_dim") or even)


def _write(config: Config, dice: random.Random, base: float, law: Config | None) -> None:
    """Puts base and law in one of the schemas, in both, or in both and unlike."""
    inner = {**(law or {"rope_type": "default"}), "rope_theta": base}
    schema = dice.choice(
        ["old", "old", "new", "new", "both", "unlike", "mixed", "null old", "null new", "none"]
    )
    if schema in ("old", "both", "unlike", "mixed", "null new"):
        config["rope_theta"] = base
    if schema in ("old", "both", "unlike", "null new"):
        config["rope_scaling"] = law
    if schema in ("new", "both", "null old"):
        config["rope_parameters"] = inner
    if schema == "unlike":
        config["rope_parameters"] = {"rope_type": "default", "rope_theta": base * 2}
    if schema == "mixed":
        config["rope_parameters"] = law or {"rope_type": "default"}
    if schema == "null old":
        config["rope_scaling"] = None
    if schema == "null new":
        config["rope_parameters"] = None


LAWS = (
    "plain", "default", "linear", "linear", "dynamic", "yarn", "yarn", "llama3", "llama3",
    "longrope", "su", "mrope", "odd",
)  # fmt: skip


def scaling(dice: random.Random, channels: int, declared: int) -> Config | None:
    """A scaling dict with some of its keys, in one of the spellings; None for none."""
    kind = dice.choice(LAWS)
    if kind == "plain":
        return None
    found: Config = {}
    if kind not in ("default", "mrope"):
        found["factor"] = dice.choice([2.0, 4, 8.0, 40, 1.5, 1.0])
    for key, value, odds in _optional(kind, dice, channels, declared):
        if dice.random() < odds:
            found[key] = value
    if kind in ("longrope", "su") and dice.random() < 0.6:
        found.pop("factor")
    spelling = dice.choice(["rope_type", "rope_type", "type", "both", "unlike"])
    if spelling != "type":
        found["rope_type"] = kind
    if spelling != "rope_type":
        found["type"] = "linear" if spelling == "unlike" and dice.random() < 0.4 else kind
    return found


def _optional(
    kind: str, dice: random.Random, channels: int, declared: int
) -> list[tuple[str, Any, float]]:
    """(key, value, odds) of what a law may state."""
    lengths = [
        ("original_max_position_embeddings", declared // dice.choice([2, 4, 8]), 0.8),
    ]
    if kind == "yarn":
        return [
            *lengths, ("beta_fast", dice.choice([32, 16.0]), 0.3), ("beta_slow", 2.0, 0.2),
            ("attention_factor", dice.choice([1.0, 1.25]), 0.25), ("truncate", False, 0.25),
            ("mscale", 1.0, 0.25), ("mscale_all_dim", dice.choice([1.0, 0.707]), 0.25),
        ]  # fmt: skip
    if kind == "llama3":
        return [*lengths, ("low_freq_factor", 1.0, 0.95), ("high_freq_factor", 4.0, 0.95)]
    if kind == "su":  # Phi-3's first files, which state the length
        lengths = [(key, value, 1.0) for key, value, _ in lengths]
    if kind in ("longrope", "su"):
        steps = range(channels)
        return [
            *lengths, ("short_factor", [round(1 + 0.01 * k, 3) for k in steps], 1.0),
            ("long_factor", [round(1 + 0.3 * k, 3) for k in steps], 1.0),
            ("attention_factor", 1.1, 0.2), ("short_mscale", 1.05, 0.1),
        ]  # fmt: skip
    if kind == "mrope":
        rest = channels - 2 * (3 * channels // 8)
        return [("mrope_section", [rest, 3 * channels // 8, 3 * channels // 8], 1.0)]
    return []
