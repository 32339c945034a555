"""Checkpoints with learned encodings, written as real files and read back by the real sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.interface import Sources
from ropeaudit.encodings.interface import recognise as found_in
from ropeaudit.facts import Reading, StoredTensor
from ropeaudit.records import replace
from ropeaudit.sources.opening import open_target


def reading(
    tensors: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    *,
    path: Path | None = None,
    wrap: str | None = None,
) -> Reading:
    """``tensors`` (numpy, in the dtype they shall be stored in) through a real file.

    A safetensors file; a torch file ``{wrap: tensors, "config": config}`` where a config goes with
    them or ``wrap`` names the container (``model``, ``state_dict``). ``path``: where it is written;
    without one, the file is gone when this returns, and the values were read before.
    """
    if path is not None:
        write(path, tensors, config, wrap)
        return open_target(str(path))
    with TemporaryDirectory() as folder:
        name = "model.safetensors" if config is None and wrap is None else "model.pt"
        write(Path(folder) / name, tensors, config, wrap)
        found = open_target(str(Path(folder) / name))
        return replace(found, tensors=tuple(map(_read, found.tensors)))


def write(
    path: Path,
    tensors: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    wrap: str | None = None,
) -> None:
    """``path`` by its suffix: ``.safetensors``, otherwise torch."""
    if path.suffix == ".safetensors":
        from safetensors.numpy import save_file

        save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, path)
        path.chmod(0o644)  # the library lets nobody else read it
        return
    import torch

    state = {k: torch.from_numpy(np.ascontiguousarray(v)) for k, v in tensors.items()}
    wrap = wrap or ("model" if config is not None else None)
    whole: dict[str, Any] = {wrap: state} if wrap else dict(state)
    torch.save(whole if config is None else {**whole, "config": dict(config)}, path)


def recognised(
    tensors: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    options: Mapping[str, str] | None = None,
    *,
    wrap: str | None = None,
) -> tuple[Encoding, ...]:
    """The encodings that the package finds in a file with ``tensors``."""
    found = reading(tensors, config, wrap=wrap)
    document = found.stored_config or found.document
    return found_in(Sources(tensors=found.tensors, document=document, options=options or {}))


def _read(tensor: StoredTensor) -> StoredTensor:
    values = tensor.read()
    return replace(tensor, read=lambda: values)
