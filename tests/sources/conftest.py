"""What the tests of sources share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Writes bytes to a file of the test's own folder."""

    def save(data: bytes, name: str = "model.gguf") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return save
