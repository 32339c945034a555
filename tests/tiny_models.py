"""Small models of transformers, and the tables found in them."""

from __future__ import annotations

from typing import Any

import pytest

from ropeaudit.facts import Reading, StoredTable

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


SIZES = {
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "vocab_size": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def llama(**options: Any) -> Any:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES | options))


def by_place(reading: Reading) -> dict[str, StoredTable]:
    return {t.location.tensor or "": t for t in reading.tables}
