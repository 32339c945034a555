"""Model folders in the making."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ropeaudit.facts import Reading

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "max_position_embeddings": 4096,
}


TABLE = np.array([1.0, 0.5, 0.25, 0.125], dtype="float32")


NAME = "model.rotary_emb.inv_freq"


def write(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def kinds(reading: Reading) -> list[str]:
    return [note.kind for note in reading.notes]
