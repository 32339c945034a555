"""Where equal readings prove nothing: code that nobody knows may build other tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ropeaudit.document import Document
from ropeaudit.errors import quoted
from ropeaudit.facts import Oddity, Reading
from ropeaudit.schedule.subject import Subject

_GUESSES = frozenset({Oddity.GENERIC_READING, Oddity.MODEL_SPECIFIC})
_POSITIONAL = re.compile(
    r"rope|rotary|theta|pos|freq|head|hidden|emb|dim|scal|factor|base|context|seq|length|window"
    r"|layer|block|ntk|yarn|alibi|model_type|architecture|auto_map|method",
    re.IGNORECASE,
)
"""Keys that code may build positions from; a quantisation or a tokenizer is none of it."""
_OTHER = re.compile(r"^/?(?:quantization_config|transformers_version|_name_or_path|tokenizer)")


def guessed(subject: Subject) -> bool:
    """Whether the built schedules are a reading by common rules."""
    return any(o.kind in _GUESSES for o in subject.observations)


def undecided(a: Subject, b: Subject) -> str | None:
    """Why equal built tables of these two are no proof; None where they are one.

    Two files of one model type that differ in nothing positional run the same code on the same
    values, whatever it does.
    """
    side = next((n for n, s in (("A", a), ("B", b)) if guessed(s)), None)
    if side is None:
        return None
    if a.model_type == b.model_type and a.reading is not None and b.reading is not None:
        left, right = _positional(a.reading), _positional(b.reading)
        if left is not None and left == right:
            return None
    name = quoted((a if side == "A" else b).model_type)
    return (
        f"{side} is of type {name}, whose own code is not in the file and may build other tables "
        "than the common rules say"
    )


def _positional(reading: Reading) -> dict[str, Any] | None:
    document = reading.document
    data = document.data if isinstance(document, Document) else reading.metadata
    if data is None:
        return None
    found: dict[str, Any] = {}
    _flatten(data, "", found)
    return {k: v for k, v in found.items() if _POSITIONAL.search(k) and not _OTHER.search(k)}


def _flatten(data: Any, at: str, found: dict[str, Any]) -> None:
    if isinstance(data, Mapping):
        for key, value in data.items():
            _flatten(value, f"{at}/{key}", found)
    elif isinstance(data, Sequence) and not isinstance(data, str):
        found[at] = repr(data)
    else:
        found[at] = data
