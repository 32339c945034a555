"""Lines of JSON that prove themselves whole, appended under a lock."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ropeaudit.errors import UsageError

START = b'{"schema":'
_SEAL = b',"crc32":"'
_END = len(_SEAL) + 8 + 2
_BLOCK = 1 << 20


def sealed(body: Mapping[str, Any]) -> bytes:
    """``body`` as one line of JSON with the CRC-32 of the text before it as its last value."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()
    return text[:-1] + _SEAL + f"{zlib.crc32(text[:-1]):08x}".encode() + b'"}'


def sound(line: bytes) -> bool:
    """Whether a line without its line end is one that ``sealed`` wrote, to the bit."""
    text, seal = line[:-_END], line[-_END:]
    return seal == _SEAL + f"{zlib.crc32(text):08x}".encode() + b'"}'


def opened(line: bytes) -> dict[str, Any] | None:
    """The object of a sound line; None for any other."""
    if not sound(line):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


@contextmanager
def locked(handle: int, shown: str) -> Iterator[None]:
    """Hold the file's lock; waits for other processes, and for other handles of this one."""
    try:
        import fcntl
    except ImportError:  # Windows
        raise UsageError(
            f"the store {shown} needs file locks, which this system has not; leave --store out"
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        raise UsageError(
            f"cannot lock the store {shown}: {error.strerror or error}; put it on another disk"
        ) from None
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


def append(handle: int, line: bytes) -> None:
    """Write ``line`` and its end, all or nothing, down to the disk; the lock is held.

    Raises OSError where it cannot be written; the file is then as long as before.
    """
    size = os.fstat(handle).st_size
    # Another process may have died within a line: what it left must not swallow this one.
    apart = size and line and os.pread(handle, 1, size - 1) != b"\n"
    data = memoryview((b"\n" if apart else b"") + line + b"\n")
    try:
        while data:
            data = data[os.write(handle, data) :]
        os.fsync(handle)
    except BaseException:  # an interrupt too must not leave half a line
        os.ftruncate(handle, size)
        raise


def unfinished(handle: int) -> bytes:
    """What stands after the last line end; empty for a file that ends as it should."""
    end = os.fstat(handle).st_size
    tail = b""
    while end > 0:
        start = max(0, end - _BLOCK)
        block = os.pread(handle, end - start, start)
        at = block.rfind(b"\n")
        if at >= 0:
            return block[at + 1 :] + tail
        tail = block + tail
        end = start
    return tail


def whole(handle: int, start: int) -> Iterator[bytes]:
    """Finished lines from byte ``start`` on, without their ends."""
    rest = b""
    while block := os.pread(handle, _BLOCK, start):
        start += len(block)
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
