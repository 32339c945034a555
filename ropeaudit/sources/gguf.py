"""GGUF files, versions 2 and 3, both byte orders, single or split; standard library only.

Read are the header and at most a handful of small tensors (``rope_freqs.weight`` and its kin);
tokenizer arrays are stepped over and weights are never touched.
"""

from __future__ import annotations

import mmap
import re
from math import prod
from pathlib import Path
from typing import NamedTuple

from ropeaudit.errors import InvalidValue, SourceError, TruncatedFile, quoted
from ropeaudit.facts import InputFile, Location, Note, Reading, StoredTable
from ropeaudit.sources._files import RegularFile, failure
from ropeaudit.sources._floats import WIDTH, decode
from ropeaudit.sources._gguf_walk import MAGIC, Header, TensorInfo, walk

FORMAT = "gguf"
SUFFIXES = (".gguf",)

MAX_VALUES = 65_536
"""Entries of a frequency table; the widest head known has 512 channels."""
MAX_SHARDS = 4096

_SPLIT = re.compile(r"^(?P<stem>.*)-(?P<at>\d{5})-of-(?P<of>\d{5})\.gguf$", re.DOTALL)
_TABLE = re.compile(
    r"^(?:blk\.(?P<layer>\d{1,6})\.)?"
    r"(?P<role>rope_freqs|rope_factors_long|rope_factors_short|attn_rot_embd)(?:\.weight)?$"
)
_ROLES = {"rope_freqs": "rope_factors", "attn_rot_embd": "inv_freq"}
_DTYPES = {0: "float32", 1: "float16", 28: "float64", 30: "bfloat16"}
# Values and bytes of one block, and the ggml types of that size (ggml/src/ggml.c, type_traits).
_BLOCKS = {
    kind: (values, width)
    for values, width, kinds in (
        (1, 1, (24,)),
        (1, 2, (1, 25, 30)),
        (1, 4, (0, 26)),
        (1, 8, (27, 28)),
        (32, 17, (39,)),
        (32, 18, (2, 20)),
        (32, 20, (3,)),
        (32, 22, (6,)),
        (32, 24, (7,)),
        (32, 34, (8,)),
        (32, 36, (9,)),
        (64, 36, (40,)),
        (256, 50, (19,)),
        (256, 54, (34,)),
        (256, 56, (29,)),
        (256, 66, (16, 35)),
        (256, 74, (17,)),
        (256, 82, (22,)),
        (256, 84, (10,)),
        (256, 98, (18,)),
        (256, 110, (11, 21)),
        (256, 136, (23,)),
        (256, 144, (12,)),
        (256, 176, (13,)),
        (256, 210, (14,)),
        (256, 292, (15,)),
    )
    for kind in kinds
}


class _Shard(NamedTuple):
    header: Header
    tables: tuple[StoredTable, ...]
    read: InputFile


def sniff(head: bytes, path: Path) -> bool:
    """Whether the content begins with the GGUF magic; both byte orders write it alike."""
    return head[:4] == MAGIC


def read(path: Path, *, target: str) -> Reading:
    """Metadata, tensor names and frequency factors of a GGUF file; of all shards when it is split.

    ``metadata`` maps keys to numbers, booleans, texts or short lists; a key whose value is a long
    array or text has None. ``tables`` have the roles ``rope_factors``, ``rope_factors_long``,
    ``rope_factors_short`` or ``inv_freq``. Raises TruncatedFile, InvalidValue, LfsPointer or
    SourceError (a shard is missing).
    """
    own = _shard(path)
    count = own.header.metadata.get("split.count") or 1
    shards = [own]
    if count != 1:
        paths = _shard_paths(path)
        _check_split(paths, count, path)
        shards = [own if p == path else _shard(p) for p in paths]
        for shard in shards:
            _check_member(shard, count)
    header = shards[0].header
    names = tuple(t.name for s in shards for t in s.header.tensors)
    tables = tuple(t for s in shards for t in s.tables)
    return Reading(
        target=target,
        format=FORMAT,
        metadata=header.metadata,
        tables=tables,
        tensor_names=names,
        files=tuple(s.read for s in shards),
        notes=_notes(header),
    )


