"""Two targets: read both for the same lengths, then compare them, also as engines read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ropeaudit.diff.compare import Options, compare
from ropeaudit.diff.interface import Comparison
from ropeaudit.diff.overrides import sided
from ropeaudit.errors import SourceError
from ropeaudit.records import replace
from ropeaudit.resolve import attempt, build, chosen_readers, with_readers
from ropeaudit.schedule.subject import Subject


def compare_targets(a: str | Any, b: str | Any, options: Options | None = None) -> Comparison:
    """Read and compare two targets; what cannot be read is a subject with ``error`` set.

    Raises UsageError for overrides that cannot be applied and for a reader that is not known.
    """
    options = options or Options()
    chosen_readers(options.readers)
    for_a, for_b = sided(options.overrides)
    left, right = (
        attempt(
            target,
            contexts=options.contexts,
            overrides=texts,
            offline=options.offline,
            encoding=stated,
        )
        for target, texts, stated in zip((a, b), (for_a, for_b), options.encoding, strict=True)
    )
    # Lengths that came as an override (max_model_len) are asked for as well.
    asked = tuple(sorted({*options.contexts, *left.lengths, *right.lengths}))
    options = replace(options, contexts=asked)
    lengths = _common_lengths(left, right, asked)
    left, right = _built_for(left, lengths), _built_for(right, lengths)
    if not options.readers:
        return compare(left, right, options)
    from ropeaudit.diff.readers import compare_readings

    # Engines choose lists and tables by the length, so both sides are run at the same ones.
    found = compare_readings(
        with_readers(replace(left, lengths=lengths), options.readers),
        with_readers(replace(right, lengths=lengths), options.readers),
        options,
    )
    if options.insist or any(r.counts for r in found.readers):
        return found
    made = compare(left, right, options)
    return replace(made, notes=(*made.notes, *_instead(found)))


def _instead(found: Comparison) -> Iterator[str]:
    """Why the engines of a setting did not matter."""
    if found.readers:
        named = ", ".join(r.reader for r in found.readers)
        yield (
            f"compared as the reference reads both: the setting reader names {named}, which builds "
            "neither side or is not known to read one"
        )


def _common_lengths(a: Subject, b: Subject, asked: tuple[int, ...]) -> tuple[int, ...]:
    """Those asked for, and where a dynamic table of either side is worth a look."""
    wanted = set(asked)
    for schedule in (*a.schedules, *b.schedules):
        declared = schedule.context.declared
        if schedule.rope_type == "dynamic" and declared:
            wanted |= {declared} if asked else {declared, 2 * declared}
    return tuple(sorted(wanted))


def _built_for(subject: Subject, lengths: tuple[int, ...]) -> Subject:
    grows = any(s.rope_type == "dynamic" for s in subject.schedules)
    if not grows or subject.reading is None or lengths == subject.lengths:
        return subject
    try:
        again = build(subject.reading, lengths)
    except SourceError:
        return subject  # it was built for its own lengths, which are compared instead
    return replace(subject, schedules=again.schedules, lengths=lengths)
