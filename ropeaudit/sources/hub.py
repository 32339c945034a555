"""A model on a Hugging Face hub, audited without downloading it.

Fetched are the config, the shard index, safetensors headers and the bytes of the small tensors that
matter; never a weight. All of it comes from one commit, whatever is pushed meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ropeaudit.errors import InvalidValue, SourceError, UnrecognisedFormat, quoted
from ropeaudit.facts import InputFile, Note, Reading
from ropeaudit.records import replace
from ropeaudit.sources import tensor_names
from ropeaudit.sources._json import document_of
from ropeaudit.sources._remote import RemoteFile, Repository, connect
from ropeaudit.sources._safetensors_header import raw_header
from ropeaudit.sources.interface import MAX_CONFIG_BYTES, MAX_HEADER_BYTES
from ropeaudit.sources.safetensors import Gathered, collect

FORMAT = "hub"
PREFIX = "hf:"
WORKERS = 8
"""Shards fetched at once; hubs answer slowly rather than little."""
MAX_SHARDS = 4096
MAX_BASES = 3

_TARGET = re.compile(r"hf:(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[^\s@]{1,200}))?", re.ASCII)
_FOLDERS = ("", "transformer/", "unet/")
_CONFIGS = ("config.json", "params.json")
_TORCH = (".bin", ".pt", ".pth", ".ckpt")


def read(target: str, *, offline: bool) -> Reading:
    """``hf:org/name[@revision]``; raises SourceError with one sentence.

    ``offline`` forbids every request. Format ``hub``; ``files`` name what was fetched, with the
    bytes received.
    """
    match = _TARGET.fullmatch(target)
    if match is None:
        raise SourceError(
            f"{quoted(target)} is not a hub id, expected hf:org/name or hf:org/name@revision"
        )
    if offline:
        raise SourceError(
            f"{quoted(target)} needs the network, and --offline forbids it; download the model "
            "and give its folder"
        )
    return _read(target, match["repo"], match["revision"], 0)


def _read(target: str, repo: str, revision: str | None, depth: int) -> Reading:
    repository = connect(target, repo, revision)
    files = repository.files
    folder, config = next(
        ((f, c) for f in _FOLDERS for c in _CONFIGS if f"{f}{c}" in files), ("", None)
    )
    if config is None and "adapter_config.json" in files:
        return _adapter(repository, depth)
    found = Gathered()
    notes = [Note("revision", f"{quoted(repo)} was read at commit {quoted(repository.commit)}")]
    document, whole = None, {}
    if config is not None:
        place = f"{target}/{folder}{config}"
        whole[f"{folder}{config}"] = data = repository.whole(f"{folder}{config}", MAX_CONFIG_BYTES)
        document = document_of(data, place)
    if not _weights(repository, folder, found):
        if document is None:
            raise _nothing(repository)
        if any(n.startswith(folder) and n.endswith(_TORCH) for n in files):
            notes.append(
                Note(
                    "torch_skipped",
                    "the weights are in PyTorch files, which are not read over the network; "
                    "download them to compare stored tables",
                )
            )
    reading = found.reading(target)
    return replace(
        reading,
        format=FORMAT,
        document=document,
        files=tuple(
            InputFile(
                path=f"{target}/{name}", format=FORMAT, bytes_read=size, content=whole.get(name)
            )
            for name, size in repository.received.items()
        ),
        notes=(*notes, *reading.notes),
    )


def _weights(repository: Repository, folder: str, found: Gathered) -> bool:
    """Gathers the telling tensors of the weights; False where there are no safetensors."""
    inside = sorted(
        n for n in repository.files if n.startswith(folder) and "/" not in n[len(folder) :]
    )
    plain = [n for n in inside if n.endswith(".safetensors")]
    whole = next((n for n in plain if n[len(folder) :] == "model.safetensors"), None)
    index = next((n for n in inside if n.endswith(".safetensors.index.json")), None)
    if whole is not None:
        _gather(repository, [whole], found)
    elif index is not None:
        _gather(repository, _telling_shards(repository, folder, index), found)
    elif plain:
        # Repositories of Mistral and Meta hold the same weights twice.
        loose = [n for n in plain if not n[len(folder) :].startswith("consolidated")]
        _gather(repository, loose or plain, found)
    return bool(plain or index)


def _telling_shards(repository: Repository, folder: str, index: str) -> list[str]:
    place = f"{repository.target}/{index}"
    data = document_of(repository.whole(index, MAX_HEADER_BYTES), place).data
    weight_map = data.get("weight_map")
    if not isinstance(weight_map, dict):
        raise InvalidValue(
            f"{quoted(place)} has no weight_map of tensor names to file names", where="/weight_map"
        )
    wanted: dict[str, str] = {}
    for name, shard in weight_map.items():
        if not isinstance(shard, str):
            raise InvalidValue(
                f"{quoted(place)} puts the tensor {quoted(name)} into {quoted(shard)}, expected "
                "the name of a file",
                where="/weight_map",
            )
        if tensor_names.interesting(name):
            wanted.setdefault(f"{folder}{shard}", name)
    missing = sorted(set(wanted) - repository.files)
    if missing:
        raise SourceError(
            f"{quoted(place)} names the shard {quoted(missing[0])}, which the repository does not "
            "hold; its upload is incomplete",
            where=wanted[missing[0]],
        )
    return sorted(wanted)


def _gather(repository: Repository, names: Sequence[str], found: Gathered) -> None:
    if len(names) > MAX_SHARDS:
        raise InvalidValue(
            f"{quoted(repository.target)} holds {len(names)} shards, expected at most {MAX_SHARDS}"
        )

    def one(name: str) -> Gathered:
        own = Gathered()
        file = RemoteFile(repository, name, f"{repository.target}/{name}")
        # Eight bytes first: a longer guess would reach into the weights of a small file.
        start = file.read(0, 8)
        collect(file, raw_header(file, start), own)
        return own

    if len(names) == 1:
        parts = [one(names[0])]
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(WORKERS) as pool:
            parts = list(pool.map(one, names))
    for part in parts:
        found.tables += part.tables
        found.tensors += part.tensors
        found.names += part.names
        found.notes += part.notes
        found.rows |= part.rows


def _adapter(repository: Repository, depth: int) -> Reading:
    """An adapter rotates as its base does, so the base is read in its place."""
    place = f"{repository.target}/adapter_config.json"
    data = document_of(repository.whole("adapter_config.json", MAX_CONFIG_BYTES), place).data
    base, revision = data.get("base_model_name_or_path"), data.get("revision")
    note = Note("adapter", f"{quoted(repository.repo)} is an adapter of {quoted(base)}")
    own = InputFile(path=place, format=FORMAT, bytes_read=sum(repository.received.values()))
    match = _TARGET.fullmatch(f"{PREFIX}{base}") if isinstance(base, str) else None
    if match is None or match["revision"] is not None:
        left = f"the positions are those of the base {quoted(base)}; audit the base itself"
        notes = (note, Note("insufficient", left))
        return Reading(target=repository.target, format=FORMAT, files=(own,), notes=notes)
    if depth >= MAX_BASES:
        raise InvalidValue(
            f"{quoted(place)} names an adapter as its base, and that another, {depth} times; "
            "name the base model",
            where="/base_model_name_or_path",
        )
    reading = _read(
        f"{PREFIX}{base}", match["repo"], revision if isinstance(revision, str) else None, depth + 1
    )
    return replace(
        reading,
        target=repository.target,
        files=(own, *reading.files),
        notes=(note, *reading.notes),
    )


def _nothing(repository: Repository) -> SourceError:
    what = quoted(repository.target)
    gguf = sorted(n for n in repository.files if n.endswith(".gguf"))
    if gguf:
        return UnrecognisedFormat(
            f"{what} holds only GGUF files, which are not read over the network; download "
            f"{quoted(gguf[0])} and audit it"
        )
    return UnrecognisedFormat(
        f"{what} holds neither config.json, params.json nor safetensors "
        f"({len(repository.files)} other files); name another repository or revision"
    )
