"""From a target to a Reading: the one door to all sources.

A config is recognised by its first character and read at once, because most targets are configs
and importing every other source would cost more than the audit. Everything else is offered to all
sources; the content decides, the suffix only breaks ties.
"""

from __future__ import annotations

import stat
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

from ropeaudit.errors import (
    InvalidValue,
    SourceError,
    TruncatedFile,
    UnrecognisedFormat,
    quoted,
    quoted_path,
)
from ropeaudit.facts import Note, Reading
from ropeaudit.records import replace
from ropeaudit.sources._files import RegularFile, refuse_pointer, status
from ropeaudit.sources._json import opening_bracket
from ropeaudit.sources.interface import HEAD_BYTES, MAX_CONFIG_BYTES, MAX_TABLE_BYTES, Source

_HELPERS = frozenset({"interface", "opening", "overrides", "tensor_names"})
_OTHERS = (
    (b"<", "it looks like a web page, perhaps a download's error page; download it again"),
    (b"\x1f\x8b", "it is gzip-compressed; unpack it first"),
    (b"\x89HDF", "it is HDF5, which holds no rotary tables that are known"),
    (b"%YAML", "it is YAML; convert it to JSON"),
    (b"\x28\xb5\x2f\xfd", "it is zstd-compressed; unpack it first"),
    (b"BZh", "it is bzip2-compressed; unpack it first"),
    (b"\xfd7zXZ", "it is xz-compressed; unpack it first"),
)
_EMPTY = ("insufficient", "no_rotary")
EXPECTED = (
    "expected config.json, params.json, safetensors, GGUF, a PyTorch checkpoint "
    "or a table (JSON list, npy, npz, csv)"
)


def open_target(target: str, *, offline: bool = False, stdin: bytes | None = None) -> Reading:
    """Read a path, ``-`` (standard input) or ``hf:org/name[@revision]``.

    An existing path always wins over the other two meanings. ``stdin`` are the bytes of standard
    input when the caller holds them already. Raises SourceError with one clear sentence.
    """
    path = Path(target)
    if target.startswith("hf:") and not _exists(path):
        found: Reading = import_module("ropeaudit.sources.hub").read(target, offline=offline)
        return _judged(found)
    if target == "-" and not _exists(path):
        return _judged(_standard_input(stdin))
    if not target:
        raise SourceError("the target is an empty string; give a path, - or hf:org/name")
    try:
        mode = status(path).st_mode
    except SourceError as error:
        raise _suggest_hub(target, error) from None
    if stat.S_ISDIR(mode):
        from ropeaudit.sources import _folder

        return _judged(_folder.read(path, target=target))
    return _judged(_file(path, target))


@cache
def sources() -> tuple[Source, ...]:
    """Every source of this package, by module name; imports them all."""
    import pkgutil

    import ropeaudit.sources as package

    found = []
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_") or info.name in _HELPERS:
            continue
        module = import_module(f"{package.__name__}.{info.name}")
        if hasattr(module, "sniff"):
            found.append(module)
    return tuple(found)


def claimant(head: bytes, path: Path) -> Source | None:
    """The source for a file that begins with ``head``; None when none claims it.

    Raises UnrecognisedFormat naming both when two claim the content and the suffix does not tell.
    """
    everyone = sources()
    suffix = path.suffix.lower()
    claims = [s for s in everyone if s.sniff(head, path)]
    if len(claims) > 1:
        claims = [s for s in claims if suffix in s.SUFFIXES] or claims
    if len(claims) > 1:
        names = " and ".join(s.FORMAT for s in claims)
        raise UnrecognisedFormat(
            f"{quoted_path(path)} can be read as {names}; give it the suffix of what it is"
        )
    if claims:
        return claims[0]
    # Nobody claims the content: the source that the suffix names can say best what is wrong.
    return next((s for s in everyone if suffix in s.SUFFIXES), None)


def _judged(reading: Reading) -> Reading:
    """``reading``, with a note where it holds nothing that any schedule can come from."""
    if reading.document is not None or reading.metadata is not None:
        return reading
    if any(t.values for t in reading.tables) or any(n.kind in _EMPTY for n in reading.notes):
        return reading
    note = Note(
        "insufficient",
        f"no tensor of {quoted_path(reading.target)} holds rotary frequencies, as is usual: they "
        "follow from the config, so audit its folder or its config.json",
    )
    return replace(reading, notes=(*reading.notes, note))


def _file(path: Path, target: str) -> Reading:
    with RegularFile(path) as file:
        head = file.head(HEAD_BYTES)
        bracket = opening_bracket(head)
        if bracket is not None:
            rest = b""
            if file.size > len(head):
                rest = file.all(MAX_CONFIG_BYTES, "a config")[len(head) :]
            return _json(bracket, head + rest, target=target, path=path)
    source = claimant(head, path)
    if source is None or not source.sniff(head, path):
        _refuse_other(head, path, source)
    if source is None:
        raise UnrecognisedFormat(
            f"{quoted_path(target)} is in no known format (it begins with bytes "
            f"{head[:8].hex(' ')}); {EXPECTED}"
        )
    return source.read(path, target=target)


def _refuse_other(head: bytes, path: Path, named: Source | None) -> None:
    """Raises for content that plainly is something else, whatever the suffix says."""
    other = next((text for mark, text in _OTHERS if head.lstrip().startswith(mark)), None)
    if other is not None and named is not None:
        raise InvalidValue(f"{quoted_path(path)} is no {named.FORMAT} file: {other}")
    if other is not None:
        raise UnrecognisedFormat(f"{quoted_path(path)} is in no known format: {other}")


def _json(bracket: str, data: bytes, *, target: str, path: Path | None) -> Reading:
    if bracket == "{":
        from ropeaudit.sources import hf_config

        return hf_config.read_bytes(data, target=target, path=path)
    from ropeaudit.sources import raw_table

    return raw_table.read_bytes(data, target=target, path=path)


def _standard_input(data: bytes | None) -> Reading:
    if data is None:
        if sys.stdin is None:
            raise SourceError("standard input is closed; give a path, or pipe a config in")
        data = sys.stdin.buffer.read(MAX_TABLE_BYTES + 1)
    if len(data) > MAX_TABLE_BYTES:
        raise UnrecognisedFormat(
            f"standard input has more than {MAX_TABLE_BYTES} bytes; give the file's path instead"
        )
    if not data.strip():
        raise TruncatedFile("standard input is empty, expected a config.json or a table of numbers")
    refuse_pointer(data[:1024], "-")
    return _json(opening_bracket(data[:HEAD_BYTES]) or "[", data, target="-", path=None)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _suggest_hub(target: str, error: SourceError) -> SourceError:
    parts = target.split("/")
    if len(parts) != 2 or not all(parts) or "does not exist" not in str(error):
        return error
    return SourceError(f"{error}, or write hf:{quoted(target)} if it is a model on the hub")
