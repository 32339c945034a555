"""From what was named on the command line to single targets."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ropeaudit.errors import UsageError, quoted_path

MAX_TARGETS = 1_000_000
MAX_LOOK = 1 << 22
"""Bytes of a loose JSON file that are looked at; a config is far smaller."""
_PART = re.compile(r"-([0-9]{5})-of-[0-9]{5}\.gguf$")
_CONFIGS = frozenset({"config.json", "params.json", "adapter_config.json"})
_WEIGHTS = (
    ".safetensors", ".safetensors.index.json", ".bin.index.json", ".bin", ".pt", ".pth", ".gguf",
)  # fmt: skip
_CHECKPOINTS = (".ckpt", ".chk")
"""What training loops leave, one file a model; beside a model they are no targets."""
_NO_CONFIGS = frozenset(
    {
        "added_tokens.json", "chat_template.json", "generation_config.json", "merges.json",
        "modules.json", "package.json", "preprocessor_config.json", "processor_config.json",
        "quantize_config.json", "special_tokens_map.json", "tokenizer.json",
        "tokenizer_config.json", "vocab.json",
    }
)  # fmt: skip
"""Companions of a config that hold no position fields: no targets in a folder of configs."""


def expand(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Targets, and JSON files that were left out because they lie beside model folders.

    A folder without config and weights of its own stands for what it holds. The order is that of
    the names, sorted within a folder. A folder that holds nothing stays, so that reading it says
    so. Raises UsageError when nothing was named.
    """
    if not names:
        raise UsageError(
            "no target given; name a model folder or a config, such as path/to/config.json"
        )
    found: list[str] = []
    left_out: list[str] = []
    for name in names:
        inside = list(_inside(name, left_out)) if _is_folder(name) else []
        found += inside or [name]
        if len(found) > MAX_TARGETS:
            raise UsageError(f"more than {MAX_TARGETS:,} targets; audit them in parts")
    return found, left_out


def _is_folder(name: str) -> bool:
    try:
        return name != "-" and Path(name).is_dir()
    except (OSError, ValueError):  # no possible path; reading the target says why
        return False


def _inside(folder: str, left_out: list[str]) -> Iterator[str]:
    unreadable: list[str] = []
    seen: set[tuple[int, int]] = set()
    walk = os.walk(folder, onerror=lambda e: unreadable.append(str(e.filename)), followlinks=True)
    for place, folders, files in walk:
        if _was_seen(place, seen):  # links may lead in a circle
            folders.clear()
            continue
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        if _is_model(files):
            folders.clear()
            several = _several_gguf(files)
            yield from (str(Path(place) / name) for name in several)
            if place != folder and not several:
                yield place
            continue
        yield from (str(Path(place) / n) for n in sorted(files) if n.endswith(_CHECKPOINTS))
        loose = [
            str(Path(place) / name)
            for name in sorted(files)
            if name.endswith(".json") and name not in _NO_CONFIGS
        ]
        if loose and any(_is_model(_listing(Path(place) / f)) for f in folders):
            # Mostly an index or a registry of the models, not one more.
            configs = [name for name in loose if _describes_a_model(name)]
            left_out += [name for name in loose if name not in configs]
            loose = configs
        yield from loose
    # What cannot be listed is a target, so that reading it says so: it may hold models.
    yield from (name for name in unreadable if name != folder)


def _several_gguf(files: Sequence[str]) -> list[str]:
    """The files of a folder that holds nothing but GGUF models; of a split one its first part."""
    if sum(map(is_model_file, files)) < 2 or any(
        is_model_file(name) and not name.endswith(".gguf") for name in files
    ):
        return []
    whole = (_PART.search(name) for name in files)
    first = [
        name
        for name, part in zip(files, whole, strict=True)
        if name.endswith(".gguf") and (part is None or int(part[1]) == 1)
    ]
    return sorted(first) if len(first) > 1 else []


def _describes_a_model(path: str) -> bool:
    """Whether a JSON file names a model type on its top level, or says so and cannot be parsed."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_LOOK)
        if b'"model_type"' not in data:
            return False
        found = json.loads(data)
    except OSError:
        return True  # reading it says what is wrong
    except (ValueError, RecursionError):
        return True
    return isinstance(found, dict) and "model_type" in found


def _was_seen(folder: str, seen: set[tuple[int, int]]) -> bool:
    try:
        status = os.stat(folder)  # noqa: PTH116 (a str costs less than a Path)
    except OSError:
        return False
    place = status.st_dev, status.st_ino
    if place in seen:
        return True
    seen.add(place)
    return False


def _listing(folder: Path) -> list[str]:
    try:
        return [p.name for p in folder.iterdir()]
    except OSError:
        return []


def _is_model(files: Sequence[str]) -> bool:
    return any(map(is_model_file, files))


def is_model_file(name: str) -> bool:
    """Whether a file of this name makes the folder around it a model."""
    return name in _CONFIGS or name.endswith(_WEIGHTS)


def say_left_out(left_out: Sequence[str]) -> None:
    """One line on standard error: what is not audited is not silently clean."""
    if left_out:
        shown = ", ".join(quoted_path(name) for name in left_out[:3])
        more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        print(
            f"ropeaudit: left out beside model folders: {shown}{more}; name a file to include it",
            file=sys.stderr,
        )
