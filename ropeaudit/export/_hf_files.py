"""The files of a model folder around its config: weights linked, all else copied."""

from __future__ import annotations

import shutil
from pathlib import Path

from ropeaudit.export._target import RECORD
from ropeaudit.records import field, record

_WEIGHTS = frozenset(
    {".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".npz", ".ot"}
)
_BAKED = frozenset({".gguf", ".onnx", ".onnx_data", ".tflite", ".mlmodel", ".engine"})
"""Whole models with tables of their own, which stay as they were."""
_OTHER_CONFIGS = frozenset({"params.json"})
"""A second spelling of the settings, which some engines prefer to config.json."""
_SKIPPED = frozenset({"__pycache__"})


@record(kw_only=True)
class Files:
    """Names relative to the folder."""

    linked: list[str] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def populate(folder: Path, source: Path, *, copy: bool) -> Files:
    """Give ``folder`` the files of ``source`` but its config; raises OSError.

    Weights become symbolic links to the real files, or copies with ``copy``. Never hard links: to
    write into one would change the original.
    """
    found = Files()
    _fill(folder, source, Path(), copy, found)
    return found


def _fill(folder: Path, source: Path, inner: Path, copy: bool, found: Files) -> None:
    for item in sorted((source / inner).iterdir()):
        name = inner / item.name
        if item.name.startswith(".") or item.name in _SKIPPED or name in (Path(RECORD), _CONFIG):
            continue
        if item.is_dir():
            (folder / name).mkdir()
            _fill(folder, source, name, copy, found)
            if not any((folder / name).iterdir()):
                (folder / name).rmdir()
            continue
        suffix = item.suffix.lower()
        if suffix in _BAKED or item.name in _OTHER_CONFIGS:
            found.left_out.append(str(name))
        elif suffix in _WEIGHTS and not copy:
            (folder / name).symlink_to(item.resolve(strict=True))
            found.linked.append(str(name))
        else:
            shutil.copyfile(item, folder / name)
            found.copied.append(str(name))


_CONFIG = Path("config.json")
