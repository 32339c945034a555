"""From a target to a Subject: read it, apply what the user overrides, build the schedules."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropeaudit.encodings import _hints
from ropeaudit.errors import RopeAuditError, SourceError, quoted, suggestion
from ropeaudit.facts import Note, Oddity, Origin, Reading
from ropeaudit.readers.interface import Reader, Resolution
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Problem, Subject

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Encoding
    from ropeaudit.readers.engines.known import Chosen
    from ropeaudit.schedule.views import Beside

_NO_OPTIONS: Mapping[str, str] = {}


def resolve(
    target: str | Any,
    *,
    contexts: tuple[int, ...] = (),
    overrides: Sequence[str] = (),
    offline: bool = False,
    encoding: Mapping[str, str] = _NO_OPTIONS,
    readers: Sequence[str] = (),
) -> Subject:
    """Read a target (path, ``-``, ``hf:`` id or live module) and build its schedules.

    ``encoding`` states what the layout of a learned encoding leaves open (``ape-skew``, ``grid``).
    ``readers`` are names of engines whose reading of the same target is wanted beside it.

    Never raises SourceError: what cannot be read is a Subject with ``error`` set, and with the
    reading where only its values make no schedule. Raises UsageError for overrides that cannot be
    applied and for a reader that is not known.
    """
    chosen = chosen_readers(readers)
    changed: Reading | None = None
    lengths: tuple[int, ...] = ()
    try:
        reading = _open(target, offline=offline)
        changed, lengths = _overridden(reading, overrides)
        subject = build(changed, (*contexts, *lengths), encoding)
        subject = _with_idle_overrides(subject, reading, overrides) if overrides else subject
    except SourceError as error:
        subject = Subject(
            target=target if isinstance(target, str) else type(target).__name__,
            format="unknown" if changed is None else changed.format,
            reading=changed,
            lengths=tuple(sorted({*contexts, *lengths})),
            error=Problem(error.kind, _said(error, changed), error.where),
        )
    return _with_views(subject, chosen) if chosen else subject


def chosen_readers(readers: Sequence[str]) -> tuple[Chosen, ...]:
    """The engines that are meant; raises UsageError for a name that is not known."""
    if not readers:
        return ()
    from ropeaudit.readers.engines.known import find

    return find(readers)


def _with_views(subject: Subject, chosen: Sequence[Chosen]) -> Subject:
    """``subject`` with what other engines make of it, also where the reference cannot build it."""
    from ropeaudit.readers.engines._core_subject import with_views

    params = subject.reading is not None and _is_params(subject.reading)
    return with_views(subject, chosen, params=params)


def with_readers(subject: Subject, readers: Sequence[str]) -> Subject:
    """``subject`` with the views of ``readers``, if any; raises UsageError as :func:`resolve`."""
    return _with_views(subject, chosen_readers(readers)) if readers else subject


def beside(subject: Subject, readers: Sequence[str]) -> Beside:
    """The engines to judge ``subject`` beside: ``readers``, or those in use when none is named."""
    from ropeaudit.readers.engines._core_subject import beside

    params = subject.reading is not None and _is_params(subject.reading)
    return beside(subject, readers, params=params)


def attempt(target: str | Any, **options: Any) -> Subject:
    """As :func:`resolve`; a fault of this package becomes the target's error, as others go on."""
    try:
        return resolve(target, **options)
    except RopeAuditError:
        raise
    except Exception as error:
        return failed(target, error)


def failed(target: str | Any, error: Exception) -> Subject:
    """A subject whose error is a fault of this package; with ROPEAUDIT_DEBUG set it is raised."""
    if os.environ.get("ROPEAUDIT_DEBUG"):
        raise error
    message = (
        f"internal error ({type(error).__name__}: {quoted(str(error))}); "
        "set ROPEAUDIT_DEBUG=1 to see where, and report it with the file"
    )
    return lost(target, message)


def lost(target: str | Any, message: str) -> Subject:
    name = target if isinstance(target, str) else type(target).__name__
    return Subject(target=name, format="unknown", error=Problem("internal", message))


def _said(error: SourceError, reading: Reading | None) -> str:
    document = reading.document if reading else None
    given = document is not None and error.where in document.overridden
    return f"{error} (from --override)" if given else str(error)


def build(
    reading: Reading,
    contexts: tuple[int, ...] = (),
    encoding: Mapping[str, str] = _NO_OPTIONS,
) -> Subject:
    """The schedules and encodings of a reading, each by its own reader; raises InvalidValue.

    ``encoding``: as for :func:`resolve`; raises UsageError for an option that no encoding has.
    """
    wanted = []
    encodings = _encodings(reading, encoding)
    whole, reading = reading, _without(reading, encodings)
    if reading.format == "gguf":
        wanted.append("llama_cpp")
    else:
        if reading.document is not None:
            wanted.append("mistral" if _is_params(reading) else "transformers")
        if reading.tables:
            wanted.append("stored")
    lengths = tuple(sorted(set(contexts)))
    parts = [_reader(name).read(reading, lengths) for name in wanted]
    # An encoding that is found is enough: that there is no table besides is no shortage.
    said = (n for p in parts for n in p.notes if not (encodings and n.kind == "insufficient"))
    return Subject(
        target=reading.target,
        format=reading.format,
        model_type=next((p.model_type for p in parts if p.model_type), None),
        schedules=_placed([s for p in parts for s in p.schedules]),
        encodings=encodings,
        observations=tuple(o for p in parts for o in p.observations),
        notes=(*reading.notes, *said, *_beyond_the_file(parts), *_hints.idle(encoding, encodings)),
        reading=whole,
        lengths=lengths,
    )


