"""Writing the proposal in the place of the file: whole or not at all.

The new text is written to a file beside it, forced to the disk and renamed, with the owner and the
permissions of the old one. A symbolic link is refused: what it leads to is often shared, as in the
cache of the hub, where a file's name is the digest of its content.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from ropeaudit.errors import UsageError, quoted_path
from ropeaudit.normalise import _bytes
from ropeaudit.normalise.interface import Normalised
from ropeaudit.records import replace


def write(found: Normalised) -> Normalised:
    """``found`` with its proposal in the file; as it is where there is nothing to write.

    Raises UsageError where the file cannot be written, is a link, or has changed since it was read.
    """
    if found.status != "changed":
        return found
    if found.file is None:
        raise UsageError(
            f"{quoted_path(found.target)} is no file that can be written; save it to a folder "
            "first, or take the proposal from -f diff"
        )
    path = Path(found.file)
    try:
        _check(path, found.content)
        _put(path, _bytes.encoded(found.after, found.content))
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"{quoted_path(path)} cannot be written: {reason}") from None
    return replace(found, written=True)


def _check(path: Path, content: bytes) -> None:
    if path.is_symlink():
        raise UsageError(
            f"{quoted_path(path)} is a symbolic link to {quoted_path(path.readlink())}, which "
            "other folders may share; name that file, or replace the link by a copy first"
        )
    if not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise UsageError(f"{quoted_path(path)} is read-only; make it writable first")
    if path.read_bytes() != content:
        raise UsageError(f"{quoted_path(path)} has changed since it was read; run again")


def _put(path: Path, data: bytes) -> None:
    old = path.stat()
    number, name = tempfile.mkstemp(prefix=f".{path.name[:64]}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError, AttributeError):  # only root may give files away; Windows has none
            os.chown(name, old.st_uid, old.st_gid)
        temporary.chmod(stat.S_IMODE(old.st_mode))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    """The renaming itself on the disk, where folders can be synchronised."""
    with suppress(OSError, AttributeError):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
