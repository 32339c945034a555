"""Two texts of one config, place by place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ropeaudit.document import Document, escape
from ropeaudit.facts import Json
from ropeaudit.normalise._text import alike
from ropeaudit.normalise.interface import Change

_EQUAL = "stated as the reference reads it, so that no schema is stale"


def changes(before: Document, after: Document, reasons: Mapping[str, str]) -> Iterator[Change]:
    """Every place whose value differs, in the order of the new text, what is gone last.

    ``reasons``: pointer -> why it is written.
    """
    for pointer in _differing("", before.data, after.data):
        new = after.spelling(pointer)
        yield Change(
            pointer=pointer,
            before=before.spelling(pointer),
            after=new,
            why=_gone(pointer) if new is None else _reason(pointer, reasons),
        )


def _differing(pointer: str, before: Json, after: Json) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*after, *(k for k in before if k not in after)]:
            inner = f"{pointer}/{escape(key)}"
            if key in before and key in after:
                yield from _differing(inner, before[key], after[key])
            else:
                yield inner
    elif not alike(before, after):
        yield pointer


def _gone(pointer: str) -> str:
    """Why something is removed."""
    if pointer.rsplit("/", 1)[-1] in ("type", "rope_type"):
        return "the type is named once, under one key: engines differ in which of two counts"
    return "the reference does not read it here, and another engine may"


def _reason(pointer: str, reasons: Mapping[str, str]) -> str:
    """The reason of the setting at ``pointer``, or of one inside it."""
    if pointer in reasons:
        return reasons[pointer]
    return next((why for p, why in reasons.items() if p.startswith(f"{pointer}/")), _EQUAL)
