"""A file of text, or a folder of them: UTF-8, taken as it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ropeaudit.errors import SourceError, UsageError, quoted_path
from ropeaudit.perplexity.corpora.interface import LARGEST, corpus
from ropeaudit.perplexity.records import Corpus
from ropeaudit.sources._files import RegularFile, failure, refuse_pointer

NAMES: dict[str, str] = {}
SUFFIXES = (".adoc", ".asc", ".markdown", ".md", ".org", ".rst", ".tex", ".text", ".txt")
"""Endings that are read in a folder; a file that is named itself may have any."""
_BOM = b"\xef\xbb\xbf"


def claims(reference: str) -> bool:
    return os.path.lexists(_path(reference))


def load(reference: str, *, offline: bool) -> Corpus:
    """The file, or the folder's text files in the order of their paths, joined by an empty line.

    Line ends stay as they are; a byte order mark is left out. Hidden files and folders are passed
    over, links to folders are not followed. Raises SourceError, with file and byte, for what is not
    UTF-8 text; UsageError for a folder without text files.
    """
    path = _path(reference)
    if not path.is_dir():
        text = _read(path, LARGEST)
        return corpus(reference, text, quoted_path(path))
    found, others = _listing(path)
    if not found:
        raise UsageError(
            f"the folder {quoted_path(path)} holds no file of text; expected {', '.join(SUFFIXES)}"
        )
    parts, room = [], LARGEST
    for file in found:
        parts.append(_read(file, room))
        room -= file.stat().st_size
    source = f"{quoted_path(path)}: {len(found)} file{'s' * (len(found) > 1)}"
    if others:
        source += f", {others} of other kinds left out"
    return corpus(reference, "\n\n".join(parts), source)


def _path(reference: str) -> Path:
    return Path(reference.removeprefix("file://")).expanduser()


def _listing(folder: Path) -> tuple[list[Path], int]:
    """Text files below ``folder`` in the order of their paths, and how many others there are."""
    every = sorted(_walk(folder), key=lambda p: p.parts)
    found = [path for path in every if path.suffix.lower() in SUFFIXES]
    return found, len(every) - len(found)


def _walk(folder: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise failure(error.filename, error) from None

    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if name[0] != "."]
        yield from (Path(place, name) for name in names if name[0] != ".")


def _read(path: Path, room: int) -> str:
    with RegularFile(path) as file:
        if file.size > room:
            raise UsageError(
                f"the text is larger than {LARGEST >> 20:,} MiB with {quoted_path(path)}; take a "
                "part of it"
            )
        data = file.read(0, file.size)
    refuse_pointer(data[:1024], path)
    return _text(data, path)


def _text(data: bytes, path: Path) -> str:
    """``data`` as UTF-8; raises SourceError with the first byte that is not."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise SourceError(
            f"{quoted_path(path)} is UTF-16, expected UTF-8; convert it with iconv", where="byte 0"
        )
    if (at := data.find(b"\0")) >= 0:
        raise SourceError(
            f"{quoted_path(path)} is not text: there is a zero at byte {at}; name a file of text",
            where=f"byte {at}",
        )
    mark = 3 if data.startswith(_BOM) else 0
    try:
        return data[mark:].decode()
    except UnicodeDecodeError as error:
        at = mark + error.start
        raise SourceError(
            f"{quoted_path(path)} is not UTF-8 at byte {at} (0x{data[at]:02x}); convert it with "
            "iconv, or leave it out",
            where=f"byte {at}",
        ) from None
