"""From a target to the proposal for its config."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue, RopeAuditError, SourceError, quoted, quoted_path
from ropeaudit.facts import Oddity, Reading
from ropeaudit.normalise import _bytes
from ropeaudit.normalise._changes import changes
from ropeaudit.normalise._judge import Judge, Judged, unchanged
from ropeaudit.normalise._search import Search
from ropeaudit.normalise._stated import declared_against_factor, parts, reasons
from ropeaudit.normalise.interface import Engine, Normalised, agrees
from ropeaudit.readers.engines.known import ALL, find
from ropeaudit.schedule.subject import Problem
from ropeaudit.schedule.views import View

_GIVEN_UP = frozenset({
    Oddity.TYPE_CONFLICT, Oddity.SCHEMA_CONFLICT, Oddity.KEY_IGNORED, Oddity.TYPE_MISSING,
    Oddity.NOT_APPLIED,
})  # fmt: skip
"""What the reference passes over; after normalising the file no longer says it."""
_NO_CONFIG = {
    "params-json": "the params.json of Meta and Mistral has one spelling, and few engines read it",
    "gguf": "a GGUF file holds the numbers themselves; the spelling belongs to the config.json it "
    "was made from",
}


def normalise(target: str, *, offline: bool = False) -> Normalised:
    """The proposal for the config of ``target``, a model folder, a config or ``hf:org/name``.

    Nothing is written. Raises SourceError for what cannot be read or from which the reference
    builds no table.
    """
    reading = _open(target, offline=offline)
    document = reading.document
    why = _no_config(target, reading)
    if why is not None or document is None:
        return Normalised(target=target, status="nothing", reason=why)
    file, content = _source(target, reading, document)
    text = _text(document, content)
    judge = Judge(document.file, find([ALL]))
    start = judge.build(text)
    if not any(True for _ in parts(start.document, start.subject)):
        why = reasons(start.document, start.subject)
        return Normalised(target=target, status="nothing", reason=why, file=file)
    search = Search(judge, start)
    end = search.settled()
    _require_unchanged(start, end)
    return Normalised(
        target=target,
        status="normal" if end.text == start.text else "changed",
        file=file,
        before=start.text,
        after=end.text,
        content=content,
        changes=tuple(changes(start.document, end.document, search.reasons)),
        engines=tuple(_engines(search, end)),
        cautions=tuple(_cautions(start, end)),
        advice=tuple(_advice(end)),
        tried=len(judge.seen) + 1,
    )


def attempt(target: str, *, offline: bool = False) -> Normalised:
    """As :func:`normalise`; what goes wrong with one target becomes its error, as others go on."""
    try:
        return normalise(target, offline=offline)
    except SourceError as error:
        problem = Problem(error.kind, str(error), error.where)
    except RopeAuditError:
        raise
    except Exception as error:
        from ropeaudit.resolve import failed

        problem = failed(target, error).error or Problem("internal", quoted(str(error)))
    return Normalised(target=target, status="error", error=problem)


def _open(target: str, *, offline: bool) -> Reading:
    """The config alone, where the target is a folder that holds one."""
    from ropeaudit.sources.opening import open_target

    own = Path(target) / "config.json"
    try:
        inside = Path(target).is_dir() and own.is_file()
    except (OSError, ValueError):  # no possible path; reading the target says why
        inside = False
    return open_target(str(own) if inside else target, offline=offline)


def _no_config(target: str, reading: Reading) -> str | None:
    if reading.format in _NO_CONFIG:
        return _NO_CONFIG[reading.format]
    if reading.document is None:
        return f"{quoted_path(target)} has no config.json, and only a config has spellings"
    if reading.document.data.get("_class_name") is not None:
        return "it is a part of a pipeline of diffusers, whose code has keys of its own"
    return None


def _source(target: str, reading: Reading, document: Document) -> tuple[str | None, bytes]:
    """The file that may be written, None where there is none, and the bytes that were read."""
    content = next(
        (f.content for f in reading.files if f.path == document.file and f.content), None
    )
    if content is None:
        return None, (document.text or "").encode("utf-8", "surrogatepass")
    own = {os.path.realpath(target), os.path.realpath(Path(target) / "config.json")}
    local = target not in ("-", "") and reading.format != "hub"
    if not local or os.path.realpath(document.file) not in own:
        return None, content
    return document.file, content


def _text(document: Document, content: bytes) -> str:
    """The text; raises InvalidValue where it cannot be written back byte for byte."""
    text = document.text
    if text is None:
        raise InvalidValue(f"{quoted_path(document.file)} has no text that could be spelled anew")
    if _bytes.decoded(content) != text:
        raise InvalidValue(
            f"{quoted_path(document.file)} cannot be written back byte for byte in its encoding; "
            "save it as UTF-8"
        )
    return text


def _require_unchanged(start: Judged, end: Judged) -> None:
    """The promise, checked once more on the result itself."""
    if not unchanged(start, end):
        raise InvalidValue(
            "the reference would build another schedule from the new spelling; nothing was changed"
        )
    lost = start.agreeing - end.agreeing
    if lost:
        raise InvalidValue(
            f"{', '.join(sorted(lost))} would no longer agree with the reference; nothing was "
            "changed"
        )


def _engines(search: Search, end: Judged) -> Iterator[Engine]:
    before = {v.reader: v for v in search.start.views}
    for view in end.views:
        right = agrees(view)
        other = None if right else search.elsewhere.get(view.reader)
        yield Engine(
            before=before[view.reader],
            after=view,
            elsewhere=other,
            why=None if right else _why(view, other),
        )


def _why(view: View, other: str | None) -> str:
    """What this engine still does otherwise, and the spelling that would help it alone."""
    if view.status == "not_covered":
        return f"not known: {view.reason}"
    if view.status == "refuses":
        said = f"refuses: {view.reason}"
    elif view.distance is None:
        said = "it builds no part that the reference builds, so there is nothing to compare"
    else:
        said = ", ".join(view.distance.words) or "another table"
    passed = _passed_over(view.ignored)
    if passed:
        said += f"; it does not read {', '.join(passed)}"
    if other is not None:
        said += f"; it would be right with {other}, which another engine would misread"
    return said


def _passed_over(ignored: Sequence[str]) -> Sequence[str]:
    """What is not read, without the one schema that says the same as the one that is."""
    whole = [p for p in ignored if p.rsplit("/", 1)[-1] in ("rope_scaling", "rope_parameters")]
    return [p for p in ignored if p not in whole] if len(whole) == 1 else ignored


def _cautions(start: Judged, end: Judged) -> Iterator[str]:
    left = Counter(o.message for o in end.subject.observations)
    for observation in start.subject.observations:
        if observation.kind in _GIVEN_UP and not left[observation.message]:
            yield f"given up, as the reference does not read it: {observation.message}"
    still = {n.message for n in end.subject.notes}
    for note in start.subject.notes:
        if note.kind == "engine_refuses":
            said = "" if note.message in still else "before the change: "
            yield f"{said}{note.message}"
    if "auto_map" in start.document.data:
        yield (
            "auto_map names code that comes with the model: with trust_remote_code that code reads "
            "the file, and what it reads is not known"
        )


def _advice(end: Judged) -> Iterator[str]:
    for part in parts(end.document, end.subject):
        yield from declared_against_factor(part.stated)
