"""What chosen engines make of a target of any format."""

from __future__ import annotations

from collections.abc import Sequence

from ropeaudit.facts import Note
from ropeaudit.readers.engines.compare import seen, serves, views
from ropeaudit.readers.engines.interface import Built
from ropeaudit.readers.engines.known import REFERENCE, Chosen, singled, usual
from ropeaudit.readers.interface import Resolution
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject
from ropeaudit.schedule.views import Beside, View

_RUN_TIME = Note(
    "run_time",
    "the length that an engine runs with (max_model_len, n_ctx, the batch) is not in the file, and "
    "engines choose the list or grow the table by it; it is unknown here unless --context or "
    "--override max_model_len=N says it",
)


def with_views(subject: Subject, chosen: Sequence[Chosen], *, params: bool) -> Subject:
    """``subject`` with a View for each of ``chosen``, its own schedules marked as the reference's.

    ``params`` tells that the config is a ``params.json``, which the reference does not read. A
    variant has no views: engines read the config that it was made from, not its tables.
    """
    if _is_variant(subject):
        return subject
    views = views_of(subject, chosen, params=params)
    open_ = not subject.lengths and any(_by_length(s) for s in subject.schedules)
    if open_ and _RUN_TIME not in subject.notes:
        subject = replace(subject, notes=(*subject.notes, _RUN_TIME))
    if params or not _loads(subject):
        return replace(subject, views=views)
    named = tuple(
        s if s.variant == "stored" else replace(s, reader=REFERENCE) for s in subject.schedules
    )
    return replace(subject, schedules=named, views=views)


def _is_variant(subject: Subject) -> bool:
    return any(n.kind == "variant" for n in subject.notes)


def _by_length(schedule: Schedule) -> bool:
    return schedule.rope_type == "dynamic" or schedule.variant in ("short", "long")


def beside(subject: Subject, readers: Sequence[str], *, params: bool) -> Beside:
    """What a subject is judged beside: the engines asked for, or else those in use.

    ``readers`` are the names asked for, whose views the subject has already.
    """
    reading = subject.reading
    if _is_variant(subject):
        return Beside(why="the schedules are a variant, which engines do not read from this config")
    if readers:
        return Beside(
            views=subject.views,
            asked=frozenset(v.reader for v in subject.views),
            singled=singled(readers),
        )
    if reading is None or reading.document is None:
        return Beside(why="there is no config from which an engine would build anything")
    if reading.format == "module":
        return Beside(why="the model is loaded already, by one engine")
    return Beside(views=views_of(subject, usual(), params=params))


def _loads(subject: Subject) -> bool:
    """Whether the newest transformers builds the schedules, and not only we."""
    if subject.reading is None or subject.reading.document is None:
        return False
    return all(n.kind != "engine_refuses" for n in subject.notes)


def views_of(subject: Subject, chosen: Sequence[Chosen], *, params: bool) -> tuple[View, ...]:
    """A View for each of ``chosen``; ``params`` as for :func:`with_views`.

    The engines get what the reference built for ``subject``. Of a target without a config (a bare
    table, weights alone) nothing is known; a GGUF file is what llama.cpp runs.
    """
    reading = subject.reading
    if reading is None:
        return ()
    if reading.format == "gguf":
        return tuple(_of_gguf(subject, c) for c in chosen)
    if reading.document is None:
        why = "there is no config from which an engine would build anything"
        return tuple(seen(c, "not_covered", why) for c in chosen)
    return views(
        reading.document,
        chosen,
        reference=None if params or subject.error else _reference(subject),
        against=subject.built(),
        lengths=subject.lengths,
    )


def _reference(subject: Subject) -> Resolution:
    return Resolution(
        model_type=subject.model_type,
        schedules=subject.built(),
        observations=subject.observations,
        notes=subject.notes,
    )


def _of_gguf(subject: Subject, chosen: Chosen) -> View:
    if chosen.release.engine != "llama.cpp":
        return seen(chosen, "not_covered", "it is not known what this engine makes of a GGUF file")
    if not subject.schedules:
        return seen(chosen, "not_covered", "the file has no rotary schedule to build")
    said = "the file is read as it is, whatever converted it"
    name = chosen.release.name
    from ropeaudit.readers.llama_cpp.factors import at_rest

    served = (s for s in subject.built() if serves(s, subject.lengths))
    built = Built(
        schedules=tuple(replace(at_rest(s), reader=name) for s in served),
        notes=(Note("as_converted", said),),
    )
    return seen(chosen, "ok", None, built)
