"""Model folders without weights of any use, and variants of what they hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from ropeaudit.export.interface import Written, write
from ropeaudit.perturb.variant import Variant, make
from ropeaudit.resolve import resolve
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import ulp_distance
from ropeaudit.schedule.subject import Subject

LLAMA = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
    "rope_theta": 1e6,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 1024,
}
YARN = {
    "rope_type": "yarn",
    "factor": 40.0,
    "original_max_position_embeddings": 4096,
    "beta_fast": 32,
    "beta_slow": 1,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
}
DEEPSEEK = {
    "model_type": "deepseek_v3",
    "hidden_size": 64,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "qk_rope_head_dim": 64,
    "max_position_embeddings": 163840,
    "rope_theta": 10000,
    "rope_scaling": YARN,
}
GEMMA3 = {
    "model_type": "gemma3_text",
    "hidden_size": 256,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 128,
    "num_hidden_layers": 6,
    "sliding_window": 512,
    "sliding_window_pattern": 6,
    "max_position_embeddings": 32768,
    "rope_theta": 1e6,
    "rope_local_base_freq": 1e4,
}
PHI3 = {
    "model_type": "phi3",
    "hidden_size": 256,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 256,
    "original_max_position_embeddings": 64,
    "rope_theta": 10000.0,
    "rope_scaling": {
        "type": "longrope",
        "short_factor": [1 + 0.001 * k for k in range(64)],
        "long_factor": [1 + 0.5 * k for k in range(64)],
    },
}


def folder(path: Path, config: dict[str, Any]) -> Path:
    """A model folder with a config, one weight file, a tokenizer and a file in a subfolder."""
    (path / "inner").mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(config))
    (path / "tokenizer.json").write_text("{}")
    (path / "inner" / "pooling.json").write_text("{}")
    save_file({"w": np.zeros(4, np.float32)}, path / "model.safetensors")
    return path


def variant(path: Path, recipe: str) -> tuple[Subject, Variant]:
    subject = resolve(str(path))
    assert subject.error is None, subject.error
    return subject, make(subject.schedules, recipe)


def exported(path: Path, config: dict[str, Any], recipe: str) -> tuple[Written, dict[str, Any]]:
    """What was written for a recipe on a config, and the written config."""
    source = folder(path / "model", config)
    subject, made = variant(source, recipe)
    written = write(made, f"hf={path / 'out'}", source=subject)
    return written, json.loads((path / "out" / "config.json").read_text())


def same_shape(wanted: Schedule, found: tuple[float, ...], most: int = 2) -> None:
    """Within ``most`` float32 steps, equal channels equal, distinct ones distinct, zeros zero."""
    pairs = set(zip(wanted.inv_freq, found, strict=True))
    assert max(ulp_distance(a, b) or 0 for a, b in pairs) <= most
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert all((a == 0) == (b == 0) for a, b in pairs)
