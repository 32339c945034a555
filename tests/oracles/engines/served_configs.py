"""Random configs for the vLLM and SGLang oracles: small, in both schemas, with every law."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any


def draw(families: dict[str, dict[str, Any]], count: int, seed: int) -> Iterator[dict[str, Any]]:
    """``count`` configs that go round the families: both schemas, every law, odd widths."""
    rng = random.Random(seed)
    names = sorted(families)
    for i in range(count):
        yield _config(copy.deepcopy(families[names[i % len(names)]]), rng)


def _config(family: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    config, head, nested = family["config"], family["head"], family["nested"]
    config["max_position_embeddings"] = rng.choice([4096, 32768, 131072])
    theta = rng.choice([1e4, 1.5e5, 5e5, 1e6])
    part = rng.choice([1.0, 1.0, 1.0, 0.25, 0.5, 0.75])
    scaling = _scaling(int(head * part) // 2, rng)
    for key in ("rope_parameters", "rope_theta", "rope_scaling"):
        config.pop(key, None)
    schema = "new" if nested else rng.choice(["old", "new", "mixed", "both"])
    inner = {**(scaling or {"rope_type": "default"})}
    if schema in ("new", "both"):
        inner["rope_theta"] = theta
        if part != 1.0:
            inner["partial_rotary_factor"] = part
    if schema != "old":
        config["rope_parameters"] = inner
    if schema != "new":
        config["rope_theta"] = theta
        if part != 1.0:
            config["partial_rotary_factor"] = part
    if schema in ("old", "both"):
        config["rope_scaling"] = scaling
        if scaling is not None and schema == "old" and rng.random() < 0.3:
            scaling["type"] = scaling.pop("rope_type")
    if nested:
        plain = {"rope_type": "default", "rope_theta": 1e4}
        config["rope_parameters"] = {n: (inner if k == 0 else plain) for k, n in enumerate(nested)}
    return config


def _scaling(channels: int, rng: random.Random) -> dict[str, Any] | None:
    kind = rng.choice(
        ["none", "default", "linear", "linear", "dynamic", "yarn", "yarn", "llama3", "longrope"]
    )
    factor, original = rng.choice([2.0, 4.0, 8.0, 32.0, 4]), rng.choice([2048, 4096, 8192])
    if kind == "none":
        return None
    found: dict[str, Any] = {"rope_type": kind}
    if kind in ("linear", "dynamic", "yarn", "llama3"):
        found["factor"] = factor
    if kind in ("yarn", "llama3", "longrope"):
        found["original_max_position_embeddings"] = original
    if kind == "llama3":
        found.update(low_freq_factor=1.0, high_freq_factor=4.0)
    odd = {
        "yarn": {
            "beta_fast": 16.0, "beta_slow": 2.0, "truncate": False, "mscale": 0.707,
            "mscale_all_dim": rng.choice([1.0, 0.707]), "attention_factor": rng.choice([1.0, 1.3]),
        },
        "longrope": {"attention_factor": 1.1, "factor": 4.0, "short_mscale": 1.05},
    }  # fmt: skip
    if kind == "longrope":
        found["short_factor"] = [round(1 + 0.01 * k, 3) for k in range(channels)]
        found["long_factor"] = [round(1 + 0.2 * k, 3) for k in range(channels)]
    chosen = {k: v for k, v in odd.get(kind, {}).items() if rng.random() < 0.4}
    return {**found, **chosen}


def families(names: str, extra: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """A small config of each model type, from its class's defaults and ``extra`` fields."""
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL

    found = {}
    for name in names.split():
        config = json.loads(CONFIG_MAPPING[name]().to_json_string(use_diff=False))
        config.pop("transformers_version", None)
        rope = config.get("rope_parameters") or {}
        nested = [key for key, value in rope.items() if isinstance(value, dict)]
        config.update(model_type=name, architectures=[CAUSAL[name]], num_hidden_layers=8)
        for key, value in config.items():
            if isinstance(value, list) and len(value) > 8:
                config[key] = value[:8]
        config.update(extra.get(name, {}))
        head = config.get("qk_rope_head_dim") or config.get("head_dim")
        head = head or config["hidden_size"] // config["num_attention_heads"]
        found[name] = {"config": config, "head": head, "nested": nested}
    return found
