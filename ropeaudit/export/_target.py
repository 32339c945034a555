"""Outputs appear whole or not at all, and never in place of something by accident.

Everything is written to a sibling that is renamed at the end, so an interrupted or failed run
leaves nothing behind and a forced one leaves the old output until the new one is complete.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from ropeaudit.errors import UsageError, quoted_path

RECORD = "ropeaudit-variant.json"
"""The file that marks a folder as written by this package."""
_REASONS = {
    errno.ENOSPC: "the disk is full; free some space, or write to another disk",
    errno.EDQUOT: "your quota on this disk is used up; free some space, or write elsewhere",
    errno.EFBIG: "the file would be larger than is allowed here; raise the limit",
    errno.EROFS: "the disk is mounted read-only; write elsewhere",
    errno.EACCES: "permission denied; choose a folder that you may write to",
    errno.EPERM: "permission denied; choose a folder that you may write to",
    errno.ENOENT: "its folder does not exist; create it first",
    errno.ENOTDIR: "a part of the path is a file, not a folder; choose another path",
    errno.EISDIR: "there is a folder of that name; choose another",
    errno.ENAMETOOLONG: "the name is longer than names can be; choose a shorter one",
    errno.EBUSY: "it is in use or the top of a mounted disk; name a new folder inside it",
    errno.EEXIST: "another run wrote it in the meantime; try again",
    errno.ENOTEMPTY: "another run wrote it in the meantime; try again",
}
_HEAD = 1 << 12
_ENDED_BY = ("SIGTERM", "SIGHUP")
"""What a scheduler or a closed terminal sends; Windows has no SIGHUP."""


def failure(path: object, error: OSError) -> UsageError:
    """Why ``path`` could not be written, as one sentence with the next step."""
    reason = _REASONS.get(error.errno or 0) or f"{error.strerror or error}"
    return UsageError(f"{quoted_path(path)} cannot be written: {reason}")


def check(target: Path, source: Path | None, *, force: bool) -> None:
    """Raises UsageError where writing ``target`` would destroy something.

    That is an existing output without ``force``, the source itself, a place inside the source's
    folder, a folder around it, a file beside a config that this package did not write, and a folder
    that it did not write.
    """
    if target.name in ("", ".."):
        raise UsageError(f"{quoted_path(target)} is no name; name a new folder or file")
    if source is not None:
        _check_apart(target, source)
    try:
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise failure(target, error) from None
    if not force:
        raise _exists(target)
    if stat.S_ISDIR(mode):
        ours = (target / RECORD).is_file()
        if not ours and any(target.iterdir()):
            raise UsageError(
                f"{quoted_path(target)} is a folder that ropeaudit did not write (it has no "
                f"{RECORD}), so --force does not replace it; remove it yourself"
            )
    elif not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise UsageError(f"{quoted_path(target)} is no regular file; choose another name")


def _exists(target: Path) -> UsageError:
    return UsageError(f"{quoted_path(target)} exists; choose another name, or add --force")


def _check_apart(target: Path, source: Path) -> None:
    try:
        a, b = target.resolve(), source.resolve()
    except (OSError, RuntimeError):
        return  # a loop of links: writing will fail and say so
    if a == b:
        raise UsageError(f"{quoted_path(target)} is the source itself; choose another place")
    if b.is_dir() and b in a.parents:
        raise UsageError(
            f"{quoted_path(target)} lies inside the source {quoted_path(source)}; choose a place "
            "outside of it"
        )
    if a in b.parents:
        raise UsageError(
            f"{quoted_path(target)} holds the source {quoted_path(source)}; choose another place"
        )
    if _is_part(target, source):
        raise UsageError(
            f"{quoted_path(target)} belongs to the model {quoted_path(source)}; choose another name"
        )


def _is_part(target: Path, source: Path) -> bool:
    """Whether ``target`` is a file of the source's model: its weights, say.

    A config stands for the folder it lies in. Tables that were written there may be replaced.
    """
    if not target.is_file():
        return False
    if source.is_dir():
        with suppress(OSError):
            return any(p.is_file() and p.samefile(target) for p in source.iterdir())
    beside = source.name == "config.json" and target.parent.resolve() == source.parent.resolve()
    return beside and not _is_table(target)


def _is_table(path: Path) -> bool:
    """Whether the file is a table of frequencies that this package may have written."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    ours = b"ropeaudit/variant/" in head or b"ropeaudit/conversion/" in head
    return ours or head.startswith(b"\x93NUMPY")


@contextmanager
def replacing(target: Path, *, folder: bool = False, force: bool = False) -> Iterator[Path]:
    """A new sibling of ``target`` to write to; it takes the target's place when the block ends.

    Whatever ends the block early, an interrupt too, removes the sibling. Raises UsageError for
    what the operating system refuses, and for a target that appeared meanwhile without ``force``.
    """
    work: Path | None = None
    with _unwinding():
        try:
            work = _sibling(target)
            # What a temporary folder must not be, an output should be: readable as others are.
            work.chmod(0o777 & ~_umask())
            new = work if folder else work / target.name
            yield new
            if not force and os.path.lexists(target):
                raise _exists(target)
            _put(new, target, work)
        except OSError as error:
            raise failure(target, error) from None
        finally:
            if work is not None:
                shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _unwinding() -> Iterator[None]:
    """Signals that would end the process on the spot end the block as an interrupt does."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what signals do
        return
    numbers = [getattr(signal, name) for name in _ENDED_BY if hasattr(signal, name)]
    ours = [n for n in numbers if signal.getsignal(n) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)  # the exit code by which a shell names a signal


def _sibling(target: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=f".{target.name[:64]}.", dir=target.parent))


def _put(new: Path, target: Path, work: Path) -> None:
    """Rename ``new`` to ``target``; an old folder steps aside first and is removed last."""
    if new is not work or not target.is_dir() or target.is_symlink():
        if new is work and target.is_symlink():
            target.unlink()
        new.replace(target)
        return
    aside = _sibling(target)
    try:
        target.replace(aside)  # onto an empty folder, which rename allows
        new.replace(target)
    except BaseException:
        with suppress(OSError):
            aside.replace(target)  # refused by the system where the target never left its place
        raise
    finally:
        if target.exists():
            shutil.rmtree(aside, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
