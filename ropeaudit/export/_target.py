"""Outputs appear whole or not at all, and never in place of something by accident.

Everything is written to a sibling that is renamed at the end, so an interrupted or failed run
leaves nothing behind and a forced one leaves the old output until the new one is complete.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
    errno.ENAMETOOLONG: "the name is longer than names can be; choose a shorter one",
}


def failure(path: object, error: OSError) -> UsageError:
    """Why ``path`` could not be written, as one sentence with the next step."""
    reason = _REASONS.get(error.errno or 0) or f"{error.strerror or error}"
    return UsageError(f"{quoted_path(path)} cannot be written: {reason}")


def check(target: Path, source: Path | None, *, force: bool) -> None:
    """Raises UsageError where writing ``target`` would destroy something.

    That is an existing output without ``force``, the source itself, a place inside the source's
    folder, a folder around it, and a folder that this package did not write.
    """
    if source is not None:
        _check_apart(target, source)
    try:
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise failure(target, error) from None
    if not force:
        raise UsageError(f"{quoted_path(target)} exists; choose another name, or add --force")
    if stat.S_ISDIR(mode):
        ours = (target / RECORD).is_file()
        if not ours and any(target.iterdir()):
            raise UsageError(
                f"{quoted_path(target)} is a folder that ropeaudit did not write (it has no "
                f"{RECORD}), so --force does not replace it; remove it yourself"
            )
    elif not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise UsageError(f"{quoted_path(target)} is no regular file; choose another name")


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


@contextmanager
def replacing(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """A new sibling of ``target`` to write to; it takes the target's place when the block ends.

    Whatever ends the block early, an interrupt too, removes the sibling. Raises UsageError for
    what the operating system refuses.
    """
    work: Path | None = None
    try:
        try:
            work = Path(tempfile.mkdtemp(prefix=f".{target.name[:64]}.", dir=target.parent))
            # What a temporary folder must not be, an output should be: readable as others are.
            work.chmod(0o777 & ~_umask())
            new = work if folder else work / target.name
            yield new
            _put(new, target, work)
        except OSError as error:
            raise failure(target, error) from None
    finally:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)


def _put(new: Path, target: Path, work: Path) -> None:
    """Rename ``new`` to ``target``; an old folder steps aside first and is removed last."""
    if new is not work or not target.is_dir() or target.is_symlink():
        if new is work and target.is_symlink():
            target.unlink()
        new.replace(target)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name[:64]}.", dir=target.parent))
    try:
        target.replace(aside)  # onto an empty folder, which rename allows
        try:
            new.replace(target)
        except BaseException:
            with suppress(OSError):
                aside.replace(target)
            raise
    finally:
        if target.exists():
            shutil.rmtree(aside, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
