"""Which wanted table belongs to which entry of a config, and whether what was written gives it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ropeaudit.errors import UsageError, quoted
from ropeaudit.export._table import PATCH
from ropeaudit.records import record, replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import ulp_distance

Key = tuple[str, str | None]
"""Component and layer type."""
MAX_ULP = 2
_TOLERANCE = 1e-6


@record(kw_only=True)
class Target:
    """The wanted schedules of one component and layer type, and what they were before.

    Either has one schedule, or two that an engine chooses between by length (``short``, ``long``;
    the shortest and the longest of dynamic scaling).
    """

    key: Key
    base: tuple[Schedule, ...]
    wanted: tuple[Schedule, ...]

    @property
    def changed(self) -> bool:
        return [_numbers(s) for s in self.base] != [_numbers(s) for s in self.wanted]

    @property
    def short(self) -> Schedule:
        return self.wanted[0]

    @property
    def long(self) -> Schedule:
        return self.wanted[-1]


def _numbers(s: Schedule) -> tuple[Any, ...]:
    return (s.variant, s.inv_freq, s.attention_scaling, s.softmax_scale)


def targets(variant: Any) -> list[Target]:
    """The schedules of a variant by component and layer type; stored tables are left out.

    Raises UsageError where single layers of one type differ, which no config can say.
    """
    found: dict[Key, list[tuple[Schedule, Schedule]]] = {}
    for base, wanted in zip(variant.base, variant.schedules, strict=True):
        if base.variant != "stored":
            found.setdefault((base.component, base.layer_type), []).append((base, wanted))
    return [_target(key, pairs) for key, pairs in found.items()]


def _target(key: Key, pairs: Sequence[tuple[Schedule, Schedule]]) -> Target:
    cut = next((w for b, w in pairs if w.layers != b.layers), None)
    if cut is not None:
        raise UsageError(
            f"schedule {quoted(cut.name)} serves some of the layers that share one entry of the "
            f"model's settings, which cannot hold two tables; {PATCH}"
        )
    # A base that became two stands twice.
    base = tuple({b.name: b for b, _ in pairs}.values())
    target = Target(key=key, base=_ordered(base), wanted=_ordered(tuple(w for _, w in pairs)))
    if target.changed and len(target.wanted) > 2:
        ends = (target.wanted[0], target.wanted[-1])
        return replace(target, wanted=ends)
    return target


def lengths(found: Sequence[Target]) -> tuple[int, ...]:
    """The lengths that variants of dynamic scaling were built for."""
    names = {s.variant for t in found for s in t.base if s.variant}
    return tuple(sorted(int(n[1:]) for n in names if n.startswith("@")))


def _ordered(schedules: tuple[Schedule, ...]) -> tuple[Schedule, ...]:
    """Short before long; lengths of dynamic scaling ascending."""

    def place(s: Schedule) -> tuple[int, int]:
        if s.variant is not None and s.variant.startswith("@"):
            return 0, int(s.variant[1:])
        return (1 if s.variant == "long" else 0), 0

    return tuple(sorted(schedules, key=place))


def rebuilt(target: Target, read: Sequence[Schedule]) -> list[Schedule]:
    """The wanted schedules with the tables that ``read``, the output read back, holds for them.

    Raises UsageError where one is missing.
    """
    component, layer_type = target.key
    mine = _ordered(
        tuple(
            s
            for s in read
            if (s.component, s.layer_type) == (component, layer_type) and s.variant != "stored"
        )
    )
    if not mine:
        raise UsageError(
            f"written and read back, schedule {quoted(target.short.name)} is gone; {PATCH}"
        )
    found = []
    for at, wanted in enumerate(target.wanted):
        named = next((s for s in mine if s.variant == wanted.variant), None)
        own = named or (mine[0] if at == 0 else mine[-1])
        if len(own.inv_freq) != len(wanted.inv_freq):
            raise UsageError(
                f"written and read back, schedule {quoted(wanted.name)} has "
                f"{len(own.inv_freq)} channels, wanted are {len(wanted.inv_freq)}; {PATCH}"
            )
        _same_scales(own, wanted)
        found.append(replace(wanted, inv_freq=own.inv_freq))
    if len(target.wanted) == 1 and mine[0].inv_freq != mine[-1].inv_freq:
        raise UsageError(
            f"written and read back, schedule {quoted(target.short.name)} depends on the length of "
            f"the text, and the wanted one does not; {PATCH}"
        )
    return found


def _same_scales(own: Schedule, wanted: Schedule) -> None:
    for name in ("attention_scaling", "softmax_scale"):
        a, b = getattr(own, name), getattr(wanted, name)
        if not math.isclose(a, b, rel_tol=_TOLERANCE):
            raise UsageError(
                f"written and read back, {name} of schedule {quoted(wanted.name)} is {a}, wanted "
                f"is {b}; {PATCH}"
            )


def compare(found: Sequence[Target], read: Sequence[Schedule]) -> tuple[list[Schedule], int]:
    """The schedules with the tables that ``read``, the output read back, holds for them.

    The number is their largest distance from the wanted ones, in float32 steps. Raises UsageError
    where a promise is not kept.
    """
    everything: list[Schedule] = []
    worst = 0
    for target in found:
        own = rebuilt(target, read)
        everything += own
        for wanted, got in zip(target.wanted, own, strict=True):
            if not target.changed and got.inv_freq != wanted.inv_freq:
                raise UsageError(
                    f"schedule {quoted(wanted.name)}, which the recipe leaves alone, would change "
                    f"too; {PATCH}"
                )
            worst = max(worst, distance(wanted, got))
    return everything, worst


def distance(wanted: Schedule, found: Schedule) -> int:
    """Largest distance of two tables in float32 steps.

    Raises UsageError beyond MAX_ULP, and where equal values have parted, distinct ones met, or a
    zero began to turn.
    """
    worst = 0
    for k, (a, b) in enumerate(zip(wanted.inv_freq, found.inv_freq, strict=True)):
        steps = ulp_distance(a, b)
        if steps is None or steps > MAX_ULP or (a == 0) != (b == 0):
            raise UsageError(
                f"channel {k} of schedule {quoted(wanted.name)} should be {a} and comes out as "
                f"{b}, more than {MAX_ULP} float32 steps off; {PATCH}"
            )
        worst = max(worst, steps)
    pairs = set(zip(wanted.inv_freq, found.inv_freq, strict=True))
    before, after = ({p[i] for p in pairs} for i in (0, 1))
    if not len(pairs) == len(before) == len(after):
        raise UsageError(
            f"equal channels of schedule {quoted(wanted.name)} part, or distinct ones meet, when "
            f"the engine rebuilds them; {PATCH}"
        )
    return worst
