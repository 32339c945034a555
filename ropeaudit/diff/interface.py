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
    the words. ``fail_on``: the severity from which a difference fails the gate (default: any
    difference). ``overrides``: what A and B were told at run time.
    """

    a: Subject
    b: Subject
    pairs: tuple[Pair, ...] = ()
    unpaired: tuple[Unpaired, ...] = ()
    encodings: tuple[EncodingPair, ...] = ()
    unpaired_encodings: tuple[UnpairedEncoding, ...] = ()
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
        found = {p.likeness for p in self.pairs} | {p.likeness for p in self.encodings}
        if Likeness.DIFFERENT in found or self._left:
            return Likeness.DIFFERENT
        if self.undecided or not found or Likeness.UNKNOWN in found:
            return Likeness.UNKNOWN
        return Likeness.EQUIVALENT if Likeness.EQUIVALENT in found else Likeness.SAME

    @property
    def _left(self) -> bool:
        """Whether something has no counterpart, and that is a difference."""
        left = [u.matters for u in self.unpaired] + [u.matters for u in self.unpaired_encodings]
        return any(left)

    @property
    def severity(self) -> Severity | None:
        """The gravest of the differences; None where there is none."""
        every = [p.severity for p in self.pairs] + [p.severity for p in self.encodings]
        found = [level for level in every if level is not None]
        if self._left:
            found.append(Severity.ERROR)
        return max(found, default=None)

    @property
    def exit_code(self) -> int:
        """2 unreadable, 1 different at or above ``fail_on``, 3 unknown, 0."""
        if self.a.error or self.b.error:
            return 2
        if self.verdict is Likeness.DIFFERENT:
            return 1 if (self.severity or Severity.INFO) >= self.fail_on else 0
        return 3 if self.verdict is Likeness.UNKNOWN and not self.allow_unknown else 0


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
