"""Writes ``fixtures/encodings``: small checkpoints in the layouts of public code.

Run ``python -m tests.make_layout_fixtures`` after a change here. Each module
``tests/encodings/layouts_*.py`` with ``fixtures()`` yields its own (file, tensors, config,
container); the suffix of the file is its format. ``vectors.json`` in the same folder is written by
hand and stays.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import tests.encodings as package
from tests.encodings.make import write

FOLDER = Path(__file__).parent.parent / "fixtures" / "encodings"
BY_HAND = frozenset({"vectors.json", "README.md"})
Fixture = tuple[str, dict[str, Any], dict[str, Any] | None, str | None]


def every() -> Iterator[Fixture]:
    """All files of all layouts; making one may take seconds (APE's public fit does)."""
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("layouts_"):
            module = import_module(f"{package.__name__}.{info.name}")
            if hasattr(module, "fixtures"):
                yield from module.fixtures()


def main(folder: Path = FOLDER) -> None:
    folder.mkdir(exist_ok=True)
    for name, tensors, config, container in every():
        write(folder / name, tensors, config, container)


if __name__ == "__main__":
    main()
