"""Tensors with a document, as one safetensors file, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ropeaudit.errors import UsageError, quoted_path
from ropeaudit.export import _target


def check(path: Path, source: Path | None, *, force: bool) -> None:
    """Raises UsageError where the file cannot or must not be written, before any work is done."""
    if path.suffix != ".safetensors":
        raise UsageError(f"{quoted_path(path)} is no name of a safetensors file; end it so")
    _target.check(path, source, force=force)


def write(path: Path, tensors: Mapping[str, Any], document: str, *, force: bool) -> None:
    """Write numpy arrays, and ``document`` under the metadata key ``ropeaudit``.

    They are read back and must be the same bits. Raises UsageError.
    """
    from safetensors.numpy import load_file, save_file

    with _target.replacing(path, force=force) as work:
        # One key: the library writes several in an order that changes from run to run.
        save_file(dict(sorted(tensors.items())), work, metadata={"ropeaudit": document})
        again = load_file(work)
        for name, values in tensors.items():
            if again[name].tobytes() != values.tobytes():
                raise UsageError(f"{quoted_path(path)} read back gives other numbers; report this")
