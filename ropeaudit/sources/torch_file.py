"""PyTorch checkpoints, single (``.bin``, ``.pt``, ``.ckpt``) and sharded (``pytorch_model.bin``).

Storages are memory-mapped, so of 15 GB of weights only the tables are read. Opening is the business
of ``_torch_load``: nothing is ever unpickled freely.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue, quoted, quoted_path
from ropeaudit.facts import InputFile, Note, Reading
from ropeaudit.sources import tensor_names as names
from ropeaudit.sources._files import RegularFile
from ropeaudit.sources._json import document_of
from ropeaudit.sources._torch_load import PICKLE, ZIP, load, torch_module
from ropeaudit.sources._torch_tables import Collected, collect
from ropeaudit.sources.interface import MAX_CONFIG_BYTES

FORMAT = "torch"
SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".chk")
INDEX_SUFFIX = ".bin.index.json"

MAX_DEPTH = 8
"""Levels of dicts in a checkpoint; the deepest known (Lightning with callbacks) has five."""
MAX_NAMES = 2_000_000

_CONTAINERS = ("state_dict", "model_state_dict", "model", "module")
_CONFIGS = ("config", "hyper_parameters", "args")
"""Where a training loop keeps its settings, in Lightning the second."""
_NOT_WEIGHTS = frozenset(
    {"optimizer", "optimizers", "optimizer_states", "optimizer_state_dict", "lr_schedulers",
     "lr_scheduler", "scheduler", "callbacks", "loops", "amp_scaling_state"}
)  # fmt: skip


def sniff(head: bytes, path: Path) -> bool:
    """A zip whose first entry is torch's, a pickle, or the index of a sharded checkpoint."""
    if head.startswith(ZIP):
        return _is_torch_zip(head, path)
    if head[:2] in PICKLE:
        return True
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return start.startswith(b"{") and path.name.endswith(INDEX_SUFFIX)


def read(path: Path, *, target: str) -> Reading:
    """The small tables of one checkpoint, or of all shards that an index names.

    Raises MissingDependency without torch, UnsafePickle for what needs code from the file to run,
    TruncatedFile, LfsPointer and InvalidValue for damaged files.
    """
    torch = torch_module()
    if path.name.endswith(INDEX_SUFFIX):
        return _read_index(torch, path, target)
    into = Collected()
    found, header = load(torch, path)
    if not isinstance(found, Mapping | list | tuple | torch.Tensor):
        raise InvalidValue(
            f"{quoted_path(path)} holds a {type(found).__name__}, expected a state dict"
        )
    tensors = dict(_named(torch, found))
    collect(tensors.items(), str(path), into)
    return Reading(
        target=target,
        format=FORMAT,
        tables=tuple(into.tables),
        tensors=tuple(into.tensors),
        stored_config=_config(found, str(path)),
        tensor_names=tuple(tensors),
        files=(InputFile(path=str(path), format=FORMAT, bytes_read=header + into.bytes_read),),
        notes=tuple(into.notes),
    )


def _is_torch_zip(head: bytes, path: Path) -> bool:
    # The first entry is <name>/data.pkl, or in older versions <name>/version.
    length = int.from_bytes(head[26:28], "little")
    if head[30 : 30 + length].endswith((b"/data.pkl", b"/version")):
        return True
    try:
        with zipfile.ZipFile(path) as archive:
            return any(n.endswith("/data.pkl") for n in archive.namelist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def _named(torch: Any, content: Any) -> Iterator[tuple[str, Any]]:
    """Tensors by dotted path; the one container that holds the weights adds no step."""
    if isinstance(content, torch.Tensor):
        # torch.save(inv_freq, path): one axis can only be meant as a table.
        yield ("inv_freq" if content.dim() == 1 else "tensor"), content
        return
    if isinstance(content, Mapping):
        inner = next(
            (k for k in _CONTAINERS if isinstance(content.get(k), Mapping) and content[k]), None
        )
        if inner is not None and not any(
            isinstance(v, torch.Tensor) and isinstance(k, str) and "." in k
            for k, v in content.items()
        ):
            yield from _walk(torch, content[inner])
            content = {k: v for k, v in content.items() if k != inner}
    yield from _walk(torch, content)


def _config(content: Any, file: str) -> Document | None:
    """The settings that a checkpoint keeps beside its weights; None where it keeps none."""
    if not isinstance(content, Mapping):
        return None
    found = next((content[k] for k in _CONFIGS if isinstance(content.get(k), Mapping)), None)
    if not found:
        return None
    from ropeaudit.sources._live_config import document_of

    return document_of(found, file)


def _walk(torch: Any, content: Any) -> Iterator[tuple[str, Any]]:
    pending: list[tuple[str, Any, int]] = [("", content, 0)]
    seen: set[int] = set()
    count = 0
    while pending:
        prefix, node, depth = pending.pop()
        if depth > MAX_DEPTH or id(node) in seen:  # a pickle may contain itself
            continue
        seen.add(id(node))
        items = node.items() if isinstance(node, Mapping) else enumerate(node)
        for key, value in items:
            name = f"{prefix}{key}"
            count += 1
            if count > MAX_NAMES:
                return
            if isinstance(value, torch.Tensor):
                yield name, value
            elif _holds_more(value) and key not in _NOT_WEIGHTS:
                pending.append((f"{name}.", value, depth + 1))


def _holds_more(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list | tuple) and any(isinstance(v, Mapping) for v in value)


def _read_index(torch: Any, path: Path, target: str) -> Reading:
    weight_map = _weight_map(path)
    into = Collected()
    files = [InputFile(path=str(path), format=FORMAT, bytes_read=path.stat().st_size)]
    wanted: dict[str, list[str]] = {}
    for name, shard in weight_map.items():
        if names.interesting(name):
            wanted.setdefault(shard, []).append(name)
    for shard in sorted(set(weight_map.values())):
        file = path.parent / shard
        if shard in wanted:
            if not file.is_file():
                raise InvalidValue(
                    f"{quoted(str(path))} names the shard {quoted(shard)}, which is missing; "
                    "download it again",
                    where=wanted[shard][0],
                )
            content, header = load(torch, file)
            before = into.bytes_read
            tensors = dict(_named(torch, content))
            collect(((n, tensors[n]) for n in wanted[shard] if n in tensors), str(file), into)
            used = header + into.bytes_read - before
            files.append(InputFile(path=str(file), format=FORMAT, bytes_read=used))
        elif not file.is_file():
            into.notes.append(
                Note("missing_shard", f"the shard {quoted(shard)} is missing; it holds no tables")
            )
    return Reading(
        target=target,
        format=FORMAT,
        tables=tuple(into.tables),
        tensors=tuple(into.tensors),
        tensor_names=tuple(weight_map),
        files=tuple(files),
        notes=tuple(into.notes),
    )


def _weight_map(path: Path) -> dict[str, str]:
    with RegularFile(path) as file:
        data = file.all(MAX_CONFIG_BYTES, "an index")
    found = document_of(data, str(path)).data.get("weight_map")
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        raise InvalidValue(
            f"{quoted(str(path))} has no weight_map of tensor names to file names",
            where="/weight_map",
        )
    for shard in set(found.values()):
        # An index is foreign text: it must not lead out of its folder.
        parts = PurePath(shard.replace("\\", "/")).parts
        if not parts or ".." in parts or parts[0] == "/" or "\0" in shard:
            raise InvalidValue(
                f"{quoted(str(path))} names the shard {quoted(shard)}, "
                "expected a file inside its folder",
                where="/weight_map",
            )
    return dict(found)
