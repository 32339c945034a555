"""Small GGUF models, their variants, and what stands in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ropeaudit.export.interface import Written
from ropeaudit.export.writing import write
from tests import gguf_files
from tests.export.variants import variant

gguf = pytest.importorskip("gguf")

KEYS: dict[str, Any] = {
    "general.name": "tiny",
    "context_length": 8192,
    "embedding_length": 256,
    "block_count": 2,
    "attention.head_count": 4,
    "rope.freq_base": 100000.0,
    "rope.dimension_count": 64,
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": ["<s>", "é", "\n"],
    "tokenizer.ggml.scores": [0.5, -1.5, 3.25],
    "tokenizer.ggml.add_bos_token": True,
}
SCALING = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 4.0,
    "rope.scaling.original_context_length": 2048,
}
TENSORS = {
    "token_embd.weight": [[0.25, -1.0, 3.0], [1.5, 2.5, -0.125]],
    "output_norm.weight": [1.0, 2.0, 3.0],
}
LLAMA3 = [1.0] * 20 + [1 + k * 7 / 8 for k in range(8)] + [8.0] * 4


def model(path: Path, arch: str = "llama", **options: Any) -> Path:
    keys = KEYS | options.pop("keys", {})
    return gguf_files.write(
        path / "model.gguf", arch, keys, TENSORS | options.pop("tensors", {}), **options
    )


def exported(source: Path, recipe: str) -> tuple[Any, Written, Any]:
    subject, made = variant(source, recipe)
    out = source.parent / "out.gguf"
    written = write(made, f"gguf={out}", source=subject, force=True)
    return made, written, gguf.GGUFReader(out)


def raw(reader: Any) -> dict[str, tuple[Any, ...]]:
    """Type, shape and bytes of every tensor but the divisors."""
    return {
        t.name: (t.tensor_type, tuple(t.shape), t.data.tobytes())
        for t in reader.tensors
        if t.name != "rope_freqs.weight"
    }


def fields(reader: Any) -> dict[str, Any]:
    return {k: (f.types, f.contents()) for k, f in reader.fields.items() if k[:5] != "GGUF."}
