"""``--to hf=DIR``: a model folder that transformers, vLLM and others load as it is.

The config's rope dict becomes type longrope with one factor for each channel. A schedule that the
recipe did not change keeps its settings. The folder is read back before it appears.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ropeaudit.document import Document
from ropeaudit.errors import SourceError, UsageError, quoted, quoted_path
from ropeaudit.export import _document, _hf_engines, _pairs, _target
from ropeaudit.export._hf_config import Rewritten, rewrite
from ropeaudit.export._hf_files import Files, populate
from ropeaudit.export._table import PATCH
from ropeaudit.export.interface import Request, Written, claim_prefix
from ropeaudit.facts import Oddity
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject

NAME = "hf"
_UNKNOWN = (Oddity.GENERIC_READING, Oddity.MODEL_SPECIFIC)


def claims(spec: str) -> str | None:
    return claim_prefix(spec, "hf")


def write(request: Request) -> Written:
    """The folder with the variant's tables; raises UsageError, then nothing is left behind."""
    source, document = _source(request.source)
    targets = _pairs.targets(request.variant)
    new = rewrite(document, targets)
    _target.check(request.path, source, force=request.force)
    with _target.replacing(request.path, folder=True, force=request.force) as work:
        _write_config(work / "config.json", source / "config.json", document, new)
        found, worst = _read_back(work, targets, new)
        files = populate(work, source, copy=request.copy)
        plain = Written(
            kind=NAME,
            path=str(request.path),
            schedules=tuple(found),
            max_ulp=worst,
            notes=tuple(dict.fromkeys(_notes(request.source, new, files))),
        )
        written = _document.recorded(request, plain)
        (work / _target.RECORD).write_text(written.document, encoding="utf-8")
    return written


def _source(subject: Subject) -> tuple[Path, Document]:
    """The model folder and its config; raises UsageError for what is no such folder."""
    path = Path(subject.target)
    if path.name == "config.json" and path.is_file():
        path = path.parent
    reading = subject.reading
    document = None if reading is None else reading.document
    if not (path / "config.json").is_file():
        step = "download the model first" if subject.target.startswith("hf:") else "give its folder"
        raise UsageError(
            f"--to hf= needs a model folder with a config.json, and {quoted_path(subject.target)} "
            f"is none; {step}, or write a file of tables (--to FILE.safetensors)"
        )
    if not isinstance(document, Document) or subject.format != "hf-config":
        raise UsageError(f"{quoted_path(path)} has no Hugging Face config; {PATCH}")
    if document.overridden:
        raise UsageError("a variant is made of the files alone; leave the overrides out")
    _refuse_code(subject, document.data)
    return path, document


def _refuse_code(subject: Subject, data: Any) -> None:
    if _holds(data, "auto_map"):
        raise UsageError(
            f"{quoted_path(subject.target)} runs code of its own (auto_map), and whether that code "
            f"reads factors cannot be known; {PATCH}"
        )
    odd = next((o for o in subject.observations if o.kind in _UNKNOWN), None)
    if odd is not None:
        raise UsageError(f"no config can be written that is known to work: {odd.message}; {PATCH}")


def _holds(data: Any, key: str) -> bool:
    if not isinstance(data, dict):
        return False
    return bool(data.get(key)) or any(_holds(v, key) for v in data.values())


def _write_config(path: Path, source: Path, document: Document, new: Rewritten) -> None:
    """The config: the same bytes where nothing changes."""
    if new.data == document.data:
        path.write_bytes(source.read_bytes())
        return
    path.write_text(json.dumps(new.data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _read_back(
    work: Path, targets: list[_pairs.Target], new: Rewritten
) -> tuple[list[Schedule], int]:
    """The tables that the written config gives, and their largest distance from the wanted ones.

    Raises UsageError where a promise is not kept.
    """
    from ropeaudit.resolve import build
    from ropeaudit.sources import hf_config

    try:
        reading = hf_config.read(work / "config.json", target=str(work))
        read = build(reading, _pairs.lengths(targets)).schedules
    except SourceError as error:
        raise UsageError(
            f"transformers would refuse the written config: {error}; {PATCH}"
        ) from None
    everything, worst = _pairs.compare(targets, read)
    for change in new.changes:
        _hf_engines.check(change.values, _pairs.rebuilt(change.target, read))
    return everything, worst


def _notes(subject: Subject, new: Rewritten, files: Files) -> Iterator[str]:
    yield from new.notes
    for change in new.changes:
        yield from _hf_engines.notes(change.node, change.rope, change.target)
    if files.linked:
        one = len(files.linked) == 1
        links = "1 weight file is a link" if one else f"{len(files.linked)} weight files are links"
        yield (
            f"{links} into {quoted_path(files.home)}: the variant works as long as that folder "
            "stays where it is; --copy makes it independent"
        )
    if files.left_out:
        listed = ", ".join(map(quoted, files.left_out[:4]))
        yield f"left out, because they hold the unchanged schedule: {listed}"
    if any(s.variant == "stored" for s in subject.schedules):
        yield (
            "the weights store a table of their own, which stays as it was; transformers ignores "
            "it, an engine that loads it runs unchanged"
        )
