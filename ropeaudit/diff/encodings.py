"""Learned encodings of two targets compared: which answers to which, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence

from ropeaudit.diff import _encodings_measure as numbers
from ropeaudit.diff import _encodings_words as words
from ropeaudit.diff._encodings_interface import EncodingPair, QuantityDiff, Said, UnpairedEncoding
from ropeaudit.diff._encodings_sides import TURNED, Side, basis, extents, of_encoding, of_schedule
from ropeaudit.diff.interface import ULP
from ropeaudit.diff.likeness import Likeness
from ropeaudit.diff.measure import default_length
from ropeaudit.findings import Severity
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject

_ERROR_PHASE = 1.5707963267948966
_WARNING_PHASE = 0.1


@record()
class Compared:
    """Pairs in A's order, and what is left over."""

    pairs: tuple[EncodingPair, ...] = ()
    unpaired: tuple[UnpairedEncoding, ...] = ()


def compare(a: Subject, b: Subject, lengths: tuple[int, ...], ulp: int | None) -> Compared:
    """All encodings of both; where one side has only schedules, these stand in for them."""
    if not (a.encodings or b.encodings):
        return Compared()
    tolerance = ULP if ulp is None else ulp
    if a.encodings and b.encodings:
        left, right = [of_encoding(e) for e in a.encodings], [of_encoding(e) for e in b.encodings]
        return _matched(left, right, lengths, tolerance)
    learned, other, side = (a, b, "a") if a.encodings else (b, a, "b")
    encodings = [of_encoding(e) for e in learned.encodings]
    if learned.schedules:  # those of the other side answer to them, and nothing to the encodings
        name = "B" if side == "a" else "A"
        return Compared(
            unpaired=tuple(
                UnpairedEncoding(side, e.name, f"{name} has no {e.kind} encoding", True)
                for e in encodings
            )
        )
    schedules = [s for s in other.schedules if s.is_text] or list(other.schedules)
    if not schedules:
        reason = f"{'B' if side == 'a' else 'A'} has no position encoding"
        return Compared(
            unpaired=tuple(UnpairedEncoding(side, e.name, reason, False) for e in encodings)
        )
    return _with_schedules(encodings, schedules, side, lengths, tolerance)


def _matched(
    left: list[Side], right: list[Side], lengths: tuple[int, ...], tolerance: int
) -> Compared:
    pairs: list[tuple[Side, Side]] = []
    for alike in (_same_name, _same_kind, _same_module, _only):
        for x in left[:]:
            found = next((y for y in right if alike(x, y, left, right)), None)
            if found is not None:
                pairs.append((x, found))
                left = [s for s in left if s is not x]
                right = [s for s in right if s is not found]
    rest = [UnpairedEncoding("a", s.name, f"B has no {s.kind} encoding", True) for s in left]
    rest += [UnpairedEncoding("b", s.name, f"A has no {s.kind} encoding", True) for s in right]
    return Compared(tuple(_pair(x, y, lengths, tolerance) for x, y in pairs), tuple(rest))


def _same_name(x: Side, y: Side, left: Sequence[Side], right: Sequence[Side]) -> bool:
    return (x.name, x.kind) == (y.name, y.kind)


def _same_kind(x: Side, y: Side, left: Sequence[Side], right: Sequence[Side]) -> bool:
    return x.kind == y.kind


def _same_module(x: Side, y: Side, left: Sequence[Side], right: Sequence[Side]) -> bool:
    return x.module == y.module


def _only(x: Side, y: Side, left: Sequence[Side], right: Sequence[Side]) -> bool:
    """Two different encodings, where neither side has another."""
    return len(left) == len(right) == 1


def _with_schedules(
    encodings: list[Side],
    schedules: list[Schedule],
    side: str,
    lengths: tuple[int, ...],
    tolerance: int,
) -> Compared:
    """Every encoding with the schedule that it comes nearest to."""
    found = []
    rest: list[UnpairedEncoding] = []
    for encoding in encodings:
        tables = [_table(s, lengths) for s in schedules]
        fitting = [t for t in tables if t is not None and len(t.axes) == len(encoding.axes)]
        if not fitting or not encoding.w.size:
            why = "a schedule turns, and it adds to the score"
            if encoding.w.size:
                why = "their channels turn with other coordinates"
            reason = f"no schedule answers to it: {why}"
            rest.append(UnpairedEncoding(side, encoding.name, reason, True))
            continue
        both = [(encoding, t) if side == "a" else (t, encoding) for t in fitting]
        made = [_pair(x, y, lengths, tolerance) for x, y in both]
        found.append(min(made, key=lambda p: p.max_phase_drift))
    return Compared(tuple(found), tuple(rest))


def _table(schedule: Schedule, lengths: tuple[int, ...]) -> Side | None:
    length, source = default_length(schedule, schedule)
    if lengths:
        length, source = max(lengths), "given"
    return of_schedule(schedule, length, source)


def _pair(a: Side, b: Side, lengths: tuple[int, ...], tolerance: int) -> EncodingPair:
    said = words.shapes(a, b)
    extent: tuple[float, ...] = ()
    source = "reference"
    quantities: tuple[QuantityDiff, ...] = ()
    apart = None
    if len(a.axes) == len(b.axes):
        extent, source = extents(a, b, lengths)
        quantities = tuple(numbers.quantities(a, b, extent, tolerance))
        apart = basis(a, b)
    equal = all(q.likeness is not Likeness.DIFFERENT for q in quantities)
    turned = apart is not None and apart > TURNED
    said = (*said, *words.constants(a, b), *words.numbers(quantities))
    notes = words.assumptions(a, b)
    if equal and turned:
        text = words.other_planes(apart or 0.0)
        if a.is_schedule or b.is_schedule:
            notes = (*notes, text)
        else:
            said = (*said, text)
    likeness = _likeness(quantities, bool(said), bool(apart or notes))
    if not quantities and not said:
        likeness = Likeness.UNKNOWN
    return EncodingPair(
        a=a.name,
        b=b.name,
        kinds=(a.kind, b.kind),
        extent=extent,
        extent_source=source,
        tolerance=tolerance,
        quantities=quantities,
        basis_distance=apart,
        lost=said,
        notes=notes,
        likeness=likeness,
        severity=_severity(quantities, said, likeness, turned=equal and turned),
    )


def _likeness(quantities: Sequence[QuantityDiff], said: bool, reserved: bool) -> Likeness:
    """``reserved``: equal numbers are not all that decides."""
    if said or any(q.likeness is Likeness.DIFFERENT for q in quantities):
        return Likeness.DIFFERENT
    if any(q.likeness is Likeness.EQUIVALENT for q in quantities) or reserved:
        return Likeness.EQUIVALENT
    return Likeness.SAME


def _severity(
    quantities: Sequence[QuantityDiff], said: Sequence[Said], likeness: Likeness, *, turned: bool
) -> Severity | None:
    """By the phase drift; a constant of the score that changed is a warning at any drift."""
    if likeness is not Likeness.DIFFERENT:
        return None
    drift = max((q.max_phase_drift or 0.0 for q in quantities), default=0.0)
    if drift >= _ERROR_PHASE or any(s.severity is Severity.ERROR for s in said):
        return Severity.ERROR
    warned = turned or any(s.severity is Severity.WARNING for s in said)
    return Severity.WARNING if warned or drift >= _WARNING_PHASE else Severity.INFO