def _encodings(reading: Reading, options: Mapping[str, str]) -> tuple[Encoding, ...]:
    """What is no single table: learned, non-commuting, damped or added to the logits."""
    document = reading.stored_config or reading.document
    stated = _hints.in_config(document) or _hints.in_metadata(reading.metadata)
    if not (reading.tensors or options or stated):
        return ()
    from ropeaudit.encodings.interface import Sources, recognise

    return recognise(
        Sources(
            tensors=reading.tensors,
            document=document,
            options=options,
            metadata=reading.metadata,
            file=reading.files[0].path if reading.files else reading.target,
        )
    )


def _without(reading: Reading, encodings: Sequence[Encoding]) -> Reading:
    """``reading`` without the tables that are parameters of ``encodings``, and what they explain.

    A learned tensor that is no schedule of its own would otherwise be reported as one, or as
    something that nobody reads.
    """
    if not encodings:
        return reading
    used = {f.location.tensor for e in encodings for f in e.provenance if f.location}
    return replace(
        reading,
        tables=tuple(t for t in reading.tables if t.location.tensor not in used),
        notes=tuple(n for n in reading.notes if n.kind != "insufficient"),
    )


def _reader(name: str) -> Reader:
    return import_module(f"ropeaudit.readers.{name}")


def _beyond_the_file(parts: Iterable[Resolution]) -> Iterator[Note]:
    """What rests on code outside the file, said with every view and not only by a check."""
    for observation in (o for p in parts for o in p.observations):
        if observation.kind in (Oddity.GENERIC_READING, Oddity.MODEL_SPECIFIC):
            yield Note(observation.kind.value, observation.message)


def _placed(schedules: list[Schedule]) -> tuple[Schedule, ...]:
    """Stored tables under the component that the config describes, where it describes only one.

    A tensor's name tells its component only inside of a larger model: in a vision model that
    stands alone the table is just called ``inv_freq``.
    """
    built = {s.component for s in schedules if s.variant != "stored"}
    if len(built) != 1 or "text" in built:
        return tuple(schedules)
    only = next(iter(built))
    return tuple(
        replace(s, component=only) if s.variant == "stored" and s.component == "text" else s
        for s in schedules
    )


def _is_params(reading: Reading) -> bool:
    if reading.format not in ("hub", "module"):
        return reading.format == "params-json"
    from ropeaudit.sources._config import flavour

    return reading.document is not None and flavour(reading.document) == "params-json"


def _open(target: str | Any, *, offline: bool) -> Reading:
    if isinstance(target, str | Path):
        from ropeaudit.sources.opening import open_target

        return open_target(str(target), offline=offline)
    from ropeaudit.sources.live_module import read

    return read(target)


def _overridden(reading: Reading, overrides: Sequence[str]) -> tuple[Reading, tuple[int, ...]]:
    if not overrides:
        return reading, ()
    from ropeaudit.sources.overrides import apply

    return apply(reading, overrides)


def _with_idle_overrides(subject: Subject, before: Reading, overrides: Sequence[str]) -> Subject:
    """``subject`` with a note for each override that changes nothing: the engine ignores it too."""
    from ropeaudit.sources.overrides import READ_BY_CHECKS

    after = subject.reading.document if subject.reading else None
    if before.document is None or after is None:
        return subject
    read = {
        f.location.pointer
        for s in subject.schedules
        for f in s.provenance
        if f.origin is Origin.OVERRIDE and f.location and f.location.pointer
    }
    notes = []
    for text in overrides:
        set_ = _overridden(before, [text])[0].document
        places = set_.overridden if set_ else frozenset()
        names = {p.rsplit("/", 1)[-1] for p in places}
        if not places or places & read or names & READ_BY_CHECKS:
            continue
        rest = [other for other in overrides if other != text]
        if _numbers(subject) == _built_numbers(_overridden(before, rest)[0], subject.lengths):
            said = f"the override {quoted(text)} changes no schedule of this model"
            notes.append(
                Note(
                    "override_without_effect", f"{said}{_meant(names - set(before.document.data))}"
                )
            )
    return replace(subject, notes=(*subject.notes, *notes)) if notes else subject


def _numbers(subject: Subject) -> tuple[str | None, list[Schedule]]:
    """All that is judged of the model and its schedules, without where it came from."""
    return subject.model_type, [replace(s, provenance=()) for s in subject.schedules]


def _built_numbers(reading: Reading, lengths: tuple[int, ...]) -> object:
    try:
        return _numbers(build(reading, lengths))
    except SourceError:
        return None  # the override is what makes it readable


def _meant(names: Iterable[str]) -> str:
    from ropeaudit.sources.overrides import LENGTH, POSITION_KEYS

    known = {*POSITION_KEYS, LENGTH}
    return next((suggestion(n, sorted(known)) for n in sorted(names) if n not in known), "")
