"""Tables without a model: what the three file formats have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ropeaudit.errors import UsageError, quoted_path
from ropeaudit.export import _document, _target
from ropeaudit.export.interface import Request, Written
from ropeaudit.schedule.core import Schedule

PATCH = "a file of tables (--to FILE.safetensors) can hold it"
"""The way out where a model folder or a GGUF file cannot say something."""


def write(
    request: Request,
    kind: str,
    save: Callable[[Path, str, list[Schedule]], None],
    notes: tuple[str, ...] = (),
) -> Written:
    """Write the tables through ``save(path, document, schedules)`` and compare what was written.

    Raises UsageError.
    """
    target, schedules = request.path, list(request.variant.schedules)
    if not schedules:
        raise UsageError("the variant holds no schedule, so there is no table to write")
    _target.check(target, source_path(request), force=request.force)
    plain = Written(kind=kind, path=str(target), schedules=tuple(schedules), notes=notes)
    written = _document.recorded(request, plain)
    with _target.replacing(target, force=request.force) as work:
        save(work, written.document, schedules)
        _compare(work, schedules)
    return written


def source_path(request: Request) -> Path | None:
    """Where the source lies; None for live modules, standard input and hub ids."""
    path = Path(request.source.target)
    return path if path.exists() else None


def single(schedules: Sequence[Schedule]) -> bool:
    """Whether float32 holds every value exactly."""
    from array import array

    return all(tuple(array("f", s.inv_freq)) == s.inv_freq for s in schedules)


def _compare(path: Path, schedules: Sequence[Schedule]) -> None:
    """Read the tables back through this package's own sources; they must be the same numbers."""
    from ropeaudit.resolve import resolve

    subject = resolve(str(path))
    if subject.error is not None or subject.reading is None:
        raise UsageError(f"{quoted_path(path)} cannot be read back: {subject.error}")
    found = sorted(t.values for t in subject.reading.tables)
    if found != sorted(s.inv_freq for s in schedules):
        raise UsageError(
            f"{quoted_path(path)} read back gives other numbers than were written; report this"
        )
