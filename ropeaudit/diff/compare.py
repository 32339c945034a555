"""The comparison of two subjects: pair their schedules, measure, name, judge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ropeaudit.diff import measure
from ropeaudit.diff.guess import undecided
from ropeaudit.diff.interface import ULP, Case, Channel, Comparison, Lost, Pair
from ropeaudit.diff.kinship import strangers
from ropeaudit.diff.law import Law, is_bare, law
from ropeaudit.diff.likeness import Likeness
from ropeaudit.diff.overrides import sided
from ropeaudit.diff.pairing import Matching, match
from ropeaudit.facts import Oddity
from ropeaudit.findings import Severity
from ropeaudit.records import field, record, replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject

if TYPE_CHECKING:
    from ropeaudit.diff.encodings import Compared

ERROR_PHASE = math.pi / 2
WARNING_PHASE = 0.1
"""Radians at the trained length."""
_UNREAD = frozenset({Oddity.TYPE_UNKNOWN, Oddity.LENGTH_MISMATCH})
"""What keeps a reader from building a table that the file declares."""


@record(kw_only=True)
class Options:
    """How to compare. ``overrides``: texts, with ``a:`` or ``b:`` in front for one side only.

    ``readers``: names of engines as which to read both, in place of the reference; ``insist``:
    whether these are asked for here, so that one that does not know the targets is unknown; those
    of a setting then do not count. ``encoding``: what the layout of learned encodings leaves open,
    for A and for B. ``ulp`` None: 4, or 16 between tables of different arithmetic.
    """

    contexts: tuple[int, ...] = ()
    overrides: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    insist: bool = True
    ulp: int | None = None
    fail_on: Severity = Severity.INFO
    allow_unknown: bool = False
    offline: bool = False
    encoding: tuple[Mapping[str, str], Mapping[str, str]] = field(default=({}, {}), compare=False)


def compare(a: Subject, b: Subject, options: Options | None = None) -> Comparison:
    """Compare two subjects; a is the reference, b what became of it."""
    options = options or Options()
    made = begun(a, b, options)
    if a.error or b.error:
        return made
    matching = match(a, b)
    pairs = [
        pair
        for left, right in dict.fromkeys((_Same(x), _Same(y)) for x, y in matching.pairs)
        for pair in _pairs(left.schedule, right.schedule, a, b, options)
    ]
    apart = strangers(a, b) if any(pair.lost for pair in pairs) else None
    learned = _learned(a, b, options)
    unpaired = tuple(matching.unpaired)
    if learned is not None:
        # A schedule that an encoding answers to is compared after all.
        paired = {name for p in learned.pairs for name in (p.a, p.b)}
        unpaired = tuple(u for u in unpaired if u.schedule.name not in paired)
        made = replace(made, encodings=learned.pairs, unpaired_encodings=learned.unpaired)
    return replace(
        made,
        pairs=tuple(pairs),
        unpaired=unpaired,
        undecided=tuple(_undecided(a, b, matching, learned)),
        notes=() if apart is None else (apart,),
    )


def begun(a: Subject, b: Subject, options: Options) -> Comparison:
    """What was asked, with nothing compared yet."""
    return Comparison(
        a=a,
        b=b,
        overrides=sided(options.overrides),
        ulp=ULP if options.ulp is None else options.ulp,
        fail_on=options.fail_on,
        allow_unknown=options.allow_unknown,
    )


def _learned(a: Subject, b: Subject, options: Options) -> Compared | None:
    if not (a.encodings or b.encodings):
        return None
    from ropeaudit.diff.encodings import compare as compare_encodings

    return compare_encodings(a, b, options.contexts, options.ulp)


@record()
class _Same:
    """A schedule by identity: two of them may be equal and serve other layers."""

    schedule: Schedule

    def __hash__(self) -> int:
        return id(self.schedule)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.schedule is self.schedule


def _undecided(a: Subject, b: Subject, matching: Matching, learned: Compared | None) -> list[str]:
    found = []
    for side, subject in (("A", a), ("B", b)):
        if not (subject.schedules or subject.encodings):
            why = "; ".join(n.message for n in subject.notes) or "it has no rotary schedule"
            found.append(f"{side} gives nothing to compare: {why}")
        found += (
            f"{side}: {o.message}"
            for o in subject.observations
            if o.kind in _UNREAD
            and o.schedule
            and not any(s.name == o.schedule for s in subject.schedules)
        )
    if found:
        return found
    if not matching.pairs:
        if learned is not None and (learned.pairs or learned.unpaired):
            return []
        return ["no schedule of A has a counterpart in B"]
    if any(not (is_bare(x) and is_bare(y)) for x, y in matching.pairs):
        why_not = undecided(a, b)
        found += [] if why_not is None else [why_not]
    return found


def _pairs(
    a: Schedule, b: Schedule, subject_a: Subject, subject_b: Subject, options: Options
) -> list[Pair]:
    """One pair a length; what was lost and how grave it is does not depend on the length."""
    other = (subject_a.format == "gguf") != (subject_b.format == "gguf")
    # What one engine makes of a config and of a GGUF file comes from the same arithmetic.
    mixed = other and a.reader is None and not (is_bare(a) and is_bare(b))
    tolerance = measure.tolerance(a, b, options.ulp, other_arithmetic=mixed)
    attention, softmax = measure.attention(a, b), measure.softmax(a, b)
    default, _ = measure.default_length(a, b)
    judged = measure.channels(a, b, default)
    tables_differ = any(c.ulp is None or c.ulp > tolerance for c in judged)
    scalings_differ = not all(measure.within(x, y, tolerance) for x, y in (attention, softmax))
    lost = _lost(a, b, subject_a, subject_b, tolerance, tables_differ, scalings_differ)
    likeness = _likeness(a, b, tables_differ or scalings_differ or bool(lost), attention, softmax)
    severity = _severity(judged, lost, likeness, scalings_differ)
    clusters = measure.new_clusters(a, b)
    return [
        Pair(
            a=a,
            b=b,
            context=length,
            context_source=source,
            tolerance=tolerance,
            channels=judged if length == default else measure.channels(a, b, length),
            new_clusters=clusters,
            attention_scaling=attention,
            softmax_scale=softmax,
            lost=lost,
            likeness=likeness,
            severity=severity,
        )
        for length, source in measure.lengths(a, b, options.contexts)
    ]


def _lost(
    a: Schedule,
    b: Schedule,
    subject_a: Subject,
    subject_b: Subject,
    tolerance: int,
    tables_differ: bool,
    scalings_differ: bool,
) -> tuple[Lost, ...]:
    from ropeaudit.diff.losses import find

    differ = tables_differ or scalings_differ
    unknown = Law(kind=None)
    case = Case(
        a=a,
        b=b,
        law_a=law(a) if differ or not is_bare(a) else unknown,
        law_b=law(b) if differ or not is_bare(b) else unknown,
        subject_a=subject_a,
        subject_b=subject_b,
        beside_a=[s for s in subject_a.schedules if s.component == a.component],
        beside_b=[s for s in subject_b.schedules if s.component == b.component],
        tolerance=tolerance,
        tables_differ=tables_differ,
        scalings_differ=scalings_differ,
    )
    return tuple(find(case))


def _likeness(
    a: Schedule,
    b: Schedule,
    differ: bool,
    *scalings: tuple[float | None, float | None],
) -> Likeness:
    if differ:
        return Likeness.DIFFERENT
    equal = all(x is None or y is None or x == y for x, y in scalings)
    same = equal and measure.same_bits(a.inv_freq, b.inv_freq)
    return Likeness.SAME if same else Likeness.EQUIVALENT


def _severity(
    judged: Sequence[Channel], lost: Sequence[Lost], likeness: Likeness, scalings_differ: bool
) -> Severity | None:
    """A scaling of cos and sin or of the logits that changed, and was not lost, is a warning."""
    if likeness is not Likeness.DIFFERENT:
        return None
    drift = max((c.phase_drift for c in judged), default=0.0)
    if drift >= ERROR_PHASE or any(found.grave for found in lost):
        return Severity.ERROR
    return Severity.WARNING if drift >= WARNING_PHASE or scalings_differ else Severity.INFO