def _notes(header: Header) -> tuple[Note, ...]:
    if header.order == "<":
        return ()
    return (Note("byte_order", "the file is big-endian; its numbers were swapped on reading"),)


def _shard_paths(path: Path) -> list[Path]:
    """All shards that the file's name promises, the first one first; else the file alone."""
    match = _SPLIT.match(path.name)
    if match is None or not 1 < int(match["of"]) <= MAX_SHARDS:
        return [path]
    count = int(match["of"])
    names = (f"{match['stem']}-{n:05d}-of-{count:05d}.gguf" for n in range(1, count + 1))
    return [path.with_name(name) for name in names]


def _check_split(paths: list[Path], count: object, path: Path) -> None:
    if count != len(paths):
        raise InvalidValue(
            f"{quoted(str(path))} is one of {quoted(count)} shards by its key split.count, and "
            f"its name means {len(paths)}; give the shards their names -00001-of-0000N.gguf back",
            where="split.count",
        )
    missing = [p.name for p in paths if not p.exists()]
    if missing:
        raise SourceError(
            f"{quoted(str(path))} is split, and {quoted(missing[0])} is missing beside it "
            f"({len(missing)} of {len(paths)} shards are); its frequency factors may be in there, "
            "so download all shards",
            where=missing[0],
        )


def _check_member(shard: _Shard, count: object) -> None:
    found = shard.header.metadata.get("split.count")
    if found != count:
        raise InvalidValue(
            f"{quoted(shard.read.path)} has split.count {quoted(found)} and its neighbour has "
            f"{quoted(count)}; the shards are of different models",
            where="split.count",
        )


def _shard(path: Path) -> _Shard:
    name = str(path)
    with RegularFile(path) as file:
        file.head(512)
        try:
            mapped = mmap.mmap(file.fileno(), file.size, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise failure(path, error) from None
        with mapped as buf:
            header = walk(buf, name)
            _check_end(header, file.size, name)
            tables = tuple(
                _table(header, info, match, buf, name)
                for info in header.tensors
                if (match := _TABLE.match(info.name)) is not None
            )
    touched = header.end + sum(len(t.values) * WIDTH[t.dtype] for t in tables)
    return _Shard(header, tables, InputFile(path=name, format=FORMAT, bytes_read=touched))


def _check_end(header: Header, size: int, file: str) -> None:
    """Refuses a file that ends before its last tensor does, such as a broken download."""
    need = header.end
    for info in header.tensors:
        values, width = _BLOCKS.get(info.kind, (0, 0))
        length = prod(info.dims) // values * width if values else 0
        need = max(need, header.data + info.offset + length)
    if need > size:
        raise TruncatedFile(
            f"{quoted(file)} ends at byte {size}, and its tensors need {need} bytes; "
            "copy or download it again",
            where=f"byte {size}",
        )


def _table(
    header: Header, info: TensorInfo, match: re.Match[str], buf: mmap.mmap, file: str
) -> StoredTable:
    where = quoted(info.name)
    if info.kind not in _DTYPES:
        raise InvalidValue(
            f"the tensor {where} of {quoted(file)} has ggml type {info.kind}, expected F32, F16 "
            "or BF16; frequency factors are never quantised, so convert the model again",
            where=info.name,
        )
    count = prod(info.dims)
    if not 0 < count <= MAX_VALUES:
        raise InvalidValue(
            f"the tensor {where} of {quoted(file)} has {count} values, expected 1 to {MAX_VALUES}",
            where=info.name,
        )
    dtype = _DTYPES[info.kind]
    width = WIDTH[dtype]
    start = header.data + info.offset
    return StoredTable(
        name=info.name,
        values=decode(buf[start : start + count * width], dtype, big=header.order == ">"),
        dtype=dtype,
        shape=info.dims,
        location=Location(file=file, tensor=info.name),
        role=_ROLES.get(match["role"], match["role"]),
        layer=int(match["layer"]) if match["layer"] else None,
    )
