"""A checked position in a mapped GGUF file."""

from __future__ import annotations

import struct
from mmap import mmap

from ropeaudit.errors import InvalidValue, TruncatedFile, quoted


class Cursor:
    """A position in the file; every read is checked against its end.

    Raises TruncatedFile when the file ends first and InvalidValue for what no writer means, both
    with the byte offset.
    """

    __slots__ = ("_u32", "_u64", "buf", "file", "order", "pos", "size")

    def __init__(self, buf: mmap | bytes, file: str, order: str) -> None:
        self.buf, self.file, self.order = buf, file, order
        self.size, self.pos = len(buf), 0
        self._u32 = struct.Struct(order + "I").unpack_from
        self._u64 = struct.Struct(order + "Q").unpack_from

    def u32(self, what: str) -> int:
        try:
            value: int = self._u32(self.buf, self.pos)[0]
        except struct.error:
            raise self.ended(what) from None
        self.pos += 4
        return value

    def u64(self, what: str) -> int:
        try:
            value: int = self._u64(self.buf, self.pos)[0]
        except struct.error:
            raise self.ended(what) from None
        self.pos += 8
        return value

    def text(self, limit: int, what: str) -> str:
        """A length-prefixed UTF-8 string of at most ``limit`` bytes."""
        start = self.pos
        count = self.u64(what)
        if count > limit:
            raise self.wrong(f"{what} claims {count} bytes, expected at most {limit}", start)
        end = self.pos + count
        if end > self.size:
            raise self.ended(what)
        try:
            text = self.buf[self.pos : end].decode("utf-8")
        except UnicodeDecodeError:
            raise self.wrong(f"{what} is not UTF-8", start) from None
        self.pos = end
        return text

    def step(self, count: int, what: str) -> None:
        self.pos += count
        if self.pos > self.size:
            self.pos -= count
            raise self.ended(what)

    def strings(self, count: int, what: str) -> None:
        """Steps over ``count`` strings; nothing but their lengths is looked at."""
        self.room(count, 8, what)
        unpack, buf, pos = self._u64, self.buf, self.pos
        try:
            for _ in range(count):
                pos += 8 + unpack(buf, pos)[0]
        except (struct.error, OverflowError):
            pos = self.size + 1
        if pos > self.size:
            raise self.ended(what)
        self.pos = pos

    def room(self, count: int, least: int, what: str) -> None:
        """Refuses a count whose items, at ``least`` bytes each, go beyond the end of the file."""
        if count <= (self.size - self.pos) // least:
            return
        if count > 2**40:
            raise self.wrong(f"{what} claims {count} entries, which no file holds", self.pos)
        raise self.ended(f"{what} ({count} entries)")

    def ended(self, what: str) -> TruncatedFile:
        return TruncatedFile(
            f"{quoted(self.file)} ends at byte {self.size}, in the middle of {what} "
            f"(byte {self.pos}); copy or download it again",
            where=f"byte {self.pos}",
        )

    def wrong(self, problem: str, at: int) -> InvalidValue:
        return InvalidValue(
            f"{quoted(self.file)} has a damaged GGUF header: {problem} (byte {at}); "
            "copy, download or convert it again",
            where=f"byte {at}",
        )
