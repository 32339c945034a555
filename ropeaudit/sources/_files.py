"""Files as every source reads them: regular, bounded, and with one clear sentence when it fails.

A target may be a FIFO, a device, a loop of links or a pointer left by Git LFS; opening those
blindly hangs, or reads the wrong thing. Positioned reads keep a count of the bytes touched.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import TracebackType

from ropeaudit.errors import InvalidValue, LfsPointer, SourceError, TruncatedFile, quoted_path

_REASONS = {
    errno.ENOENT: "does not exist; check the spelling",
    errno.ENOTDIR: "does not exist: a part of the path is a file, not a folder",
    errno.EACCES: "cannot be read: permission denied; ask its owner for read access",
    errno.EPERM: "cannot be read: permission denied; ask its owner for read access",
    errno.ELOOP: "is a loop of symbolic links; point at the real file",
    errno.ENAMETOOLONG: "is longer than a path can be",
}
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a folder"),
)
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_LFS = (b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/")
_ANNEX = b"/annex/objects/"


def failure(path: object, error: OSError | ValueError) -> SourceError:
    """What the operating system said about ``path``, as one sentence."""
    if isinstance(error, OSError):
        reason = _REASONS.get(error.errno or 0) or f"cannot be read: {error.strerror or error}"
    else:  # a NUL character in a path is a ValueError
        reason = "is not a possible path"
    return SourceError(f"{quoted_path(path)} {reason}")


def status(path: Path | str) -> os.stat_result:
    """``os.stat`` with links followed; raises SourceError."""
    try:
        return os.stat(path)  # noqa: PTH116 (a str costs less than a Path, and this is hot)
    except (OSError, ValueError) as error:
        raise failure(path, error) from None


class RegularFile:
    """A regular file opened for positioned reads; a context manager.

    ``size`` in bytes; ``touched`` counts the bytes read so far. Raises SourceError when ``path``
    cannot be opened or is a pipe, a device, a socket or a folder, none of which is ever opened for
    reading content.
    """

    __slots__ = ("_fd", "path", "size", "touched")

    def __init__(self, path: Path | str) -> None:
        self.path = path
        self.touched = 0
        _require_regular(path, status(path).st_mode)
        try:
            # Without O_NONBLOCK a pipe that took the file's place since would hang the open.
            self._fd = os.open(path, _FLAGS)
        except (OSError, ValueError) as error:
            raise failure(path, error) from None
        found = os.fstat(self._fd)
        self.size = found.st_size
        if not stat.S_ISREG(found.st_mode):
            os.close(self._fd)
            _require_regular(path, found.st_mode)

    def read(self, offset: int, count: int) -> bytes:
        """Exactly ``count`` bytes from ``offset``; raises TruncatedFile where the file ends."""
        parts = []
        while count > 0:
            try:
                part = os.pread(self._fd, count, offset)
            except (OSError, OverflowError) as error:
                shown = error if isinstance(error, OSError) else ValueError()
                raise failure(self.path, shown) from None
            if not part:
                raise TruncatedFile(
                    f"{quoted_path(self.path)} ends at byte {offset}, {count} bytes before its "
                    "content does; copy or download it again",
                    where=f"byte {offset}",
                )
            self.touched += len(part)
            offset, count = offset + len(part), count - len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def head(self, count: int) -> bytes:
        """The first ``count`` bytes, fewer when the file is shorter; refuses pointers and nothing.

        Raises TruncatedFile for an empty file and LfsPointer for a Git LFS or git-annex pointer.
        """
        if not self.size:
            raise TruncatedFile(
                f"{quoted_path(self.path)} is empty, expected a config or weights; "
                "copy or download it again"
            )
        data = self.read(0, min(count, self.size))
        refuse_pointer(data, self.path)
        return data

    def all(self, limit: int, what: str) -> bytes:
        """The whole content; raises InvalidValue above ``limit`` bytes."""
        if self.size > limit:
            raise InvalidValue(
                f"{quoted_path(self.path)} has {self.size} bytes, and {what} has at most {limit}"
            )
        return self.read(0, self.size)

    def fileno(self) -> int:
        """The open file's descriptor, for mapping it."""
        return self._fd

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> RegularFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Memory:
    """Bytes that are read like a file."""

    __slots__ = ("_data", "path", "size")

    def __init__(self, data: bytes, path: Path | str) -> None:
        self._data, self.path, self.size = data, path, len(data)

    def read(self, offset: int, count: int) -> bytes:
        return self._data[offset : offset + count]


def refuse_pointer(head: bytes, path: object) -> None:
    """Raises LfsPointer when ``head`` is a pointer that Git LFS or git-annex left."""
    if head.startswith(_LFS):
        size = next((w[5:] for w in head.splitlines() if w.startswith(b"size ")), b"")
        left = f" ({size.decode()} bytes)" if size.isdigit() and len(size) < 20 else ""
        raise LfsPointer(
            f"{quoted_path(path)} is a Git LFS pointer and not the file itself{left}; "
            "run `git lfs pull` in its repository"
        )
    if len(head) < 1024 and _ANNEX in head and head.startswith((b"/annex", b"../", b".git")):
        raise LfsPointer(
            f"{quoted_path(path)} is a git-annex pointer and not the file itself; "
            "run `git annex get` in its repository"
        )


def _require_regular(path: object, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = next((name for test, name in _KINDS if test(mode)), "not a regular file")
    raise SourceError(f"{quoted_path(path)} is {kind}, expected a regular file")
