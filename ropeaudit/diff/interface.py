"""What a comparison of two targets holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ropeaudit.diff._encodings_interface import EncodingPair, UnpairedEncoding
from ropeaudit.diff.law import Law
from ropeaudit.diff.likeness import Likeness
from ropeaudit.findings import Severity
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject
from ropeaudit.schedule.views import View

ULP = 4
"""Float32 steps that count as equivalent, where nothing else is asked for."""
ARITHMETIC_ULP = 16
"""The same where the two tables come from different arithmetic.

Rounding k/d to float32 before the power moves a value by ``2**-25 ln(base)``: up to 10 steps for
bases in use. A table read off cos and sin rows is as uncertain.
"""


@record()
class Channel:
    """One channel of a pair; a value is None where that side has no such channel.

    ``ulp``: float32 steps, None where they cannot be counted. ``dlog``: ``ln(b / a)``.
    ``phase_drift``: radians, at most pi. A channel that is missing counts as one that stands still.
    """

    k: int
    a: float | None
    b: float | None
    ulp: int | None
    dlog: float
    phase_drift: float


@record()
class Lost:
    """``text`` begins with the kind's ``name``; ``grave``: a base or a scaling is gone, or
    other dimensions or layers rotate, which is an error at any phase drift."""

    name: str
    text: str
    grave: bool


@record(kw_only=True)
class Pair:
    """Two schedules that serve the same layers, compared at one context length (positions).

    ``context_source``: ``given``, ``trained``, ``declared``, ``variant`` or ``reference`` (nothing
    states a length). ``tolerance``: ulp that count as equivalent. ``attention_scaling`` and
    ``softmax_scale``: (a, b), None where a bare table does not tell. ``new_clusters``: channels
    that are equal in B and were not in A. ``severity``: None unless different.
    """

    a: Schedule
    b: Schedule
    context: int
    context_source: str
    tolerance: int
    channels: tuple[Channel, ...]
    new_clusters: tuple[tuple[int, ...], ...]
    attention_scaling: tuple[float | None, float | None]
    softmax_scale: tuple[float | None, float | None]
    lost: tuple[Lost, ...]
    likeness: Likeness
    severity: Severity | None

    @property
    def reader(self) -> str | None:
        """The engine as which both sides are read; None for the reference when none was named."""
        return self.a.reader and self.b.reader

    @property
    def max_abs_dlog(self) -> float:
        """Largest ``|ln(b / a)|``; infinite where a channel was stopped or is no number."""
        return max((_size(c.dlog) for c in self.channels), default=0.0)

    @property
    def max_phase_drift(self) -> float:
        return max((c.phase_drift for c in self.channels), default=0.0)

    @property
    def max_ulp(self) -> int | None:
        """Largest distance in float32 steps; None where one cannot be counted."""
        found = [c.ulp for c in self.channels]
        return None if None in found else max((u for u in found if u is not None), default=0)


def _size(dlog: float) -> float:
    return abs(dlog) if dlog == dlog else float("inf")


@record()
class Unpaired:
    """A schedule of ``side`` a or b that nothing answers to; ``matters``: that is a difference."""

    side: str
    schedule: Schedule
    reason: str
    matters: bool


@record(kw_only=True)
class Comparison:
    """A whole comparison; learned encodings stand beside schedules.

    ``undecided``: why equal tables are no proof, or why none was compared. ``notes``: how to read
    the words. ``readers``: the comparisons as named engines read both, and then everything else
    tells of these. ``fail_on``: the severity from which a difference fails the gate (default: any
    difference). ``overrides``: what A and B were told at run time.
    """

    a: Subject
    b: Subject
    pairs: tuple[Pair, ...] = ()
    unpaired: tuple[Unpaired, ...] = ()
    encodings: tuple[EncodingPair, ...] = ()
    unpaired_encodings: tuple[UnpairedEncoding, ...] = ()
    readers: tuple[Readings, ...] = ()
    undecided: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    overrides: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    ulp: int = ULP
    fail_on: Severity = Severity.INFO
    allow_unknown: bool = False

    @property
    def verdict(self) -> Likeness:
        """different > unknown > equivalent > same; unknown when nothing could be compared."""
        if self.a.error or self.b.error:
            return Likeness.UNKNOWN
        if self.readers:
            return _worst([r.verdict for r in self.readers if r.counts])
        found = [p.likeness for p in self.pairs] + [p.likeness for p in self.encodings]
        found += [Likeness.DIFFERENT] if self._left else []
        found += [Likeness.UNKNOWN] if self.undecided else []
        return _worst(found)

    @property
    def _left(self) -> bool:
        """Whether something has no counterpart, and that is a difference."""
        left = [u.matters for u in self.unpaired] + [u.matters for u in self.unpaired_encodings]
        return any(left)

    @property
    def severity(self) -> Severity | None:
        """The gravest of the differences; None where there is none."""
        every = [p.severity for p in self.pairs] + [p.severity for p in self.encodings]
        every += [r.severity for r in self.readers]
        found = [level for level in every if level is not None]
        if self._left:
            found.append(Severity.ERROR)
        return max(found, default=None)

    @property
    def exit_code(self) -> int:
        """2 unreadable, 1 different at or above ``fail_on``, 3 unknown, 0."""
        if self.a.error or self.b.error:
            return 2
        counted = [r for r in self.readers if r.counts]
        parts: Sequence[Readings | Comparison] = counted or [self]
        found = {p.verdict for p in parts}
        different = [p.severity for p in parts if p.verdict is Likeness.DIFFERENT]
        if any((level or Severity.INFO) >= self.fail_on for level in different):
            return 1
        return 3 if Likeness.UNKNOWN in found and not self.allow_unknown else 0


@record(kw_only=True)
class Readings:
    """What one engine makes of A and of B.

    ``found``: the comparison of both, None where it does not build both. ``named``: whether it was
    asked for by its name, and neither as ``all`` nor by a setting.
    """

    a: View
    b: View
    named: bool = True
    found: Comparison | None = None

    @property
    def reader(self) -> str:
        return self.a.reader

    @property
    def verdict(self) -> Likeness:
        """As of a comparison; different also where the engine refuses one side and builds the
        other, or rotates nothing of one side."""
        if self.found is not None:
            return self.found.verdict
        told = {_STATUS[_doing(view)] for view in (self.a, self.b)}
        return Likeness.UNKNOWN if "" not in told or _UNREAD in told else Likeness.DIFFERENT

    @property
    def severity(self) -> Severity | None:
        if self.found is not None:
            return self.found.severity
        return Severity.ERROR if self.verdict is Likeness.DIFFERENT else None

    @property
    def counts(self) -> bool:
        """Whether the verdict on both targets rests on it: one of ``all`` may know neither."""
        return self.named or self.found is not None or self.verdict is Likeness.DIFFERENT

    @property
    def reason(self) -> str | None:
        """Why there is nothing to compare, as clauses; None where there is."""
        if self.found is not None:
            return None
        left, right = (_doing(view) for view in (self.a, self.b))
        if left == right and self.a.reason == self.b.reason:
            return f"{_STATUS[left]} both{_because(self.a)}"
        parts = (("A", left, self.a), ("B", right, self.b))
        return "; ".join(
            f"{_STATUS[doing]} {side}{_because(view)}"
            for side, doing, view in parts
            if _STATUS[doing]
        )


_UNREAD = "is not known to read"
_STATUS = {"ok": "", "refuses": "refuses", "not_covered": _UNREAD, "still": "rotates no layer of"}


def _doing(view: View) -> str:
    return "still" if view.status == "ok" and not view.schedules else view.status


def _because(view: View) -> str:
    return f": {view.reason}" if view.reason else ""


def _worst(found: Sequence[Likeness]) -> Likeness:
    order = (Likeness.DIFFERENT, Likeness.UNKNOWN, Likeness.EQUIVALENT)
    if not found:
        return Likeness.UNKNOWN
    return next((likeness for likeness in order if likeness in found), Likeness.SAME)


@record(kw_only=True)
class Case:
    """What a kind of loss is given: a pair that may differ, and what stands around it.

    ``tables_differ``: beyond the tolerance. ``beside_a``, ``beside_b``: all schedules of the same
    component, the pair's own included. ``law_a``, ``law_b``: what each table is.
    """

    a: Schedule
    b: Schedule
    law_a: Law
    law_b: Law
    subject_a: Subject
    subject_b: Subject
    beside_a: Sequence[Schedule]
    beside_b: Sequence[Schedule]
    tolerance: int
    tables_differ: bool
    scalings_differ: bool


class Loss(Protocol):
    """A module of ``ropeaudit.diff.losses``."""

    NAME: str
    """First words of the sentence, stable."""
    GRAVE: bool

    def detail(self, case: Case) -> str | None:
        """What follows the name, None where this was not lost."""
