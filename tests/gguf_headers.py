"""GGUF headers written byte by byte, and read."""

from __future__ import annotations

import struct
from pathlib import Path

from ropeaudit.facts import Reading
from ropeaudit.sources import gguf
from tests.gguf_files import pair, raw, tensor

ARCHITECTURE = pair("general.architecture", 8, "llama")


def read(path: Path) -> Reading:
    return gguf.read(path, target=str(path))


def small() -> bytes:
    """A file with one of everything, 900 bytes."""
    pairs = [
        ARCHITECTURE,
        pair("llama.context_length", 4, 4096),
        pair("llama.embedding_length", 4, 64),
        pair("llama.block_count", 4, 4),
        pair("llama.attention.head_count", 9, (4, [8, 8, 8, 8])),
        pair("llama.rope.freq_base", 6, 10000.0),
        pair("llama.rope.dimension_count", 4, 8),
        pair("llama.rope.scaling.type", 8, "yarn"),
        pair("llama.rope.scaling.factor", 12, 4.0),
        pair("tokenizer.ggml.tokens", 9, (8, ["a", "bc", ""])),
        pair("tokenizer.ggml.scores", 9, (6, [0.5, 1.5])),
        pair("nested", 9, (9, [(8, ["x", "y"])])),
    ]
    infos = [tensor("blk.0.attn_q.weight", (4, 2)), tensor("rope_freqs.weight", (4,), 0, 32)]
    return raw(pairs, infos, struct.pack("<8f", *[0.0] * 8) + struct.pack("<4f", 1, 1, 2, 4))
