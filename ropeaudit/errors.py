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


def shown(value: object, limit: int = MAX_QUOTED) -> str:
    """``value`` as JSON writes it (``null``, ``true``, ``NaN``, ``"text"``), short and printable.

    What JSON cannot hold is shown as by :func:`quoted`.
    """
    import json

    if isinstance(value, int) and not isinstance(value, bool):
        return quoted(value, limit)  # knows about huge ones
    try:
        text = json.dumps(value[:limit] if isinstance(value, str) else value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return quoted(value, limit)
    return quoted(text, limit)


def unexpected(name: str, value: object, expected: str, *, where: str | None) -> InvalidValue:
    """The error for a setting whose value is not what it has to be, with the next step."""
    what, step = shown(value), "correct it"
    if isinstance(value, str):
        what = f"the string {what}"
        if "number" in expected and _is_number(value):
            step = "write it without quotes"
    elif value is None:
        step = "give it a value, or remove the key"
    said = f"{quoted(name, 2 * MAX_QUOTED)} is {what}, expected {expected}; {step}"
    return InvalidValue(said, where=where)


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) < float("inf")
    except ValueError:
        return False


def quoted_path(path: object, limit: int = 3 * MAX_QUOTED) -> str:
    """A path as one printable line; cut in front, because the file's own name stands at the end."""
    text = quoted(str(path)[-limit - 1 :], 16 * limit)
    return text if len(text) <= limit else f"…{text[1 - limit :]}"


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that ``name`` is most likely a slip of; None if none is near enough."""
    from difflib import get_close_matches  # 3 ms, and only for what is wrong

    return next(iter(get_close_matches(name, sorted(known), n=1, cutoff=cutoff)), None)


def suggestion(name: str, known: Iterable[str]) -> str:
    """``; did you mean X?`` for the known name nearest to ``name``, or nothing."""
    near = closest(name, known)
    return "" if near is None else f"; did you mean {near}?"
