"""GGUF files as the source reads them, and what the reader of llama.cpp makes of them."""

from __future__ import annotations

import math
from typing import Any

from ropeaudit.facts import InputFile, Location, Observation, Oddity, Reading, StoredTable
from ropeaudit.readers import llama_cpp
from ropeaudit.readers.interface import Resolution
from ropeaudit.schedule.float32 import f32s

SHAPE = {
    "context_length": 8192,
    "embedding_length": 512,
    "block_count": 8,
    "attention.head_count": 4,
    "rope.freq_base": 10000.0,
}
WINDOW = {"attention.sliding_window": 64}
SWA = {"rope.freq_base_swa": 500.0}


def reading(
    architecture: str,
    keys: dict[str, Any],
    tensors: dict[str, list[float]] | None = None,
    *,
    dtype: str = "float32",
    overridden: frozenset[str] = frozenset(),
) -> Reading:
    """What the source makes of such a file."""
    roles = {"rope_freqs.weight": "rope_factors"}
    tables = []
    for name, values in (tensors or {}).items():
        layer = int(name.split(".")[1]) if name.startswith("blk.") else None
        plain = name.split(".", 2)[2] if layer is not None else name
        tables.append(
            StoredTable(
                name=name,
                values=tuple(f32s(values)),
                dtype=dtype,
                shape=(len(values),),
                location=Location(file="m.gguf", tensor=name),
                role=roles.get(plain, plain.removesuffix(".weight")),
                layer=layer,
            )
        )
    return Reading(
        target="m.gguf",
        format="gguf",
        metadata={"general.architecture": architecture}
        | {f"{architecture}.{k}": v for k, v in keys.items()},
        tables=tuple(tables),
        files=(InputFile(path="m.gguf", format="gguf"),),
        overridden=overridden,
    )


def build(architecture: str, keys: dict[str, Any], tensors: Any = None) -> Resolution:
    return llama_cpp.read(reading(architecture, keys, tensors), ())


def kinds(resolution: Resolution) -> list[Oddity]:
    return [o.kind for o in resolution.observations]


def seen(resolution: Resolution, kind: Oddity) -> list[Observation]:
    return [o for o in resolution.observations if o.kind is kind]


def notes(resolution: Resolution) -> dict[str, str]:
    return {n.kind: n.message for n in resolution.notes}


def llama3_factors(
    dim: int, base: float, factor: float, low: float, high: float, original: float
) -> list[float]:
    """Divisors as converters write them: 1 below, the factor above, a blend between."""
    found = []
    for k in range(dim // 2):
        wavelength = 2 * math.pi * base ** (2 * k / dim)
        if wavelength < original / high:
            found.append(1.0)
        elif wavelength > original / low:
            found.append(factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            found.append(1 / ((1 - smooth) / factor + smooth))
    return found
