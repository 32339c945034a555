"""From what was named on the command line to single targets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ropeaudit.errors import UsageError

MAX_TARGETS = 1_000_000
_CONFIGS = frozenset({"config.json", "params.json", "adapter_config.json"})
_WEIGHTS = (
    ".safetensors", ".safetensors.index.json", ".bin.index.json", ".bin", ".pt", ".pth", ".gguf",
)  # fmt: skip
_NO_CONFIGS = frozenset(
    {
        "added_tokens.json", "chat_template.json", "generation_config.json", "merges.json",
        "modules.json", "package.json", "preprocessor_config.json", "processor_config.json",
        "quantize_config.json", "special_tokens_map.json", "tokenizer.json",
        "tokenizer_config.json", "vocab.json",
    }
)  # fmt: skip
"""Companions of a config that hold no position fields: no targets in a folder of configs."""


def expand(names: Sequence[str]) -> list[str]:
    """Each name, or what it holds: a folder without config and weights of its own is many targets.

    The order is that of the names, sorted within a folder. A folder that holds nothing stays, so
    that reading it says so. Raises UsageError when nothing was named.
    """
    if not names:
        raise UsageError(
            "no target given; name a model folder or a config, as in: audit config.json"
        )
    found: list[str] = []
    for name in names:
        inside = list(_inside(name)) if _is_folder(name) else []
        found += inside or [name]
        if len(found) > MAX_TARGETS:
            raise UsageError(f"more than {MAX_TARGETS:,} targets; audit them in parts")
    return found


def _is_folder(name: str) -> bool:
    return name != "-" and Path(name).is_dir()


def _inside(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):  # does not follow links, so no loops
        folders.sort()
        if _is_model(files):
            folders.clear()
            if place != folder:
                yield place
            continue
        for name in sorted(files):
            if name.endswith(".json") and name not in _NO_CONFIGS:
                yield str(Path(place) / name)


def _is_model(files: Sequence[str]) -> bool:
    return any(name in _CONFIGS or name.endswith(_WEIGHTS) for name in files)
