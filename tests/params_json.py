"""Published ``params.json`` files, and a short way to read them."""

from __future__ import annotations

import json
from typing import Any

from ropeaudit.document import parse
from ropeaudit.facts import Reading
from ropeaudit.readers import mistral
from ropeaudit.readers.interface import Resolution
from ropeaudit.schedule.core import Schedule

MINISTRAL = {
    "dim": 3072,
    "n_layers": 26,
    "head_dim": 128,
    "hidden_dim": 9216,
    "n_heads": 32,
    "n_kv_heads": 8,
    "norm_eps": 1e-05,
    "vocab_size": 131072,
    "rope_theta": 1000000.0,
    "max_position_embeddings": 262144,
    "model_type": "transformer",
    "yarn": {
        "original_max_position_embeddings": 16384,
        "factor": 16,
        "apply_scale": False,
        "beta": 32,
        "alpha": 1,
    },
    "llama_4_scaling": {"original_max_position_embeddings": 16384, "beta": 0.1},
}
LLAMA31 = {
    "dim": 4096,
    "n_layers": 32,
    "n_heads": 32,
    "n_kv_heads": 8,
    "vocab_size": 128256,
    "ffn_dim_multiplier": 1.3,
    "multiple_of": 1024,
    "norm_eps": 1e-05,
    "rope_theta": 500000.0,
    "use_scaled_rope": True,
}
LLAMA2 = {"dim": 4096, "multiple_of": 256, "n_heads": 32, "n_layers": 32, "vocab_size": -1}


def resolve(config: dict[str, Any]) -> Resolution:
    document = parse(json.dumps(config), "params.json")
    return mistral.read(Reading(target="m", format="params-json", document=document), ())


def only(config: dict[str, Any]) -> Schedule:
    (found,) = resolve(config).schedules
    return found


def without(config: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {k: v for k, v in config.items() if k not in keys}
