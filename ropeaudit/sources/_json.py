"""JSON as files really hold it: recognising it, decoding it, and saying where it is wrong."""

from __future__ import annotations

import json

from ropeaudit.document import Document, parse
from ropeaudit.errors import InvalidValue, quoted_path
from ropeaudit.facts import Note

_BOM8 = b"\xef\xbb\xbf"
_WIDE = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_SPACES = b" \t\r\n"


def opening_bracket(head: bytes) -> str | None:
    """``{`` or ``[`` when ``head`` begins a JSON container in any Unicode encoding, else None.

    A safetensors file begins with a length whose first byte may well be the code of a bracket; its
    NUL bytes tell it apart.
    """
    wide = next((name for mark, name in _WIDE if head.startswith(mark)), None)
    if wide is None and b"\0" in head[:8]:
        even, odd = head[0:8:2], head[1:8:2]
        if b"\0" not in even and odd and not odd.strip(b"\0"):
            wide = "utf-16-le"
        elif b"\0" not in odd and even and not even.strip(b"\0"):
            wide = "utf-16-be"
        else:
            return None
    if wide is not None:
        text = head[: len(head) & ~3].decode(wide, "ignore").lstrip("\ufeff \t\r\n")
        return text[0] if text[:1] in ("{", "[") else None
    first = head.removeprefix(_BOM8).lstrip(_SPACES)[:1]
    return first.decode() if first in (b"{", b"[") else None


def text_of(data: bytes, file: str) -> str:
    """``data`` decoded by its byte order mark or, without one, as JSON prescribes.

    Raises InvalidValue when the bytes are not text in that encoding.
    """
    encoding = json.detect_encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise InvalidValue(
            f"{quoted_path(file)} is not {name} text (byte {error.start} is "
            f"0x{data[error.start]:02x}); save it as UTF-8",
            where=f"byte {error.start}",
        ) from None


def document_of(data: bytes, file: str) -> Document:
    """A JSON object with its text; every error names ``file``."""
    return parse(text_of(data, file), file)


def encoding_notes(data: bytes, file: str) -> tuple[Note, ...]:
    """A note when the bytes are not plain UTF-8, which loaders of configs expect."""
    encoding = json.detect_encoding(data[:16])
    if encoding == "utf-8":
        return ()
    name = "UTF-8 with a byte order mark" if encoding == "utf-8-sig" else encoding.upper()
    return (
        Note("encoding", f"{quoted_path(file)} is {name}; loaders that expect plain UTF-8 fail"),
    )
