"""The directory of a zip archive, before anything is read by it.

A directory of gigabytes would be turned into objects before its first entry is looked at, so its
own size is checked first (APPNOTE.TXT sections 4.3.14 to 4.3.16).
"""

from __future__ import annotations

import struct

from ropeaudit.errors import InvalidValue, TruncatedFile, quoted_path
from ropeaudit.sources._files import Memory, RegularFile

MAX_DIRECTORY = 32 * 1024 * 1024
_TAIL = 65_535 + 22 + 20


def require_modest(file: RegularFile | Memory) -> None:
    """Raises TruncatedFile for an archive without a directory, InvalidValue for one too large."""
    start = max(0, file.size - _TAIL)
    tail = file.read(start, file.size - start)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < 22:
        raise TruncatedFile(
            f"{quoted_path(file.path)} is a zip archive without its directory, which stands at the "
            "end; copy or download it again"
        )
    size = struct.unpack_from("<I", tail, at + 12)[0]
    if at >= 20 and tail[at - 20 : at - 16] == b"PK\x06\x07":
        offset = struct.unpack_from("<Q", tail, at - 12)[0]
        if offset + 56 > file.size:
            raise TruncatedFile(f"{quoted_path(file.path)} is a damaged zip archive")
        size = max(struct.unpack_from("<Q", file.read(offset, 56), 40)[0], size % 0xFFFFFFFF)
    if size > min(MAX_DIRECTORY, file.size):
        raise InvalidValue(
            f"{quoted_path(file.path)} has a directory of {size} bytes, expected at most "
            f"{min(MAX_DIRECTORY, file.size)}"
        )
