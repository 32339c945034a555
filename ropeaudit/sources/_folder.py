"""A model folder: its config, and the few small tensors that lie beside it."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from ropeaudit.document import Document
from ropeaudit.errors import (
    LfsPointer,
    MissingDependency,
    SourceError,
    UnrecognisedFormat,
    quoted,
    quoted_path,
)
from ropeaudit.facts import MAX_LENGTH, Note, Reading
from ropeaudit.records import replace
from ropeaudit.sources import _adapter, _config
from ropeaudit.sources._files import failure
from ropeaudit.sources._weights import Weights, stored, training_checkpoints

EXPECTED = (
    "config.json, params.json, adapter_config.json, model_index.json, *.safetensors, *.gguf or "
    "pytorch_model.bin"
)
_PARTS = ("transformer", "unet")
_CONFIGS = ("config.json", "params.json")
_DECLARED_KEYS = ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len")
MAX_TOKENIZER_CONFIG = 256 * 1024
"""Larger ones list their tokens; reading one would cost more than the audit."""


def read(path: Path, *, target: str, seen: frozenset[str] = frozenset()) -> Reading:
    """What the folder ``path`` holds; raises SourceError when that is nothing to audit.

    ``seen`` are the real paths of folders already being read, so that adapters that name each
    other come to an end.
    """
    names = listing(path)
    weights = stored(path, names)
    name = next((n for n in _CONFIGS if n in names), None)
    if name is not None:
        reading = _plain(path / name, target)
        notes = [*reading.notes, *_tokenizer_note(path, names, reading.document)]
        if "adapter_config.json" in names:
            notes.append(_adapter.note_of(path))
        return _with(replace(reading, notes=tuple(notes)), weights)
    if "adapter_config.json" in names:
        return _adapter.read(path, target=target, seen=seen, folder=_reader(target))
    if "model_index.json" in names:
        return _pipeline(path, target)
    if weights.found:
        return _with(Reading(target=target, format=weights.format), weights)
    gguf = sorted(n for n in names if n.endswith(".gguf"))
    if gguf:
        return _gguf(path, gguf, target)
    weights = training_checkpoints(path, names)
    if weights.found:
        return _with(Reading(target=target, format=weights.format), weights)
    raise UnrecognisedFormat(
        f"the folder {quoted_path(path)} holds neither a config nor weights; expected {EXPECTED}"
    )


def read_beside(path: Path, document: Document, *, target: str) -> Reading:
    """The reading of a file that only points at its neighbours (index, adapter, pipeline)."""
    data = document.data
    if "weight_map" in data:
        weights = stored(path.parent, frozenset({*listing(path.parent), path.name}), path.name)
        return _with(Reading(target=target, format=weights.format), weights)
    if "base_model_name_or_path" in data:
        return _adapter.read(path.parent, target=target, seen=frozenset(), folder=_reader(target))
    return _pipeline(path.parent, target)


def listing(path: Path) -> frozenset[str]:
    """Names in a folder; raises SourceError."""
    try:
        return frozenset(os.listdir(path))  # noqa: PTH208 (names are all that is needed)
    except OSError as error:
        raise failure(path, error) from None


def _reader(target: str) -> Callable[[Path, frozenset[str]], Reading]:
    return lambda path, seen: read(path, target=target, seen=seen)


def _with(reading: Reading, weights: Weights) -> Reading:
    """``reading`` with the tensors of ``weights`` added."""
    try:
        extra = weights.read()
    except MissingDependency as error:
        if reading.document is None:
            raise
        skipped = Note("torch_skipped", f"stored tensors were not compared: {error}")
        return replace(reading, notes=(*reading.notes, skipped))
    except LfsPointer as error:
        if reading.document is None:
            raise
        raise LfsPointer(f"{error}, or audit {quoted_path(reading.document.file)} alone") from None
    return replace(
        reading,
        tables=extra.tables,
        tensors=extra.tensors,
        stored_config=extra.stored_config,
        tensor_names=extra.tensor_names,
        files=(*reading.files, *extra.files),
        notes=(*reading.notes, *extra.notes),
    )


def _pipeline(path: Path, target: str) -> Reading:
    """A diffusers pipeline: the denoiser's own folder is what rotates."""
    for part in _PARTS:
        inner = path / part
        if (inner / "config.json").is_file():
            reading = read(inner, target=target)
            note = Note("pipeline", f"a diffusers pipeline; its {part}/config.json was read")
            return replace(reading, notes=(note, *reading.notes))
    raise UnrecognisedFormat(
        f"the pipeline {quoted_path(path)} has neither transformer/config.json nor "
        "unet/config.json; give the component's own folder"
    )


def _gguf(path: Path, names: list[str], target: str) -> Reading:
    first = [n for n in names if "-00001-of-" in n] or names
    if len(first) > 1:
        listed = ", ".join(quoted(n) for n in names[:5])
        raise SourceError(
            f"the folder {quoted_path(path)} holds {len(names)} GGUF files ({listed}); name one"
        )
    found: Reading = import_module("ropeaudit.sources.gguf").read(path / first[0], target=target)
    return found


def _plain(path: Path, target: str) -> Reading:
    data = _config.load(path)
    return _config.reading(_config.parse(data, str(path)), data, target=target)


def _tokenizer_note(
    path: Path, names: frozenset[str], document: Document | None
) -> tuple[Note, ...]:
    """The tokenizer's own length limit, where it is real and differs from the config's."""
    name = "tokenizer_config.json"
    if name not in names or document is None:
        return ()
    try:
        if (path / name).stat().st_size > MAX_TOKENIZER_CONFIG:
            return ()
        length = _config.parse(_config.load(path / name), name).data.get("model_max_length")
    except (OSError, SourceError):
        return ()  # a broken tokenizer file is not this tool's business
    if not isinstance(length, int) or isinstance(length, bool) or not 0 < length < MAX_LENGTH:
        return ()
    data = document.data
    inner = [v for v in data.values() if isinstance(v, dict)]
    declared = {d[k] for d in (data, *inner) for k in _DECLARED_KEYS if isinstance(d.get(k), int)}
    if not declared or length in declared:
        return ()
    return (
        Note(
            "tokenizer_length",
            f"tokenizer_config.json limits the length to {length}, "
            f"the config declares {max(declared)}",
        ),
    )
