"""The bytes of a text in the encoding that its file has, with its byte order mark."""

from __future__ import annotations

import codecs
import json

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def _encoding(content: bytes) -> tuple[bytes, str]:
    for mark, name in _MARKS:
        if content.startswith(mark):
            return mark, name
    return b"", json.detect_encoding(content)


def decoded(content: bytes) -> str | None:
    """The text without its mark; None where it does not come back as the same bytes."""
    mark, name = _encoding(content)
    try:
        text = content[len(mark) :].decode(name)
    except UnicodeDecodeError:
        return None
    return text if encoded(text, content) == content else None


def encoded(text: str, like: bytes) -> bytes:
    """``text`` in the encoding of ``like``, its byte order mark included."""
    mark, name = _encoding(like)
    return mark + text.encode(name)
