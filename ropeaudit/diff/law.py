"""What a table is: the law it was built by, or the one that its values fit."""

from __future__ import annotations

from ropeaudit.facts import Origin, as_number
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import Table

UNSCALED = frozenset({"default", "axial", "stored", "learned", "proportional"})
"""Types that extend no context."""


@record(kw_only=True)
class Law:
    """``kind``: a rope type, ``ramp`` for a fitted table that is scaled at its slow end, or None.

    ``scaled``: a context extension that has an effect. ``dimension``: what the exponent runs over.
    ``plain``: the table without the scaling. ``fitted``: read off the values of a bare table.
    """

    kind: str | None
    base: float | None = None
    base_defaulted: bool = False
    dimension: int | None = None
    factor: float | None = None
    scaled: bool = False
    plain: Table | None = None
    fitted: bool = False

    def words(self) -> str:
        """``llama3 (factor 8)``."""
        said = "scaling" if self.kind in (None, "ramp") else str(self.kind)
        return said if self.factor is None else f"{said} (factor {self.factor:.7g})"


def is_bare(schedule: Schedule) -> bool:
    """Whether the schedule is a table from a tensor or a live buffer, without a law."""
    return schedule.variant == "stored"


def number(schedule: Schedule, key: str) -> float | None:
    """A parameter of the scaling law."""
    return as_number(schedule.parameters.get(key))


def law(schedule: Schedule) -> Law:
    """The law of a built schedule, or what a bare table's values fit."""
    return _fitted(schedule) if is_bare(schedule) else _built(schedule)


def _built(schedule: Schedule) -> Law:
    base = schedule.fact("rope_theta")
    kind = {"su": "longrope"}.get(schedule.rope_type, schedule.rope_type)
    factor = number(schedule, "factor")
    changed = (
        schedule.unscaled is None
        or schedule.inv_freq != schedule.unscaled
        or schedule.attention_scaling != 1.0
        or schedule.softmax_scale != 1.0
        or kind == "dynamic"
    )
    return Law(
        kind=kind,
        base=schedule.rope_theta,
        base_defaulted=base is not None and base.origin is Origin.DEFAULT,
        dimension=schedule.rotary_dim,
        factor=factor,
        scaled=(kind not in UNSCALED or (kind == "proportional" and factor not in (None, 1.0)))
        and changed,
        plain=schedule.unscaled,
    )


def _fitted(schedule: Schedule) -> Law:
    """Only for what differs: fitting a table costs a millisecond."""
    from ropeaudit.checks._laws import fit
    from ropeaudit.schedule.families.interface import geometric
    from ropeaudit.schedule.fit.nearest import ramp

    if schedule.rope_type == "learned":
        return Law(kind="learned", fitted=True)
    found = fit(schedule)
    if found is not None:
        n = len(schedule.inv_freq)
        plain = found.table if found.factor == 1 else tuple(v * found.factor for v in found.table)
        return Law(
            kind="default" if found.factor == 1 else "linear",
            base=found.base,
            dimension=found.dimension,
            factor=None if found.factor == 1 else found.factor,
            scaled=found.factor != 1,
            plain=plain if found.dimension == 2 * n else None,
            fitted=True,
        )
    bent = ramp(schedule.inv_freq)
    if bent is None:
        return Law(kind=None, fitted=True)
    plain = tuple(geometric(bent.base, bent.dimension))
    return Law(
        kind="ramp",
        base=bent.base,
        dimension=bent.dimension,
        factor=bent.factor,
        scaled=True,
        plain=plain if len(plain) == len(schedule.inv_freq) else None,
        fitted=True,
    )
