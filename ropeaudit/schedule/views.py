"""Views: what named engines make of one target, beside the reference."""

from __future__ import annotations

from collections.abc import Mapping

from ropeaudit.facts import Note
from ropeaudit.records import field, record
from ropeaudit.schedule.core import Schedule


@record(kw_only=True)
class Distance:
    """How far an engine's schedules are from the reference's.

    ``max_abs_dlog``: largest log distance of a channel (infinite where one is zero and the other
    not, None where widths differ), ``max_phase_drift``: radians at ``length``, at most pi.
    ``length``: the longest that was asked for, None where none was; then each table counts at the
    length that it is for (declared; ``@N``; the original one for a short list).
    ``attention`` and ``softmax``: the engine's factor over the reference's, 1.0 when equal, None
    when not known. ``layers``: layers that rotate in one only; ``width`` and ``pairing``: whether
    they differ. ``schedules``: the same numbers for each schedule's name.
    """

    max_abs_dlog: float | None = 0.0
    max_phase_drift: float = 0.0
    attention: float | None = 1.0
    softmax: float | None = 1.0
    length: int | None = None
    layers: tuple[int, ...] = ()
    width: bool = False
    pairing: bool = False
    schedules: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    words: tuple[str, ...] = ()
    """What the engine does otherwise, as clauses: ``base 10000 instead of 500000``."""
    same: bool = True
    """Whether an engine user would see the same model: 1e-5 in log, 1e-4 in the factors."""


@record(kw_only=True)
class View:
    """One engine's reading of one target.

    ``status``: ``ok``, ``refuses`` or ``not_covered``, the last two with a ``reason``. ``distance``
    is None where one side has nothing to compare.
    """

    reader: str
    version: str
    how: str
    status: str
    reason: str | None = None
    schedules: tuple[Schedule, ...] = ()
    ignored: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    distance: Distance | None = None


@record(kw_only=True)
class Beside:
    """The engines that a subject is judged beside.

    ``asked``: full names of the releases that the user wants judged; empty when none, and then the
    views are those of the engines in use. ``singled``: those of them that were named one by one,
    not as ``all``, and are the user's own: only for these a misreading is more than it is for an
    engine that nobody asked for. ``why``: why there is no view, as a clause, where there is none.
    """

    views: tuple[View, ...] = ()
    asked: frozenset[str] = frozenset()
    singled: frozenset[str] = frozenset()
    why: str = ""
