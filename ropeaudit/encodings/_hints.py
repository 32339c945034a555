"""Whether a config alone may state an encoding, told without importing any encoding.

Nearly every config states none, and auditing those must not cost an import.
"""

from __future__ import annotations

from collections.abc import Mapping

from ropeaudit.document import Document
from ropeaudit.facts import Json

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


def _is_one_of(value: Json, names: frozenset[str]) -> bool:
    return isinstance(value, str) and value in names
