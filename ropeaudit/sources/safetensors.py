"""safetensors files and shards: headers, and the few small tensors that tell how a model rotates.

Weights are never read. Of cached cosines and sines only the rows of positions 0 and 1 are.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ropeaudit.document import Document
from ropeaudit.errors import quoted
from ropeaudit.facts import InputFile, Location, Note, Reading, StoredTable, StoredTensor
from ropeaudit.records import field, record
from ropeaudit.sources import _variants
from ropeaudit.sources import tensor_names as names
from ropeaudit.sources._files import RegularFile
from ropeaudit.sources._floats import WIDTH, decode
from ropeaudit.sources._safetensors_header import (
    DTYPES,
    Entry,
    Ranged,
    entries,
    nothing_matters,
    raw_header,
)
from ropeaudit.sources._tensors import MAX_VALUES, in_file
from ropeaudit.sources.interface import HEAD_BYTES, MAX_HEADER_BYTES

FORMAT = "safetensors"
SUFFIXES: tuple[str, ...] = (".safetensors",)
MAX_LEARNED = 1 << 18
"""Values of a learned parameter that are read; the largest known has 49,152."""
MAX_NAMES = 4096


def sniff(head: bytes, path: Path) -> bool:
    """Whether ``head`` is a plausible header length followed by a JSON object."""
    length = int.from_bytes(head[:8], "little")
    return len(head) > 9 and 2 <= length <= MAX_HEADER_BYTES and head[8:9] == b"{"


def read(path: Path, *, target: str) -> Reading:
    """One file; raises SourceError."""
    found = Gathered()
    gather(path, found, skim=False)
    return found.reading(target)


def read_many(paths: Iterable[Path], *, target: str) -> Reading:
    """Shards of one model, in order; raises SourceError for the first that is broken."""
    found = Gathered()
    for path in paths:
        gather(path, found, skim=True)
    return found.reading(target)


def gather(path: Path, found: Gathered, *, skim: bool) -> None:
    """Add what ``path`` holds to ``found``; ``skim`` leaves headers unparsed that need not be."""
    with RegularFile(path) as file:
        raw = raw_header(file, file.head(HEAD_BYTES))
        if not (skim and nothing_matters(raw, file.size)):
            collect(file, raw, found)
        found.files.append(InputFile(path=str(path), format=FORMAT, bytes_read=file.touched))


def collect(file: Ranged, raw: bytes, found: Gathered) -> None:
    """Add the telling tensors of one open file, whose header is ``raw``, to ``found``."""
    found.config = found.config or _variants.config_of(raw, str(file.path))
    for name, entry in entries(raw, file).items():
        role = names.interesting(name)
        if role is None:
            continue
        if len(found.names) < MAX_NAMES:
            found.names.append(name)
        kept = names.readable(role, entry.shape)
        if kept is None:
            found.note(name, f"has shape {quoted(list(entry.shape))}, which is no rotary table")
        elif kept == names.CIS:
            _complex(file, name, entry, found)
        elif entry.dtype not in DTYPES:
            found.note(name, f"is stored as {entry.dtype}, which holds no frequencies")
        elif kept in (names.COS, names.SIN, names.COS_SIN):
            _cache(file, name, kept, entry, found)
        else:
            _table(file, name, kept, entry, found)


@record(frozen=False)
class Gathered:
    """What several shards yield together; caches wait here for their partner."""

    tables: list[StoredTable] = field(default_factory=list)
    tensors: list[StoredTensor] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    files: list[InputFile] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    rows: dict[str, Rows] = field(default_factory=dict)
    config: Document | None = None

    def note(self, name: str, what: str) -> None:
        if len(self.notes) < 32:  # one model repeats itself in every layer
            self.notes.append(names.unread(name, what, names.interesting(name)))

    def reading(self, target: str) -> Reading:
        """Everything gathered, with caches turned into angles."""
        for name in list(self.rows):
            self._pair(name)
        return Reading(
            target=target,
            format=FORMAT,
            tables=tuple(self.tables),
            tensors=tuple(self.tensors),
            stored_config=self.config,
            tensor_names=tuple(self.names),
            files=tuple(self.files),
            notes=tuple(self.notes),
        )

    def _pair(self, name: str) -> None:
        rows = self.rows.pop(name, None)
        if rows is None:
            return
        other = names.partner(name)
        partner = None if other is None else self.rows.pop(other, None)
        if partner is None or partner.width != rows.width:
            self.note(name, "has no partner, and cosines or sines alone give no angle")
            return
        cos, sin = (rows, partner) if rows.role == names.COS else (partner, rows)
        self.add_angles(cos, cos.values, sin.values)

    def add_angles(self, cache: Rows, cos: tuple[float, ...], sin: tuple[float, ...]) -> None:
        """The angles of position 1, from rows 0 and 1 (one behind the other) of a cache."""
        half = len(cos) // 2
        found = names.angles(cos[half:], sin[half:], cos[:half], sin[:half])
        if found is None:
            self.note(cache.name, names.why_no_angles(cos[half:], cos[:half], sin))
            return
        self.tables.append(
            StoredTable(
                name=names.unwrapped(cache.name),
                values=found,
                dtype=cache.dtype,
                shape=cache.shape,
                location=Location(file=cache.file, tensor=cache.name),
                role="cos_sin_cache",
                layer=names.layer_of(cache.name),
                attention_scaling=cos[0],  # row 0 is cos(0) times it
            )
        )


@record()
class Rows:
    """Rows 0 and 1 of a cache."""

    name: str
    role: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    width: int
    values: tuple[float, ...]


def _table(file: Ranged, name: str, role: str, entry: Entry, found: Gathered) -> None:
    values: tuple[float, ...] = ()
    dtype = DTYPES[entry.dtype]
    count = (entry.end - entry.begin) // WIDTH[dtype]
    converted = _variants.is_converted(found.config, name)
    if (role == names.LEARNED or converted) and count <= MAX_VALUES:
        found.tensors.append(in_file(file, name, entry, dtype))
    # Of generators and other blocks the table only says that they are there.
    if role != names.LEARNED or names.interesting(name) in (names.FREQS, names.INV_FREQ):
        if count > MAX_LEARNED:
            found.note(name, f"has {count} values, more than any learned encoding")
        else:
            values = decode(file.read(entry.begin, entry.end - entry.begin), dtype)
    found.tables.append(
        StoredTable(
            name=names.unwrapped(name),
            values=values,
            dtype=dtype,
            shape=entry.shape,
            location=Location(file=str(file.path), tensor=name),
            role=role,
            layer=names.layer_of(name),
        )
    )


def _cache(file: Ranged, name: str, role: str, entry: Entry, found: Gathered) -> None:
    size = names.cache_rows(entry.shape)
    if size is None:
        return
    width, dtype = size[1], DTYPES[entry.dtype]
    values = decode(file.read(entry.begin, 2 * width * WIDTH[dtype]), dtype)
    rows = Rows(name, role, str(file.path), dtype, entry.shape, width, values)
    if role != names.COS_SIN:
        found.rows[name] = rows
        return
    half, odd = divmod(width, 2)
    if odd:
        found.note(name, f"has rows of {width} values, which is not cosines and as many sines")
        return
    found.add_angles(
        rows,
        values[:half] + values[width : width + half],
        values[half:width] + values[width + half :],
    )


def _complex(file: Ranged, name: str, entry: Entry, found: Gathered) -> None:
    size = names.cache_rows(entry.shape)
    if size is None or entry.dtype != "C64":
        found.note(name, f"is stored as {entry.dtype}, expected complex numbers")
        return
    values = decode(file.read(entry.begin, 16 * size[1]), "float32")
    rows = Rows(name, names.CIS, str(file.path), "float32", entry.shape, size[1], values)
    found.add_angles(rows, values[::2], values[1::2])
