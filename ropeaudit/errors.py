"""Every error that ropeaudit raises on purpose.

    RopeAuditError
    ├── UsageError            a command line that cannot be carried out
    ├── ConfigError           a settings file or environment variable that is wrong
    ├── PackError             a rule pack that is wrong
    ├── UnsafeScheduleError   ``assert_safe`` found what it was told to refuse
    └── SourceError           an input that cannot be read
        ├── UnrecognisedFormat    no reader claims the content
        ├── TruncatedFile         the file ends before its own header says it does
        ├── LfsPointer            a Git LFS pointer stands where the file should be
        ├── UnsafePickle          reading it would mean running code from the file
        ├── MissingDependency     an optional package is needed to read it
        └── InvalidValue          readable, but a value is not what the format allows

Each message says what is wrong, where, what was expected and what to do next. Text that comes from
a file goes through :func:`quoted`, so that control characters cannot reach a terminal and an
integer of five thousand digits cannot fill a screen.
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_QUOTED = 80
"""Characters of foreign text that one message repeats."""


class RopeAuditError(Exception):
    """Base of every deliberate error; ``kind`` is its machine-readable name."""

    kind = "error"


class UsageError(RopeAuditError):
    kind = "usage"


class ConfigError(RopeAuditError):
    kind = "config"


class PackError(RopeAuditError):
    kind = "pack"


class UnsafeScheduleError(RopeAuditError, AssertionError):
    """Raised by ``assert_safe``; also an ``AssertionError`` so that test runners show it as one."""

    kind = "unsafe_schedule"


class SourceError(RopeAuditError):
    """An input that cannot be read; ``where`` is a pointer, tensor name or offset, if known."""

    kind = "unreadable"

    def __init__(self, message: str, *, where: str | None = None) -> None:
        super().__init__(message)
        self.where = where


class UnrecognisedFormat(SourceError):
    kind = "unrecognised_format"


class TruncatedFile(SourceError):
    kind = "truncated"


class LfsPointer(SourceError):
    kind = "lfs_pointer"


class UnsafePickle(SourceError):
    kind = "unsafe_pickle"


class MissingDependency(SourceError):
    kind = "missing_dependency"


class InvalidValue(SourceError):
    kind = "invalid_value"


def quoted(value: object, limit: int = MAX_QUOTED) -> str:
    """``value`` as one short printable line: escapes controls, cuts at ``limit`` characters."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        # str() of a huge int is quadratic and refused by CPython above 4,300 digits.
        return f"an integer of {value.bit_length()} bits"
    try:
        text = value if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):  # a list may hold such an integer, or itself
        return f"a {type(value).__name__}"
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: limit + 1]
    )
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def quoted_path(path: object, limit: int = 3 * MAX_QUOTED) -> str:
    """A path as one printable line; cut in front, because the file's own name stands at the end."""
    text = quoted(str(path)[-limit - 1 :], 16 * limit)
    return text if len(text) <= limit else f"…{text[1 - limit :]}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """``; did you mean X?`` for the known name nearest to ``name``, or nothing."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
