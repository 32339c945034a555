"""``--to FILE.json``: the variant's document, with every table and the recipe."""

from __future__ import annotations

from pathlib import Path

from ropeaudit.export import _table
from ropeaudit.export.interface import Request, Written, claim_suffix
from ropeaudit.schedule.core import Schedule

NAME = "json"


def claims(spec: str) -> str | None:
    return claim_suffix(spec, ".json")


def write(request: Request) -> Written:
    """The document as a file; raises UsageError."""
    return _table.write(request, NAME, _save)


def _save(path: Path, document: str, schedules: list[Schedule]) -> None:
    path.write_text(document, encoding="utf-8")
