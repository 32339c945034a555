"""What the tests of sources share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.sources.hub_server import Hub, running


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Writes bytes to a file of the test's own folder."""

    def save(data: bytes, name: str = "model.gguf") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return save


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub on loopback that the real client is pointed to."""
    client = pytest.importorskip("huggingface_hub")
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with running(Hub()) as found:
        monkeypatch.setenv("HF_ENDPOINT", found.url)
        yield found
        client.close_session()
