"""What a table is: the law it was built by, or the one that its values fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ropeaudit.facts import Origin, as_number
from ropeaudit.records import field, record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import Table

UNSCALED = frozenset({"default", "axial", "stored", "learned", "proportional"})
"""Types that extend no context."""
_FITTED = frozenset({"default", "linear", "llama3", "yarn"})
"""Laws that are looked for in the values of a bare table."""
_STEPS = 16.0
"""Float32 steps by which they may miss them."""


@record(kw_only=True)
class Law:
    """``kind``: a rope type, ``ramp`` for a fitted table that is scaled at its slow end, or None.

    ``scaled``: a context extension that has an effect. ``dimension``: what the exponent runs over.
    ``plain``: the table without the scaling. ``parameters``: the law's own inputs. ``rounded``: the
    narrow format that a bare table's values show. ``fitted``: read off the values of such a table.
    """

    kind: str | None
    base: float | None = None
    base_defaulted: bool = False
    dimension: int | None = None
    factor: float | None = None
    scaled: bool = False
    plain: Table | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    rounded: str | None = None
    fitted: bool = False

    def number(self, key: str) -> float | None:
        """A parameter of the law."""
        return as_number(self.parameters.get(key))

    def words(self) -> str:
        """``llama3 (factor 8)``."""
        said = "scaling" if self.kind in (None, "ramp") else str(self.kind)
        return said if self.factor in (None, 1.0) else f"{said} (factor {self.factor:.7g})"


def is_bare(schedule: Schedule) -> bool:
    """Whether the schedule is a table from a tensor or a live buffer, without a law."""
    return schedule.variant == "stored"


def law(schedule: Schedule) -> Law:
    """The law of a built schedule, or what a bare table's values fit."""
    return _fitted(schedule) if is_bare(schedule) else _built(schedule)


def _built(schedule: Schedule) -> Law:
    base = schedule.fact("rope_theta")
    kind = {"su": "longrope"}.get(schedule.rope_type, schedule.rope_type)
    factor = as_number(schedule.parameters.get("factor"))
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
        parameters=schedule.parameters,
    )


def _fitted(schedule: Schedule) -> Law:
    """Only for what differs: fitting a table costs up to a dozen milliseconds."""
    if schedule.rope_type == "learned":
        return Law(kind="learned", fitted=True)
    found = _searched(schedule) or _nearest(schedule)
    rising = found.base is not None and found.base <= 1
    return Law(kind=None, fitted=True) if rising else found


def _searched(schedule: Schedule) -> Law | None:
    """A law that reproduces the values exactly, with all its parameters."""
    from ropeaudit.schedule.families.interface import powers, reciprocal
    from ropeaudit.schedule.fit.search import search

    values = schedule.inv_freq
    if len(values) < 4 or not all(0 <= v < math.inf for v in values):
        return None
    found = search(values, schedule.dtype, _STEPS)
    known = [m for m in found.matches if m.fits and m.guess.rope_type in _FITTED]
    if not known:
        return None
    guess = known[0].guess
    plain = reciprocal(powers(guess.rope_theta, guess.rotary_dim, len(values)))
    return Law(
        kind=guess.rope_type,
        base=guess.rope_theta,
        dimension=guess.rotary_dim,
        factor=as_number(guess.parameters.get("factor")),
        scaled=guess.rope_type != "default",
        plain=tuple(plain) if guess.rotary_dim == 2 * len(values) else None,
        parameters=guess.parameters,
        rounded=found.cells.grid if found.cells.narrow else None,
        fitted=True,
    )


def _nearest(schedule: Schedule) -> Law:
    """What a table is but for a few channels: a base, or a scaled slow end."""
    from ropeaudit.checks._laws import fit
    from ropeaudit.schedule.fit.nearest import ramp

    found = fit(schedule)
    if found is not None:
        return Law(
            kind="default" if found.factor == 1 else "linear",
            base=found.base,
            dimension=found.dimension,
            factor=None if found.factor == 1 else found.factor,
            scaled=found.factor != 1,
            rounded=found.dtype,
            fitted=True,
        )
    bent = ramp(schedule.inv_freq)
    if bent is None:
        return Law(kind=None, fitted=True)
    return Law(
        kind="ramp",
        base=bent.base,
        dimension=bent.dimension,
        factor=bent.factor,
        scaled=True,
        fitted=True,
    )
