"""Cold processes are measured as users start them: with compiled bytecode kept between starts."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _bytecode_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
