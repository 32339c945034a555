"""What the checks of a table's own numbers share: one look at each schedule, kept for the run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import ge, gt, lt

from ropeaudit.checks.interface import Case
from ropeaudit.facts import Location
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import FORMATS, Table, round_to
from ropeaudit.schedule.geometry import spans

GEOMETRIC_LAWS = frozenset({"default", "linear", "dynamic", "ntk_alpha", "proportional"})
"""Laws whose turning channels form a geometric sequence on each axis."""

_SHOWN = 6
"""Channel ranges that one message names."""


@record()
class Spectrum:
    """A schedule as the checks see it.

    ``values``: the table rounded to the dtype that it is held in. ``law``: the schedule that an
    engine builds in this place from the config, for a stored table with a config beside it.
    ``static``: channels that are zero by design. ``groups``: channels of each axis without those.
    ``falling``: all channels of the whole table fall strictly (then nothing can be equal).
    """

    schedule: Schedule
    values: Table
    law: Schedule | None
    static: frozenset[int]
    groups: tuple[tuple[int, ...], ...]
    falling: bool
    finite: bool

    @property
    def stored(self) -> bool:
        """Whether the table comes from a file or from memory rather than from a law."""
        return self.schedule.variant == "stored" or self.schedule.rope_type in _FOUND

    @property
    def learned(self) -> bool:
        return self.schedule.rope_type == "learned"

    @property
    def many_vectors(self) -> bool:
        """Learned vectors of several layers and heads in one table: no list of channels."""
        return self.learned and len(self.schedule.parameters.get("shape", ())) > 1

    @property
    def lawless(self) -> bool:
        """Nothing says what the table should be: no law, and no config beside it."""
        return self.stored and not self.learned and self.law is None

    def ladders(self) -> tuple[tuple[int, ...], ...]:
        """Channels that should fall one after the other.

        One ladder may be dealt to several axes (text with sections); then the whole table is it.
        Otherwise each axis has its own.
        """
        if len(self.groups) > 1:
            turning = [k for k in range(len(self.values)) if k not in self.static]
            if falls([self.values[k] for k in turning]):
                return (tuple(turning),)
        return self.groups


_FOUND = frozenset({"stored", "learned"})


def spectra(case: Case) -> Iterator[Spectrum]:
    """Every schedule of the subject, looked at once a run."""
    for schedule in case.subject.schedules:
        key = ("spectrum", id(schedule))
        found = case.memo.get(key)
        if found is None:
            found = case.memo[key] = _look(case, schedule)
        yield found


def each(case: Case, judge: Callable[[Spectrum], Outcome]) -> Iterator[Outcome]:
    """What ``judge`` says of every schedule; SKIP where there is none."""
    if not case.subject.schedules:
        yield skipped("the input yields no frequency table")
    yield from map(judge, spectra(case))


def _look(case: Case, schedule: Schedule) -> Spectrum:
    values = schedule.inv_freq
    if schedule.dtype in FORMATS and schedule.dtype != "float32":
        values = tuple(round_to(v, schedule.dtype) for v in values)
    law = _sibling(case, schedule) if schedule.variant == "stored" else None
    static = schedule.static_channels or (law.static_channels if law else frozenset())
    axes = law if law is not None and schedule.axes is None else schedule
    groups = axes.groups()
    if static:
        kept = (tuple(k for k in g if k not in static) for g in groups)
        groups = tuple(g for g in kept if g)
    return Spectrum(
        schedule, values, law, static, groups, falls(values), all(map(math.isfinite, values))
    )


def _sibling(case: Case, schedule: Schedule) -> Schedule | None:
    """The built schedule that a stored table should equal; the layer type decides among several."""
    alike = [
        s
        for s in case.subject.schedules
        if s.variant != "stored"
        and s.component == schedule.component
        and len(s.inv_freq) == len(schedule.inv_freq)
    ]
    same = [s for s in alike if s.layer_type == schedule.layer_type]
    candidates = same or alike
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    return min(candidates, key=lambda s: distance(s.inv_freq, schedule.inv_freq))


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    """Largest difference in log over channels where both turn; inf where only one does."""
    worst = 0.0
    for x, y in zip(a, b, strict=True):
        if x > 0 and y > 0 and math.isfinite(x) and math.isfinite(y):
            worst = max(worst, abs(math.log(x) - math.log(y)))
        elif x != y:
            return math.inf
    return worst


def follows_law(spectrum: Spectrum, tolerance: float = 1e-2) -> bool:
    """Whether a stored table is the one its config means, up to what any float format loses."""
    law = spectrum.law
    return law is not None and distance(law.inv_freq, spectrum.values) <= tolerance


def falls(values: Sequence[float]) -> bool:
    """Strictly falling; False when a NaN is among them."""
    return all(map(gt, values, values[1:]))


def falls_or_stays(values: Sequence[float]) -> bool:
    return all(map(ge, values, values[1:]))


def rises(values: Sequence[float]) -> bool:
    return all(map(lt, values, values[1:]))


def copies(spectrum: Spectrum) -> int:
    """How many times a bare table repeats one falling ladder (1: it does not).

    Such a table has one copy per axis, or one per half of the head; without its config nobody can
    tell either from a mistake.
    """
    values = spectrum.values
    if not spectrum.lawless or spectrum.schedule.axes is not None:
        return 1
    for count in (2, 3, 4):
        each, rest = divmod(len(values), count)
        if rest == 0 and each > 1 and values == values[:each] * count and falls(values[:each]):
            return count
    return 1


def padded(spectrum: Spectrum) -> bool:
    """Whether a bare table looks like the proportional law: a geometric head, then only zeros.

    Real files turn a quarter, a half or three quarters of the channels.
    """
    if not spectrum.lawless or not spectrum.values or spectrum.values[-1] != 0:
        return False
    head = [v for v in spectrum.values if v != 0]
    turning = 4 * len(head)
    if turning % len(spectrum.values) or len(head) < 4 or not spectrum.finite:
        return False
    if not falls(spectrum.values[: len(head) + 1]):
        return False
    return min(head) > 0 and straightness([math.log(v) for v in head]) < 1e-5


def straightness(logs: Sequence[float]) -> float:
    """Largest distance of the points from the line through the first and the last."""
    steps = len(logs) - 1
    if steps < 1:
        return 0.0
    start, slope = logs[0], (logs[-1] - logs[0]) / steps
    return max(abs(y - start - slope * k) for k, y in enumerate(logs))


def channels(found: Iterable[int]) -> str:
    """``0-3, 7, 9-12`` for channel indices, cut after a few ranges."""
    listed = spans(found)
    more = f" and {len(listed) - _SHOWN} more ranges" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more


def counted(found: Sequence[int], noun: str = "channel") -> str:
    """``channel 3`` or ``channels 3-5``."""
    return f"{noun}{'' if len(found) == 1 else 's'} {channels(found)}"


def and_more(count: int, noun: str) -> str:
    """``, and 2 more such sets`` for what a sentence does not list; nothing where it lists all."""
    return f", and {count} more {noun}{'' if count == 1 else 's'}" if count else ""


def place(schedule: Schedule, *fields: str) -> Location | None:
    """Where to look: the named facts first, then the tensor, the law, the base, then any place."""
    facts = schedule.provenance
    law = () if schedule.rope_type == "default" else ("rope_type", "type")
    for name in (*fields, "inv_freq", *law, "rope_theta"):
        for fact in facts:
            if fact.field == name and fact.location is not None:
                return fact.location
    return next((f.location for f in facts if f.location is not None), None)


def strange(spectrum: Spectrum) -> list[int]:
    """Channels that hold NaN or an infinity."""
    return [k for k, v in enumerate(spectrum.values) if not math.isfinite(v)]


def undecided(spectrum: Spectrum, what: str) -> Outcome:
    """UNKNOWN because of values that are no numbers."""
    found = strange(spectrum)
    return Outcome(
        status=Status.UNKNOWN,
        schedule=spectrum.schedule.name,
        message=f"{what} cannot be decided: {counted(found)} "
        f"{'holds' if len(found) == 1 else 'hold'} NaN or infinity.",
        evidence={"not_finite": found},
        location=place(spectrum.schedule),
    )


def passed(spectrum: Spectrum, message: str = "") -> Outcome:
    return Outcome(status=Status.PASS, schedule=spectrum.schedule.name, message=message)


def skipped(reason: str, spectrum: Spectrum | None = None) -> Outcome:
    name = spectrum.schedule.name if spectrum else None
    return Outcome(status=Status.SKIP, schedule=name, message=reason)


VECTORS = "learned vectors of several layers and heads are not one list of channels"
