"""Compare text with a file of tests/golden; UPDATE_GOLDEN=1 writes the files anew."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "golden"
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"


def same_as_golden(name: str, text: str) -> None:
    """Byte for byte, so that a lost escape code or a trailing blank shows."""
    path = FOLDER / name
    data = text.encode()
    if UPDATE:
        FOLDER.mkdir(exist_ok=True)
        path.write_bytes(data)
    assert path.read_bytes().decode() == text, f"{name} differs; UPDATE_GOLDEN=1 renews it"
