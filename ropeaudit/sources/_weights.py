"""Which weight files of a folder belong to the model, and what they hold of interest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ropeaudit.errors import InvalidValue, SourceError, quoted, quoted_path
from ropeaudit.facts import InputFile, Note, Reading, StoredTable, StoredTensor
from ropeaudit.records import record, replace
from ropeaudit.sources import tensor_names
from ropeaudit.sources._files import RegularFile, status
from ropeaudit.sources._json import document_of
from ropeaudit.sources.interface import HEAD_BYTES, MAX_HEADER_BYTES

_NO_WEIGHTS = re.compile(r"^(?:training_args|optimizer|scheduler|rng_state|scaler|random_states)")
_SHARD = re.compile(r"^(.*)-\d{5}-of-(\d{5})\.safetensors$")
_TORCH = (".bin", ".pt", ".pth")
_CHECKPOINTS = (".ckpt", ".chk")


@record()
class Weights:
    """Weight files that were found but not yet read; ``read`` raises SourceError."""

    found: bool
    format: str
    read: Callable[[], Reading]


def stored(path: Path, names: frozenset[str], index: str | None = None) -> Weights:
    """The weights that a loader would take from the folder ``path`` with files ``names``.

    safetensors before PyTorch, a single file before an index, an index before loose files;
    ``index`` names the index to use instead.
    """
    if index is None:
        plain = sorted(n for n in names if n.endswith(".safetensors"))
        whole = next((n for n in plain if n == "model.safetensors"), None)
        if whole is not None:
            return _safetensors([path / whole])
        indexes = [n for n in names if n.endswith(".safetensors.index.json")]
        index = min(indexes, key=lambda n: (n.count("."), n), default=None)  # variants have dots
        if index is None and plain:
            # Repositories of Mistral and Meta hold the same weights twice.
            loose = [n for n in plain if not n.startswith("consolidated")] or plain
            _require_series(path, loose)
            return _safetensors([path / n for n in loose])
    if index is None:
        return _torch_folder(path, names)
    return _indexed(path, index)


def _safetensors(paths: Sequence[Path], index: InputFile | None = None) -> Weights:
    def read() -> Reading:
        from ropeaudit.sources import safetensors

        reading = safetensors.read_many(paths, target=str(paths[0].parent))
        return reading if index is None else replace(reading, files=(index, *reading.files))

    return Weights(True, "safetensors", read)


def _indexed(path: Path, index: str) -> Weights:
    file = path / index

    def read() -> Reading:
        weight_map, size = _weight_map(file)
        shards = _shards(weight_map, file)
        own = InputFile(path=str(file), format="shard-index", bytes_read=size)
        if all(name.endswith(".safetensors") for name in shards):
            return _safetensors([path / n for n in shards], own).read()
        if not any(map(tensor_names.interesting, weight_map)):
            return Reading(target=str(file), format="torch", files=(own,))
        from ropeaudit.sources import torch_file

        return torch_file.read(file, target=str(file))

    return Weights(True, "safetensors" if ".safetensors." in index else "torch", read)


def _weight_map(file: Path) -> tuple[dict[str, Any], int]:
    """Tensor names and the shards that hold them, with the bytes read."""
    with RegularFile(file) as opened:
        opened.head(HEAD_BYTES)
        data = opened.all(MAX_HEADER_BYTES, "a shard index")
    weight_map = document_of(data, str(file)).data.get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise InvalidValue(
            f"{quoted_path(file)} has no weight_map, expected an object of tensor names and shards",
            where="/weight_map",
        )
    return weight_map, len(data)


def _shards(weight_map: dict[str, Any], file: Path) -> list[str]:
    """Names of all shards, sorted; raises SourceError for missing ones and impossible names."""
    values = weight_map.values()
    names = set(values) if set(map(type, values)) == {str} else None
    if names is None or not all(map(_inside, names)):
        tensor, shard = next(item for item in weight_map.items() if not _inside(item[1]))
        raise InvalidValue(
            f"{quoted_path(file)} puts the tensor {quoted(tensor)} into {quoted(shard)}, "
            "expected a file name inside the same folder",
            where="/weight_map",
        )
    _require_all(file, names)
    return sorted(names)


def _inside(shard: Any) -> bool:
    """Whether ``shard`` is a name inside the index's own folder; an index may not lead out."""
    parts = Path(shard).parts if isinstance(shard, str) else ()
    return bool(parts) and parts[0] != "/" and ".." not in parts and "\0" not in shard


