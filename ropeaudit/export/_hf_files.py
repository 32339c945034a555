"""The files of a model folder around its config: weights linked, all else copied."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ropeaudit.errors import UsageError, quoted_path
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
    """Names relative to the folder, and ``home``, under which all the links lead."""

    linked: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    homes: set[str] = field(default_factory=set)

    @property
    def home(self) -> str:
        return os.path.commonpath(self.homes)


def populate(folder: Path, source: Path, *, copy: bool) -> Files:
    """Give ``folder`` the files of ``source`` but its config.

    Weights become symbolic links to the real files, or copies with ``copy``. Never hard links: to
    write into one would change the original. Raises OSError where the folder cannot be written, and
    UsageError for a source that cannot be read.
    """
    found = Files()
    _fill(folder, source, Path(), copy, found)
    return found


def _fill(folder: Path, source: Path, inner: Path, copy: bool, found: Files) -> None:
    for item in _items(source / inner):
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
            continue
        _require_readable(item)
        if suffix in _WEIGHTS and not copy:
            real = item.resolve(strict=True)
            (folder / name).symlink_to(real)
            found.linked.append(str(name))
            found.homes.add(str(real.parent))
        else:
            shutil.copyfile(item, folder / name)


_CONFIG = Path("config.json")


def _items(folder: Path) -> list[Path]:
    """What lies in a folder of the source; raises UsageError where that has no end."""
    real = folder.resolve()
    try:
        items = sorted(folder.iterdir())
        around = next(
            (p for p in items if p.is_dir() and p.resolve() in (real, *real.parents)), None
        )
    except OSError as error:
        raise _unread(folder, error) from None
    if around is not None:
        raise UsageError(
            f"{quoted_path(around)} is a link to a folder around it, so that the copy would have "
            "no end; remove the link"
        )
    return items


def _require_readable(item: Path) -> None:
    """Raises UsageError, so that a fault of the source is not taken for one of the output."""
    if not item.is_file():
        raise UsageError(
            f"{quoted_path(item)} is no file (a broken link, or a device); mend or remove it"
        )
    try:
        item.open("rb").close()
    except OSError as error:
        raise _unread(item, error) from None


def _unread(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{quoted_path(path)} cannot be read: {error.strerror or error}; correct it")
