"""Writes the tensor files among the fixtures of RA301 to RA601.

``python -m tests.make_fixtures [FOLDER]``. Tables come from the scaling laws, rounded to the format
that a file is to hold; the configs beside them are written by hand. A test compares what this
writes with what is committed. ``save`` writes any small safetensors file and serves other tests.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ropeaudit.schedule.families import Inputs, family
from ropeaudit.schedule.families.interface import geometric
from ropeaudit.schedule.float32 import round_to

FOLDER = Path(__file__).parent.parent / "fixtures" / "rules"
NAME = "model.rotary_emb.inv_freq"
FORMATS = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}
_PACK = {"F32": "<f", "F16": "<e", "F64": "<d"}


def plain(base: float, dim: int, dtype: str = "F32") -> list[float]:
    """The schedule ``base ** (-2k/dim)`` rounded once to a safetensors dtype."""
    return [round_to(v, FORMATS[dtype]) for v in geometric(base, dim)]


def llama31() -> list[float]:
    """Llama 3.1's table."""
    law = family("llama3")
    assert law is not None
    scaling = {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    inputs = Inputs(rope_theta=5e5, rotary_dim=128, head_dim=128, scaling=scaling)
    return list(law.build(inputs).inv_freq)


def tables() -> dict[str, tuple[str, list[float]]]:
    """Folder below ``fixtures/rules``: dtype and values of the one tensor in it."""
    broken = [*plain(1e4, 128)[:-1], math.nan]
    return {
        "RA301/unknown/nan": ("F32", broken),
        "RA302/unknown/table-at-8192": ("F32", plain(1e4, 128)),
        "RA303/unknown/nan": ("F32", broken),
        "RA401/pass/equal": ("F32", llama31()),
        "RA401/pass/cast": ("BF16", plain(1e6, 128, "BF16")),
        "RA401/fail/scaling-lost": ("F32", plain(5e5, 128)),
        # evo2-40b: the config says 1e11, the weights were trained with 1e6 in bfloat16.
        "RA401/fail/base-1e11": ("F32", plain(1e6, 128, "BF16")),
        # Dynamic scaling by 2 from 2,048 positions, after a prompt of 8,192.
        "RA401/fail/long-prompt": ("F32", plain(72195.86008650938, 128)),
        "RA401/unknown/half-as-long": ("F32", plain(5e5, 64)),
        "RA501/pass/float32": ("F32", plain(1e4, 128)),
        "RA501/pass/powers-of-two": ("BF16", [2.0**-k for k in range(16)]),
        "RA501/fail/bfloat16": ("BF16", plain(1e4, 128, "BF16")),
        "RA501/fail/float16": ("F16", plain(1e6, 128, "F16")),
        "RA501/fail/cast-back": ("F32", plain(1e6, 128, "BF16")),
        "RA501/fail/beside-its-config": ("BF16", plain(1e6, 128, "BF16")),
        "RA601/pass/stored": ("F32", llama31()),
        "RA601/pass/stored-in-bfloat16": ("BF16", plain(1e6, 128, "BF16")),
        "RA601/fail/base-1e11": ("F32", plain(1e6, 128, "BF16")),
        "RA601/fail/scaling-lost": ("F32", plain(5e5, 128)),
    }


def pack(values: Iterable[float], dtype: str) -> bytes:
    """Little-endian bytes; values must be exact in ``dtype`` (F64, F32, F16 or BF16)."""
    if dtype == "BF16":
        return b"".join(struct.pack("<f", v)[2:] for v in values)
    return b"".join(struct.pack(_PACK[dtype], v) for v in values)


def save(path: Path, tensors: Mapping[str, tuple[str, list[float]]]) -> None:
    """Write one-dimensional tensors as a safetensors file."""
    header: dict[str, Any] = {}
    data = b""
    for name, (dtype, values) in tensors.items():
        raw = pack(values, dtype)
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": dtype, "shape": [len(values)], "data_offsets": offsets}
        data += raw
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)


def write(folder: Path = FOLDER) -> None:
    """Write every tensor file below ``folder``; other files stay as they are."""
    for name, held in tables().items():
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        save(place / "model.safetensors", {NAME: held})


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