def _require_all(file: Path, shards: Iterable[str]) -> None:
    missing = []
    for name in sorted(shards):
        try:
            status(file.parent / name)
        except SourceError:
            missing.append(name)
    if missing:
        raise _missing(file, missing)


def _require_series(path: Path, names: Sequence[str]) -> None:
    """Raises SourceError where files are numbered ``-00001-of-00004`` and some are not there."""
    missing = []
    for stem, count in {(m[1], m[2]) for m in map(_SHARD.search, names) if m}:
        wanted = [f"{stem}-{i:05}-of-{count}.safetensors" for i in range(1, 1 + int(count))]
        missing += [n for n in wanted if n not in names]
    if missing:
        raise _missing(path, sorted(missing))


def _missing(place: Path, missing: Sequence[str]) -> SourceError:
    listed = ", ".join(quoted(n) for n in missing[:4])
    more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
    count = "a shard" if len(missing) == 1 else f"{len(missing)} shards"
    return SourceError(
        f"{quoted_path(place)} lacks {count}, missing or unreadable: {listed}{more}; "
        "download them, or audit config.json alone"
    )


def training_checkpoints(path: Path, names: frozenset[str]) -> Weights:
    """The one checkpoint that a training loop left in ``path``; raises SourceError for several.

    Only where nothing else lies there: such files often hold more than weights, and a model that
    was meant to be loaded has other files.
    """
    files = sorted(n for n in names if n.endswith(_CHECKPOINTS) and not _NO_WEIGHTS.match(n))
    if len(files) > 1:
        listed = ", ".join(quoted(n) for n in files[:5])
        raise SourceError(
            f"the folder {quoted_path(path)} holds {len(files)} checkpoints ({listed}); name one"
        )
    return Weights(bool(files), "torch", lambda: _torch([path / n for n in files]))


def _torch_folder(path: Path, names: frozenset[str]) -> Weights:
    files = sorted(n for n in names if n.endswith(_TORCH) and not _NO_WEIGHTS.match(n))
    if "pytorch_model.bin" in files:
        files = ["pytorch_model.bin"]
    elif "pytorch_model.bin.index.json" in names:
        return _indexed(path, "pytorch_model.bin.index.json")
    elif any(n.startswith("consolidated.") for n in files):
        files = [n for n in files if n.startswith("consolidated.")][:1]  # all hold the same table
    return Weights(bool(files), "torch", lambda: _torch([path / n for n in files]))


def _torch(paths: Sequence[Path]) -> Reading:
    """The tables in PyTorch files; those whose pickle names nothing of interest stay closed."""
    from ropeaudit.sources._torch_peek import may_tell

    tables: list[StoredTable] = []
    tensors: dict[str, StoredTensor] = {}
    config = None
    files: list[InputFile] = []
    notes: list[Note] = []
    for path in paths:
        touched = may_tell(path)
        if touched is not None:
            files.append(InputFile(path=str(path), format="torch", bytes_read=touched))
            continue
        from ropeaudit.sources import torch_file

        reading = torch_file.read(path, target=str(path))
        tables += reading.tables
        config = config or reading.stored_config
        for tensor in reading.tensors:
            other = tensors.setdefault(tensor.name, tensor)
            if other is not tensor:
                raise SourceError(
                    f"{quoted_path(other.location.file)} and {quoted_path(path)} both hold the "
                    f"parameter {quoted(tensor.name)}; they are several models, name one"
                )
        files += reading.files
        notes += reading.notes
    return Reading(
        target="",
        format="torch",
        tables=tuple(tables),
        tensors=tuple(tensors.values()),
        stored_config=config,
        files=tuple(files),
        notes=tuple(notes),
    )
