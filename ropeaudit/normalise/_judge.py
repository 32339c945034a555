"""What a text means: the reference's schedules, and what every engine makes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ropeaudit.document import Document, parse
from ropeaudit.errors import SourceError
from ropeaudit.facts import Reading
from ropeaudit.normalise.interface import agrees
from ropeaudit.readers.engines._core_subject import views_of
from ropeaudit.readers.engines.known import Chosen
from ropeaudit.records import field, record, replace
from ropeaudit.resolve import build
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject
from ropeaudit.schedule.views import View


@record(kw_only=True)
class Judged:
    """A text with its schedules and views; ``agreeing`` are names, ``silent`` counts the engines
    that build something else without a word."""

    text: str
    document: Document
    subject: Subject
    views: tuple[View, ...]
    agreeing: frozenset[str]
    silent: int


@record(frozen=False)
class Judge:
    """Builds texts of one file, each only once."""

    file: str
    chosen: Sequence[Chosen]
    seen: dict[str, Judged | None] = field(default_factory=dict)

    def of(self, text: str) -> Judged | None:
        """What ``text`` means; None where it cannot be read or built."""
        if text not in self.seen:
            try:
                self.seen[text] = self.build(text)
            except SourceError:
                self.seen[text] = None
        return self.seen[text]

    def build(self, text: str) -> Judged:
        """As :meth:`of`; raises SourceError."""
        document = parse(text, self.file)
        reading = Reading(target=self.file, format="hf-config", document=document)
        subject = build(reading)
        views = views_of(subject, self.chosen, params=False)
        agreeing = frozenset(v.reader for v in views if agrees(v))
        wrong = sum(1 for v in views if v.status == "ok" and v.reader not in agreeing)
        return Judged(
            text=text, document=document, subject=subject, views=views, agreeing=agreeing,
            silent=wrong,
        )  # fmt: skip


def unchanged(before: Judged, after: Judged) -> bool:
    """Whether the reference builds the same, to the bit, and finds nothing new to object to."""
    a, b = before.subject, after.subject
    if a.model_type != b.model_type or list(map(_numbers, a.schedules)) != list(
        map(_numbers, b.schedules)
    ):
        return False
    more = Counter(o.kind for o in b.observations) - Counter(o.kind for o in a.observations)
    refused = Counter(n.kind for n in b.notes) - Counter(n.kind for n in a.notes)
    return not more and "engine_refuses" not in refused


def _numbers(schedule: Schedule) -> Schedule:
    """All that an engine user sees of a schedule, without where it came from.

    Whether the trained length is stated or assumed is what normalising changes; the law's own
    inputs show in the table.
    """
    context = replace(schedule.context, assumed=False)
    return replace(schedule, provenance=(), parameters={}, context=context, reader=None)
