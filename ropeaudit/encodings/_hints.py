"""Whether a config alone may state an encoding, told without importing any encoding.

Nearly every config states none, and auditing those must not cost an import.
"""

from __future__ import annotations

from ropeaudit.document import Document

WORDS = ("alibi", "_rope_", "position_method", "rope_mixed")
"""Text that a config with such an encoding contains: keys, or parts of an architecture's name."""
MODEL_TYPES = frozenset({"bloom", "mpt"})
"""Models whose encoding no key states."""


def in_config(document: Document | None) -> bool:
    """True where it is worth asking the encodings."""
    if document is None:
        return False
    if document.data.get("model_type") in MODEL_TYPES:
        return True
    text = document.text if document.text is not None else repr(document.data)
    return any(word in text for word in WORDS)
