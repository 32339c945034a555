"""What a source provides, and the limits that all sources keep."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ropeaudit.facts import Reading

MAX_CONFIG_BYTES = 32 * 1024 * 1024
"""A config larger than this is not a config (the largest known is 4 MB)."""
MAX_HEADER_BYTES = 100 * 1024 * 1024
"""The limit of the safetensors format itself."""
MAX_TABLE_BYTES = 64 * 1024 * 1024
"""No frequency table or cache row that an audit reads is larger."""
HEAD_BYTES = 4096
"""How much of a file ``sniff`` sees."""


class Source(Protocol):
    """A module of this package."""

    FORMAT: str
    SUFFIXES: tuple[str, ...]

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether the content is this source's; ``head`` is the first HEAD_BYTES of the file."""

    def read(self, path: Path, *, target: str) -> Reading:
        """Raises SourceError with one clear sentence when the file cannot be read."""
