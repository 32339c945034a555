"""Whether there may be an encoding at all, told without importing any.

Nearly every config states none, and auditing those must not cost an import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ropeaudit.document import Document
from ropeaudit.errors import quoted
from ropeaudit.facts import Json, Note

WORDS = ("alibi", "patch16_rope", "position_method", "rope_mixed", "rope_axial")
"""Text that a config with such an encoding contains: keys, or parts of an architecture's name."""
MODEL_TYPES = frozenset({"bloom", "mpt", "baichuan"})
"""Models whose encoding no key states, or only the width of one of their sizes."""
ARCHITECTURES = frozenset({"bloom", "mpt", "baichuan", "refact"})
"""As llama.cpp calls them."""


def in_config(document: Document | None) -> bool:
    """True where it is worth asking the encodings."""
    if document is None:
        return False
    if _is_one_of(document.data.get("model_type"), MODEL_TYPES):
        return True
    text = document.text if document.text is not None else repr(document.data)
    return any(word in text for word in WORDS)


def in_metadata(metadata: Mapping[str, Json] | None) -> bool:
    """As :func:`in_config`, for a GGUF file."""
    return _is_one_of((metadata or {}).get("general.architecture"), ARCHITECTURES)


def idle(options: Mapping[str, str], encodings: Sequence[object]) -> Iterator[Note]:
    """What the user states about an encoding where the target has none."""
    if options and not encodings:
        named = " and ".join(quoted(name) for name in options)
        yield Note(
            "option_without_effect",
            f"there is no learned encoding in this target: {named} changes nothing",
        )


def _is_one_of(value: Json, names: frozenset[str]) -> bool:
    return isinstance(value, str) and value in names
